/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A simulated run whose cores' speeds follow a boost policy, and what it took: time, and energy by a
 * power model.
 *
 * A core of frequency f and voltage V takes
 *
 *	static	S V / V0			always
 *	dynamic	(1 - S) (V / V0)^2 f / f0	while it runs a thread
 *
 * of what a busy core takes at f0, V0 (dynamic is C V^2 f; leakage current is taken as constant). A
 * thread that waits sleeps, and its core takes static power only; or it spins, as in the paper, and its
 * core takes all.
 */
#ifndef BENCH_BOOST_STEER_H
#define BENCH_BOOST_STEER_H

#include "model/replay.h"
#include "sim/sim.h"
#include "tune/booster.h"

/* The paper's frequencies. The voltages and the static share are assumptions, not fitted. */
#define BASE_GHZ 2.0
#define FAST_GHZ 2.5
#define BASE_VOLT 0.90
#define FAST_VOLT 1.00
#define STATIC_SHARE 0.40

/* What steers: a policy, or a thread that is always fast, or all cores, or nobody. */
struct steering {
	const struct boost_policy *policy; /* NULL: none */
	uint32_t fixed_tid; /* 0: none */
	bool is_all_fast;
	double memory_share; /* of the time at BASE_GHZ, which no frequency shortens */
};

struct outcome {
	uint64_t ns;
	uint64_t fast_ns; /* in which a core was fast */
	double joules_asleep, joules_spinning; /* in seconds of a busy core at base */
	uint32_t critical_tid; /* the most critical thread of the run */
};

/* Runs a program that program_build() or a replay makes. 0 or a negative errno. */
struct program;
int steer_program(const struct program *program, const struct steering *steering,
	struct outcome *ret, struct err *err);
int steer_replay(struct replay *replay, uint32_t cores, const struct steering *steering,
	struct outcome *ret, struct err *err);

#endif
