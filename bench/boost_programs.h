/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small simulated programs with the character of the paper's benchmarks, one thread for each core. What
 * a thread computes depends on the seed alone, not on when it computes it: two runs do the same work.
 */
#ifndef BENCH_BOOST_PROGRAMS_H
#define BENCH_BOOST_PROGRAMS_H

#include "base/rng.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_THREADS_MAX = 64 };

/*
 * A round: each thread computes `work_ns` in `pieces`, each followed by `held_ns` under one lock; then a
 * barrier; then thread 0 computes `serial_ns` while the others wait at a second one. A pipeline: a
 * stage for each thread, a piece of work for each of `rounds` items, bounded queues between.
 */
struct shape {
	const char *name;
	uint32_t rounds, pieces;
	double work_ns, noise; /* noise: work is uniform within +- so much of it */
	double heavy; /* a heavy thread has so much more work, relative */
	uint32_t wander; /* the heavy thread is drawn again after so many rounds; 0: never */
	double held_ns; /* mean, exponential; 0: no lock */
	double serial_ns;
	bool is_pipeline;
	bool is_balanced; /* no thread is critical: not in the means, as in the paper's figure */
};

extern const struct shape boost_shapes[];
extern const size_t boost_shape_count;

struct program_thread {
	struct rng rng;
	uint32_t round, piece;
	uint8_t stage;
};

struct program {
	const struct shape *shape;
	uint32_t threads;
	uint64_t seed;
	struct program_thread state[PROGRAM_THREADS_MAX];
};

void program_init(
	struct program *program, const struct shape *shape, uint32_t threads, uint64_t seed);
/* Its objects, and its threads pinned to a core each. 0 or a negative errno. */
int program_build(const struct program *program, struct sim *sim);
int program_next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err);

#endif
