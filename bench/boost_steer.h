/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A simulated run whose cores' speeds follow a boost policy, and what it took: time, and energy by a
 * power model: leakage of each core, C V^2 f while it runs a thread and a share of that while it has none, and
 * what is beside the cores, all the time. A thread that waits sleeps; or it spins, as in the paper, and its
 * core takes as much as one that works.
 */
#ifndef BENCH_BOOST_STEER_H
#define BENCH_BOOST_STEER_H

#include "replay/replay.h"
#include "sim/sim.h"
#include "tune/booster.h"
#include "uarch/energy.h"

/* The paper's frequencies. */
#define BASE_GHZ 2.0
#define FAST_GHZ 2.5

/* Of a core at either frequency; any unit. */
struct steer_power {
	double base_static, fast_static;
	double base_dynamic, fast_dynamic; /* while it works */
	double idle_share; /* of the dynamic power, while it has nothing to do */
	double uncore; /* beside the cores */
};

/*
 * By assumption: 0.90 V and 1.00 V, 40% of a busy core's power at the lower one is leakage, whose current is
 * constant; nothing beside the cores. In units of a busy core's. Not fitted.
 */
struct steer_power steer_power_assumed(void);
/* W, of a machine file with voltages (uarch/energy.h): a core that works dispatches at full width. */
struct steer_power steer_power_of(const struct power *power);

/* What steers: a policy, or a thread that is always fast, or all cores, or nobody. */
struct steering {
	const struct boost_policy *policy; /* NULL: none */
	uint32_t fixed_tid; /* 0: none */
	bool is_all_fast;
	const struct steer_power *power;
	double memory_share; /* of the time at BASE_GHZ, which no frequency shortens */
};

struct outcome {
	uint64_t ns;
	uint64_t fast_ns; /* in which a core was fast */
	double joules_asleep, joules_spinning; /* in units of the power times seconds */
	uint32_t critical_tid; /* the most critical thread of the run */
};

/* Runs a program that program_build() or a replay makes. 0 or a negative errno. */
struct program;
int steer_program(const struct program *program, const struct steering *steering,
	struct outcome *ret, struct err *err);
int steer_replay(struct replay *replay, uint32_t cores, const struct steering *steering,
	struct outcome *ret, struct err *err);

#endif
