/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An n-body simulation after the one that A. Tarvo and S. Reiss model in "Using Computer Simulation
 * to Predict the Performance of Multithreaded Programs" (ICPE 2012), section 6.1. One iteration:
 *
 *	main			force threads		collision threads
 *	wakeForces		wakeForces
 *				forces_queue -> force, position -> positions_queue
 *	wakeForcesDone		wakeForcesDone
 *	octree
 *	wakeCollisions					wakeCollisions
 *							positions_queue -> touching? -> forces_queue
 *	wakeCollisionsDone				wakeCollisionsDone
 *	merge
 *
 * Nothing that is computed depends on who computes it: the result is the same for any number of
 * threads, to the last bit.
 */
#include "examples/common/options.h"
#include "examples/common/queue.h"
#include "bodies.h"
#include "octree.h"

#include <inttypes.h>
#include <math.h>

enum { THREADS_MAX = 1024, BODIES_MAX = 10000000 };

struct collision {
	uint32_t kept, gone;
};

struct settings {
	uint32_t bodies, iterations, force_threads, collision_threads;
	double theta, step, softening, radius;
	uint32_t seed;
	bool does_check;
};

struct galaxy {
	struct settings settings;
	struct body *bodies;
	struct octree tree;
	struct collision *collisions; /* of this iteration, in the order of finding */
	uint32_t collision_count, merged;
	double radius_max;
	bool is_over;
};

/* Reports know them by these names. */
static struct queue forces_queue, positions_queue;
static pthread_barrier_t wakeForces, wakeForcesDone, wakeCollisions, wakeCollisionsDone;
static pthread_mutex_t collisions_lock = PTHREAD_MUTEX_INITIALIZER;

static void *force_thread(void *arg)
{
	struct galaxy *galaxy = arg;
	const struct settings *settings = &galaxy->settings;
	(void)pthread_setname_np(pthread_self(), "force"); /* runs as well without */
	for (;;) {
		(void)pthread_barrier_wait(&wakeForces);
		if (galaxy->is_over)
			return NULL;
		uint64_t item;
		while (queue_try_get(&forces_queue, &item)) {
			struct body *body = &galaxy->bodies[item];
			if (body->mass == 0)
				continue; /* merged: forgotten */
			double pull[3];
			octree_pull(&galaxy->tree, (uint32_t)item, settings->theta,
				settings->softening, pull);
			body_move(body, pull, settings->step);
			(void)queue_put(&positions_queue, item); /* has room for all */
		}
		(void)pthread_barrier_wait(&wakeForcesDone);
	}
}

static void *collision_thread(void *arg)
{
	struct galaxy *galaxy = arg;
	(void)pthread_setname_np(pthread_self(), "collision"); /* runs as well without */
	for (;;) {
		(void)pthread_barrier_wait(&wakeCollisions);
		if (galaxy->is_over)
			return NULL;
		uint64_t item;
		while (queue_try_get(&positions_queue, &item)) {
			uint32_t other = octree_touching(
				&galaxy->tree, galaxy->bodies, (uint32_t)item, galaxy->radius_max);
			if (other != UINT32_MAX) {
				(void)pthread_mutex_lock(&collisions_lock);
				galaxy->collisions[galaxy->collision_count++] =
					(struct collision){ other, (uint32_t)item };
				(void)pthread_mutex_unlock(&collisions_lock);
			}
			(void)queue_put(&forces_queue, item); /* has room for all */
		}
		(void)pthread_barrier_wait(&wakeCollisionsDone);
	}
}

static int compare_collisions(const void *left, const void *right)
{
	const struct collision *a = left, *b = right;
	return a->gone < b->gone ? -1 : a->gone > b->gone;
}

/* In an order that does not depend on who found what when. */
static void merge_bodies(struct galaxy *galaxy)
{
	struct body *bodies = galaxy->bodies;
	qsort(galaxy->collisions, galaxy->collision_count, sizeof(*galaxy->collisions),
		compare_collisions);
	for (uint32_t i = 0; i < galaxy->collision_count; i++) {
		struct collision *collision = &galaxy->collisions[i];
		if (bodies[collision->kept].mass == 0)
			continue; /* they will touch again what it has become part of */
		body_merge(&bodies[collision->kept], &bodies[collision->gone]);
		octree_merge(&galaxy->tree, bodies, collision->kept, collision->gone);
		galaxy->radius_max = fmax(galaxy->radius_max, bodies[collision->kept].radius);
		galaxy->merged++;
	}
	galaxy->collision_count = 0;
}

static void iterate(struct galaxy *galaxy)
{
	(void)pthread_barrier_wait(&wakeForces);
	(void)pthread_barrier_wait(&wakeForcesDone);
	octree_build(&galaxy->tree, galaxy->bodies);
	(void)pthread_barrier_wait(&wakeCollisions);
	(void)pthread_barrier_wait(&wakeCollisionsDone);
	merge_bodies(galaxy);
}

static void *room_for(size_t count, size_t bytes)
{
	void *room = calloc(count, bytes);
	if (!room)
		die(1, "galaxy: not enough memory");
	return room;
}

static void start_threads(pthread_t *threads, uint32_t count, void *(*run)(void *), void *arg)
{
	for (uint32_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, arg) != 0)
			die(1, "galaxy: cannot start thread %" PRIu32, i + 1);
}

/* Computes all iterations, prints how long they took. */
static void run(struct galaxy *galaxy)
{
	static pthread_t threads[2 * THREADS_MAX];
	const struct settings *settings = &galaxy->settings;
	uint32_t forces = settings->force_threads, collisions = settings->collision_threads;
	double total_s = 0, squares = 0;
	(void)pthread_barrier_init(&wakeForces, NULL, forces + 1);
	(void)pthread_barrier_init(&wakeForcesDone, NULL, forces + 1);
	(void)pthread_barrier_init(&wakeCollisions, NULL, collisions + 1);
	(void)pthread_barrier_init(&wakeCollisionsDone, NULL, collisions + 1);
	start_threads(threads, forces, force_thread, galaxy);
	start_threads(threads + forces, collisions, collision_thread, galaxy);
	for (uint32_t i = 0; i < settings->iterations; i++) {
		double start_s = now_s();
		iterate(galaxy);
		double took_s = now_s() - start_s;
		total_s += took_s;
		squares += took_s * took_s;
	}
	galaxy->is_over = true;
	(void)pthread_barrier_wait(&wakeForces);
	(void)pthread_barrier_wait(&wakeCollisions);
	for (uint32_t i = 0; i < forces + collisions; i++)
		(void)pthread_join(threads[i], NULL); /* fails only for a thread not ours */
	double count = settings->iterations, mean_s = total_s / count;
	printf("iteration: %.6f s, standard deviation %.6f s\n", mean_s,
		sqrt(fmax(0, squares / count - mean_s * mean_s)));
}

/* Runs between two measurements of what must stay the same. */
static void run_checked(struct galaxy *galaxy)
{
	const struct settings *s = &galaxy->settings;
	double before[3], after[3];
	bodies_momentum(galaxy->bodies, s->bodies, before);
	double energy = bodies_energy(galaxy->bodies, s->bodies, s->softening, s->step);
	run(galaxy);
	bodies_momentum(galaxy->bodies, s->bodies, after);
	double energy_after = bodies_energy(galaxy->bodies, s->bodies, s->softening, s->step);
	printf("energy: changed by %.2e of itself\nmomentum: changed by %.2e\n",
		fabs(energy_after / energy - 1),
		hypot(hypot(after[0] - before[0], after[1] - before[1]), after[2] - before[2]));
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: galaxy [options] FORCE_THREADS COLLISION_THREADS\n\n"
		"Simulates bodies that attract one another and merge when they touch.\n\n"
		"  -n, --bodies N       how many (default 3000)\n"
		"  -i, --iterations N   how many steps of time (default 10)\n"
		"  -t, --theta X        how coarsely far bodies are seen, 0 to 0.57 (default 0.3)\n"
		"  -d, --step X         length of a step of time (default 0.001)\n"
		"  -e, --softening X    what keeps near bodies' forces bounded (default 0.01)\n"
		"  -r, --radius X       of a body; 0: none touch (default 0.001)\n"
		"  -s, --seed N         of where the bodies begin (default 1)\n"
		"  -c, --check          how well energy and momentum are conserved\n");
	exit(out == stdout ? 0 : 2);
}

static struct settings read_settings(int argc, char **argv)
{
	struct settings s = { .bodies = 3000,
		.iterations = 10,
		.theta = 0.3,
		.step = 0.001,
		.softening = 0.01,
		.radius = 0.001,
		.seed = 1 };
	const struct argument arguments[] = {
		{ "bodies", ARGUMENT_COUNT, &s.bodies, 2, BODIES_MAX, 'n' },
		{ "iterations", ARGUMENT_COUNT, &s.iterations, 1, UINT32_MAX, 0 },
		{ "theta", ARGUMENT_NUMBER, &s.theta, 0, 0.57, 0 },
		{ "step", ARGUMENT_NUMBER, &s.step, 0, 1, 'd' },
		{ "softening", ARGUMENT_NUMBER, &s.softening, 1e-9, 1, 'e' },
		{ "radius", ARGUMENT_NUMBER, &s.radius, 0, 1, 0 },
		{ "seed", ARGUMENT_COUNT, &s.seed, 0, UINT32_MAX, 0 },
		{ "check", ARGUMENT_IS_SET, &s.does_check, 0, 0, 0 },
		{ 0 },
	};
	read_arguments(argc, argv, arguments, 2, usage);
	s.force_threads = count_of("FORCE_THREADS", argv[optind], 1, THREADS_MAX);
	s.collision_threads = count_of("COLLISION_THREADS", argv[optind + 1], 1, THREADS_MAX);
	return s;
}

int main(int argc, char **argv)
{
	struct galaxy galaxy = { .settings = read_settings(argc, argv) };
	const struct settings *settings = &galaxy.settings;
	uint32_t count = settings->bodies;
	galaxy.bodies = room_for(count, sizeof(*galaxy.bodies));
	galaxy.collisions = room_for(count, sizeof(*galaxy.collisions));
	galaxy.radius_max = settings->radius;
	uint64_t *rooms = room_for(count, 2 * sizeof(*rooms));
	queue_init(&forces_queue, rooms, count);
	queue_init(&positions_queue, rooms + count, count);
	bodies_fill(galaxy.bodies, count, settings->radius, settings->seed);
	octree_init(&galaxy.tree, count);
	octree_build(&galaxy.tree, galaxy.bodies);
	for (uint32_t i = 0; i < count; i++)
		(void)queue_put(&forces_queue, i); /* has room for all */
	if (settings->does_check)
		run_checked(&galaxy);
	else
		run(&galaxy);
	printf("bodies: %" PRIu32 " of %" PRIu32 "\nchecksum: %016" PRIx64 "\n",
		count - galaxy.merged, count, bodies_checksum(galaxy.bodies, count));
	octree_release(&galaxy.tree);
	free(galaxy.bodies);
	free(galaxy.collisions);
	free(rooms);
	return 0;
}
