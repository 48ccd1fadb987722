/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cycles of a class of stretches on a core, as a CPI stack: equation 1 of De Pestel et al., "RPPM", ISPASS 2019,
 * with its terms evaluated together by playing the class's micro-traces through a window of micro-operations.
 *
 * Dispatch in order at the core's width into a reorder buffer, an issue queue and queues of loads and stores; issue as
 * soon as operands (registers, memory that the trace itself wrote) and a port are there; commit in order. Which
 * accesses miss and which branches are mispredicted is drawn, the same draws on every processor, so that their
 * number is what the caller's probabilities say; where they lie in the trace decides how much of them is hidden.
 * Cycles in which nothing commits are put down to what the oldest micro-operation waits for, so the components sum
 * to the CPI. docs/models/core.md has the assumptions and how well it does.
 *
 *	core_program_new		once for a profile: micro-traces decoded, dependences found
 *	core_program_codes		of a class: the instructions whose odds are asked for
 *	core_play			cycles of a class on a processor
 */
#ifndef UARCH_CORE_H
#define UARCH_CORE_H

#include "base/cleanup.h"
#include "uarch/processor.h"
#include "uarch/profile.h"

/* What the oldest micro-operation of the core waits for. */
enum core_component {
	CORE_BASE, /* width, dependences, ports, first-level hits */
	CORE_BRANCH, /* the front end is refilled after a misprediction */
	CORE_ICACHE,
	CORE_L2, /* loads and full store queues, served by a level between the first and the last */
	CORE_LLC, /* ... by the last level */
	CORE_MEMORY,
	CORE_COHERENCE, /* ... by another core, which had written the line */
	CORE_TLB, /* translation of an address, where that takes longer than the line */
	CORE_SYSTEM, /* page faults, interrupts and so on: not the core's, but whoever knows of them adds them */
	CORE_SIBLING, /* somebody else's work on the other hardware thread: likewise */
	CORE_COMPONENTS,
};

const char *core_component_name(enum core_component component);

/*
 * Of one execution of an instruction that accesses memory: the probability that it is not served by level n or a
 * nearer one (falling; of the last level: served by memory), and that another core serves it (counted in
 * beyond[] of the private levels, not in the last's).
 */
struct core_odds {
	double beyond[PROCESSOR_LEVELS_MAX];
	double transfer;
	double untranslated[2]; /* its page is not in the first level of the TLB, nor in any */
};

/* What is known of a class on a processor, all as plain numbers. */
struct core_input {
	const struct core_odds *odds; /* by slot of core_program_codes() */
	double mispredicted; /* of a conditional branch of the class */
	double jumps_mispredicted; /* of an indirect jump that is no return, as `jumps_seen` of them tell;
		traces with more of them are believed instead */
	double jumps_seen;
	double fetch_beyond[PROCESSOR_LEVELS_MAX]; /* per instruction: fetches that the instruction
		cache has not, [0], and that level n has neither, [n] */
	double fetches; /* of instruction lines, per instruction */
	double targets_late[2]; /* per instruction: targets of taken branches that neither the first
		level has, nor any */
	double writers; /* other threads that have written a line that comes from another core; 0: not known */
	double stretch; /* instructions of one, mean; 0: it has no end */
	double memory_cycles; /* from issue of a load to its use, under load; 0: without */
};

struct core_result {
	double cpi; /* cycles per instruction */
	double stack[CORE_COMPONENTS]; /* sums to `cpi` */
	double dispatch_rate; /* micro-operations per cycle of the base component: equation 1's D_eff */
	double uops; /* dispatched, per instruction; fused ones count once */
	double mlp; /* lines from memory under way while there is any; 1 if there is none */
	double memory_lines; /* per instruction: those that came from memory */
};

struct core_program;

/*
 * Decodes micro-traces of around `instructions_max` instructions in all, shared out over the classes by their
 * weight; small classes may get none. Borrows nothing. The same seed gives the same program. 0 or -ENOMEM.
 */
int core_program_new(const struct profile *profile, size_t instructions_max, uint64_t seed,
	struct core_program **ret);
void core_program_free(struct core_program *program);
CLEANUP_DEFINE(core_program, core_program_free)

/* Instructions that core_play() would play of a class; 0: it has no micro-traces here. */
size_t core_program_instructions(const struct core_program *program, size_t class);

/* Codes of the class that access memory, by slot, of *ret_count. Borrowed. */
const uint32_t *core_program_codes(
	const struct core_program *program, size_t class, size_t *ret_count);

/* Likewise: executions of those that only one of the class's traces has, as it stands for them; 0: of others. */
const double *core_program_lone(const struct core_program *program, size_t class);

/*
 * A core to play on: what is worked out once for a processor and then used by one thread at a time. -ENOMEM, or
 * -EINVAL: no width or no window.
 */
struct core;
int core_new(const struct processor *processor, struct core **ret);
void core_free(struct core *core);
CLEANUP_DEFINE(core, core_free)

/* -ENOENT: nothing of the class is in the program. 0: *ret is filled. Around 25 ns per instruction. */
int core_play(struct core *core, const struct core_program *program, size_t class,
	const struct core_input *input, struct core_result *ret);

#endif
