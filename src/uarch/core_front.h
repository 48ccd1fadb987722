/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The front end of a core: what holds dispatch back before an instruction is there. Misses of instruction lines, targets of
 * taken branches, what lies in two lines, mispredictions. Where it runs ahead of dispatch (`fetch_ahead`), a queue of blocks
 * hides that while instructions take longer to be done.
 */
#ifndef UARCH_CORE_FRONT_H
#define UARCH_CORE_FRONT_H

#include "uarch/core_memory.h"

#include <stdbool.h>

enum {
	CORE_FETCHED_MAX = 1024, /* instructions that it may be ahead */
};

struct core_front {
	const struct processor *processor;
	int64_t ready; /* nothing is dispatched before this cycle */
	enum core_component reason; /* for that */
	double fetch_misses[PROCESSOR_LEVELS_MAX]; /* per instruction, that level n + 1 serves */
	double fetch_latency[PROCESSOR_LEVELS_MAX];
	double fetch_debt[PROCESSOR_LEVELS_MAX];
	int64_t fetch_interval[PROCESSOR_LEVELS_MAX]; /* cycles between two of those lines */
	int64_t line_at; /* the last of them came */
	bool has_fetch_misses;
	bool has_targets; /* those of taken branches may come late */
	int64_t block_at; /* it has the block of instructions behind the last taken branch */
	uint32_t taken; /* branches followed in that cycle */
	uint64_t block_from; /* micro-operations before the block at hand */
	double targets_late[2], target_debt[2]; /* per instruction, that a level has not */
	int64_t passed_at[CORE_FETCHED_MAX]; /* cycles: of the last instructions, in a ring */
	uint32_t instruction;
	uint32_t ahead; /* instructions that it is ahead of dispatch; 0: none */
	int64_t redirected_at; /* it began anew */
};

/* Of a class; `memory` has been started and says what a level takes. Borrows the processor. */
void core_front_start(struct core_front *front, const struct processor *processor,
	const struct core_input *input, const struct core_memory *memory);

/* Nothing is dispatched before `ready`, if it is not held for longer already. */
void core_front_hold(struct core_front *front, int64_t ready, enum core_component reason);

/* It begins anew behind a mispredicted branch: `ready` is when its first instruction can be dispatched. */
void core_front_redirect(struct core_front *front, int64_t ready);

/* Before the first micro-operation of each instruction; `dispatch_at` is the cycle of the one before. */
void core_front_fetch(struct core_front *front, int64_t dispatch_at);

/* The next instruction has bytes in a line of 64 that the one before it had not. */
void core_front_next_line(struct core_front *front, int64_t dispatch_at);

/* Behind a jump or taken branch; `uops`: dispatched until now. */
void core_front_take_branch(
	struct core_front *front, const struct core_uop *uop, int64_t dispatch_at, uint64_t uops);

#endif
