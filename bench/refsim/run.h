/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference simulator as a whole: a program's threads, each on a core of its own, run the instructions that they
 * really executed, and meet at their locks and barriers.
 *
 *	instruction streams --> cores (core.h), caches and memory (memory.h)
 *	                              ^  |
 *	            so much work, now |  | so many ns
 *	                              |  v
 *	timeline ---------------> replay (src/replay/replay.h) on the engine of src/sim
 *
 * Work from a common supply goes to who asks first, as in predictions: a core then executes what another thread did
 * in the traced run, at the addresses that it used.
 *
 * Cores run by turns, a ns at a time, in order of simulated time: accesses of threads that run at once mix at
 * that grain. Who gets a lock when is the engine's to say, as in predictions: what is
 * scored against this simulator is the model of cores, caches and memory, not the engine, which has tests against
 * theory of its own.
 */
#ifndef BENCH_REFSIM_RUN_H
#define BENCH_REFSIM_RUN_H

#include "bench/refsim/core.h"
#include "replay/replay.h"

enum {
	REFRUN_TURN = 64,
	REFRUN_OPS = 256
}; /* instructions that are read at a time; room for them */

struct refrun_input {
	const struct processor *processor;
	struct replay *replay; /* with opts.stretch; its threads are the streams' numbers */
	uint32_t threads; /* of the replay */
	const struct code *codes;
	/*
	 * The next instructions of a thread, at most `count` and fewer only at its end, in *ret_ops elements of `ops`: more
	 * where an instruction accesses several lines. `ops` has room for REFRUN_OPS.
	 */
	size_t (*read)(void *context, uint32_t thread, size_t count, struct micro_op *ops,
		size_t *ret_ops);
	/* The thread goes on after so many instructions of thread `list`: it was dealt a piece of that one's work, or has its
	   own again. */
	void (*move)(void *context, uint32_t thread, uint32_t list, uint64_t instructions);
	void *read_context; /* of both */
	const struct refcore_predictor *predictors; /* one for each thread */
};

struct refrun_result {
	uint64_t ns;
	struct refcore_counts *cores; /* by thread; the caller frees it */
	uint64_t missing; /* instructions that the timeline has and the streams have not */
	uint64_t memory_lines;
};

/* 0, or what the parts return. `sink` may be NULL: the simulated timeline. */
int refrun(const struct refrun_input *input, const struct event_sink *sink,
	struct refrun_result *ret, struct err *err);

#endif
