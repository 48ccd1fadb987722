/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bodies.h"

#include "examples/common/arguments.h"

#include <math.h>
#include <string.h>

void bodies_fill(struct body *bodies, uint32_t count, double radius, uint64_t seed)
{
	for (uint32_t i = 0; i < count; i++) {
		struct body *body = &bodies[i];
		double squared;
		do {
			squared = 0;
			for (int axis = 0; axis < 3; axis++) {
				body->position[axis] = 2 * next_uniform(&seed) - 1;
				squared += body->position[axis] * body->position[axis];
			}
		} while (squared > 1);
		/* A ball turns at 1 if its rotation alone balances its gravity at the equator. */
		body->velocity[0] = -body->position[1];
		body->velocity[1] = body->position[0];
		body->velocity[2] = 0;
		body->mass = 1.0 / count;
		body->radius = radius;
	}
}

void body_move(struct body *body, const double pull[3], double step)
{
	for (int axis = 0; axis < 3; axis++) {
		body->velocity[axis] += step * pull[axis];
		body->position[axis] += step * body->velocity[axis];
	}
}

void body_merge(struct body *kept, struct body *gone)
{
	double mass = kept->mass + gone->mass;
	for (int axis = 0; axis < 3; axis++) {
		kept->position[axis] =
			(kept->mass * kept->position[axis] + gone->mass * gone->position[axis]) /
			mass;
		kept->velocity[axis] =
			(kept->mass * kept->velocity[axis] + gone->mass * gone->velocity[axis]) /
			mass;
	}
	kept->radius = cbrt(pow(kept->radius, 3) + pow(gone->radius, 3));
	kept->mass = mass;
	gone->mass = 0;
}

void bodies_momentum(const struct body *bodies, uint32_t count, double ret[3])
{
	memset(ret, 0, 3 * sizeof(*ret));
	for (uint32_t i = 0; i < count; i++)
		for (int axis = 0; axis < 3; axis++)
			ret[axis] += bodies[i].mass * bodies[i].velocity[axis];
}

double bodies_energy(const struct body *bodies, uint32_t count, double softening, double step)
{
	double energy = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct body *a = &bodies[i];
		for (int axis = 0; axis < 3; axis++)
			energy += a->mass * a->velocity[axis] * a->velocity[axis] / 2;
		for (uint32_t j = 0; j < i; j++) {
			const struct body *b = &bodies[j];
			double squared = softening * softening;
			for (int axis = 0; axis < 3; axis++) {
				double distance =
					a->position[axis] - b->position[axis] -
					step / 2 * (a->velocity[axis] - b->velocity[axis]);
				squared += distance * distance;
			}
			energy -= a->mass * b->mass / sqrt(squared);
		}
	}
	return energy;
}

uint64_t bodies_checksum(const struct body *bodies, uint32_t count)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t words[6];
		memcpy(words, bodies[i].position, 3 * sizeof(*words));
		memcpy(words + 3, bodies[i].velocity, 3 * sizeof(*words));
		for (int j = 0; j < 6; j++)
			sum = (sum ^ words[j]) * 0x100000001b3U;
	}
	return sum;
}
