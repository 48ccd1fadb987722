/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bodies: how they begin, move and merge, and what must be conserved. Units: the gravitational
 * constant, the mass of all and the radius of the whole are 1. */
#ifndef GALAXY_BODIES_H
#define GALAXY_BODIES_H

#include "octree.h"

/* Evenly spread over a ball that turns and is otherwise cold; all of the same mass. */
void bodies_fill(struct body *bodies, uint32_t count, double radius, uint64_t seed);

/* One step of leapfrog: velocities stand half a step before positions. */
void body_move(struct body *body, const double pull[3], double step);

/* The second becomes part of the first: mass, momentum and volume stay. */
void body_merge(struct body *kept, struct body *gone);

void bodies_momentum(const struct body *bodies, uint32_t count, double ret[3]);

/*
 * Kinetic and potential, by all pairs. Positions are brought half a step back to where the
 * velocities stand.
 */
double bodies_energy(const struct body *bodies, uint32_t count, double softening, double step);

/* Of all positions and velocities, to the last bit. */
uint64_t bodies_checksum(const struct body *bodies, uint32_t count);

#endif
