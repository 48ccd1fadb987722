/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plug for tests of the engine: each thread plays a list of operations, and then exits. */
#ifndef TESTS_SIM_SCRIPT_H
#define TESTS_SIM_SCRIPT_H

#include "sim/sim.h"

#include <string.h>

enum { SCRIPT_THREADS = 64, SCRIPT_RESULTS = 64 };

struct script {
	const struct sim_op *ops[SCRIPT_THREADS + 1]; /* by tid; ends with SIM_EXIT */
	uint32_t at[SCRIPT_THREADS + 1];
	struct sim_result results[SCRIPT_THREADS + 1][SCRIPT_RESULTS]; /* of each operation */
	uint64_t times[SCRIPT_THREADS + 1][SCRIPT_RESULTS]; /* at which it was over */
	const struct sim_op *starts[SCRIPT_THREADS]; /* of threads that are spawned, by `other` */
	void (*hook)(struct script *script, struct sim *sim, uint32_t tid); /* before each */
	bool is_endless; /* the operation before the last is played for ever */
};

static inline int script_next(void *context, struct sim *sim, uint32_t tid,
	const struct sim_result *last, struct sim_op *ret, struct err *err)
{
	(void)err;
	struct script *script = context;
	if (!script->ops[tid])
		script->ops[tid] = script->starts[last->item];
	uint32_t at = script->at[tid]++;
	if (at > 0 && at <= SCRIPT_RESULTS) {
		script->results[tid][at - 1] = *last;
		script->times[tid][at - 1] = sim_now(sim);
	}
	if (script->hook)
		script->hook(script, sim, tid);
	*ret = script->ops[tid][at];
	if (script->is_endless && ret->kind == SIM_YIELD)
		script->at[tid]--;
	return 0;
}

static inline struct sim_program script_program(struct script *script)
{
	return (struct sim_program){ .context = script, .next = script_next };
}

#define PUT(queue, what)                                                                           \
	{                                                                                          \
		.kind = SIM_PUT, .object = (queue), .item = (what)                                 \
	}
#define COMPUTE(ns)                                                                                \
	{                                                                                          \
		.kind = SIM_COMPUTE, .amount = (ns)                                                \
	}
#define OP(what, number)                                                                           \
	{                                                                                          \
		.kind = SIM_##what, .object = (number)                                             \
	}
#define SLEEP(ns)                                                                                  \
	{                                                                                          \
		.kind = SIM_SLEEP, .amount = (ns)                                                  \
	}
#define COND_WAIT(cond, mutex, timeout)                                                            \
	{                                                                                          \
		.kind = SIM_COND_WAIT, .object = (cond), .other = (mutex), .amount = (timeout)     \
	}

#define EXIT                                                                                       \
	{                                                                                          \
		.kind = SIM_EXIT                                                                   \
	}

#endif
