/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference simulator's core: out of order, cycle by cycle, fed with the instructions that a thread really
 * executed (nothing is fetched down a wrong path).
 *
 *	instructions -> fetch -> dispatch -> issue -> execute -> retire -> store buffer -> caches
 *	                  ^         |          oldest first, ports                in order
 *	                  |         v
 *	                  |     reorder buffer, issue queue, load and store queue
 *	                  +-- waits for mispredicted branches, and for lines of code
 *
 * Each cycle: up to retire_width micro-operations retire, in order; ready ones issue to free ports, oldest first;
 * up to dispatch_width enter. Loads get what an older store to the same 8 bytes has (store-to-load
 * forwarding) and never wait for stores to other addresses. Atomic operations, fences and system calls
 * issue when they are the oldest and the store buffer is empty; an atomic operation's line is fetched as soon as its
 * address is known, and what comes after it goes on; fences hold it back.
 */
#ifndef BENCH_REFSIM_CORE_H
#define BENCH_REFSIM_CORE_H

#include "bench/refsim/memory.h"
#include "uarch/profile.h"

struct refcore;

/* True if the outcome or the target of an indirect jump but a return was predicted; learns it. NULL: always. */
struct refcore_predictor {
	bool (*predict)(void *context, uint64_t address, bool is_taken);
	void *context;
	bool (*predict_target)(void *context, uint64_t address, uint64_t target);
	void (*take)(void *context, uint64_t target); /* any taken branch or jump */
	void *target_context;
};

/* Where its cycles went: by what kept the oldest micro-operation from retiring. Sums to the cycles run. */
enum refcore_part {
	REFCORE_BASE,
	REFCORE_BRANCH,
	REFCORE_ICACHE,
	REFCORE_L2,
	REFCORE_LLC,
	REFCORE_MEMORY,
	REFCORE_PARTS,
};

struct refcore_counts {
	uint64_t instructions, operations, cycles;
	uint64_t parts[REFCORE_PARTS];
	uint64_t branches, mispredicted;
};

/* Borrows processor and memory. 0, -ENOMEM, -EINVAL (a width or a queue of 0). */
int refcore_new(const struct processor *processor, struct refmemory *memory, uint32_t number,
	struct refcore_predictor predictor, struct refcore **ret, struct err *err);
void refcore_free(struct refcore *core);
CLEANUP_DEFINE(refcore, refcore_free)

/* Its clock, in cycles; it only goes forward. */
uint64_t refcore_clock(const struct refcore *core);
void refcore_advance(struct refcore *core, uint64_t cycle); /* the core was idle until then */

/*
 * Runs until the last of these instructions has been dispatched, or until no cycle is left before `until` (UINT64_MAX: however
 * long it takes). How many were.
 */
size_t refcore_run(struct refcore *core, const struct code *codes, const struct micro_op *ops,
	size_t count, uint64_t until);

/* Runs until all that was dispatched has retired, and its stores are in the caches. */
void refcore_drain(struct refcore *core);

struct refcore_counts refcore_counts(const struct refcore *core);

#endif
