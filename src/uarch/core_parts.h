/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core_program inside: micro-traces as micro-operations whose operands are indices, so that playing one looks up
 * nothing. Each trace has an array of times at which results are ready, first of the registers as the trace
 * finds them, and of words in memory that it reads and then writes, then of its micro-operations:
 *
 *	done[]:  register 0 | ... | register 63 | word 0 | ... | word 63 | micro-operation 0 | ...
 *
 * Registers and words carry over from one trace of a class to the next, so that chains through loops are not cut.
 */
#ifndef UARCH_CORE_PARTS_H
#define UARCH_CORE_PARTS_H

#include "base/map.h"
#include "uarch/core.h"

#include <assert.h>

enum {
	CORE_WORDS = 64, /* of a class that are followed from trace to trace */
	CORE_REGISTERS = 64 + CORE_WORDS,
	CORE_TRACE_INSTRUCTIONS = 4096, /* the rest of a longer trace is left out */
	CORE_OPERANDS_MAX = 12, /* of a micro-operation */
	CORE_SETS = 64, /* of a first level that pages of 4 KiB are translated beside */
	CORE_CHANGED = 8, /* registers that a detour may change */
};
#define CORE_NONE UINT32_MAX

/* Units beside those of enum code_class. */
enum core_unit {
	CORE_LOADS = CODE_CLASSES,
	CORE_STORES,
	CORE_VECTOR_LOADS,
	CORE_VECTOR_STORES,
	CORE_COMPARES, /* that are one with their branch, where they have ports of their own */
	CORE_CROSSINGS, /* beside conversions of general registers, where these are two micro-operations */
	CORE_UNITS
};
static_assert(CORE_UNITS <= 64, "6 bits of a micro-operation");

/* Where a result goes, of which a core has so many places (struct processor). */
enum core_file { CORE_NO_FILE, CORE_GENERAL_FILE, CORE_VECTOR_FILE, CORE_FILES };

enum core_uop_flags {
	CORE_FIRST = 1, /* of its instruction */
	CORE_LOAD = 2,
	CORE_STORE = 4, /* address and data together */
	CORE_PREDICTED = 8, /* a conditional branch */
	CORE_INDIRECT = 16, /* a jump whose target is predicted */
	CORE_SERIAL = 32, /* waits for all that is older, and younger accesses wait for it */
	CORE_RIDES = 64, /* where micro-operations are fused: takes no place of its own */
	CORE_PAIRED = 128, /* where they are: does the work of the branch that follows */
};

/* What foretells a jump along the traces: its `draw`, until draws are made. */
enum core_foretold { CORE_BY_NONE, CORE_BY_PATH, CORE_BY_LAST };

struct core_uop {
	uint32_t operand; /* the first, in `operands` of the program */
	uint32_t access; /* index, or CORE_NONE */
	float draw; /* mispredicted if below the ratio */
	uint8_t operand_count : 4;
	uint8_t is_next_line : 1; /* its instruction has bytes in a line that the one before it had not */
	uint8_t is_split : 1; /* a branch, with the comparison that is one with it, that has bytes in two lines */
	uint8_t is_scaled : 1; /* a load with CODE_SCALED */
	uint8_t is_computed : 1; /* a return, or an indirect jump that went elsewhere the last time */
	uint8_t unit : 6;
	uint8_t file : 2; /* enum core_file */
	uint8_t flags;
	union {
		uint8_t pair_unit; /* of CORE_PAIRED, where they are fused */
		uint8_t is_prefetch; /* of CODE_ALU that is not paired */
		uint8_t windows; /* of a jump that ends the same block as the jump before: how often it has 64
				    bytes, 255 at most; 0: of another jump */
	};
};

struct core_access {
	uint32_t slot; /* of its code in the class */
	uint32_t line; /* in the trace */
	float draw; /* in [0, 1) */
	uint16_t name; /* of its line, in all traces: a hash */
	uint8_t set; /* of a first level of CORE_SETS */
	uint16_t
		expected; /* of a load, where memory is renamed by distance: the store that it would have its data
			      from if it were as the last times, and has not; index into done[]; 0: none */
	uint8_t is_first : 1; /* touch of its line in the trace */
	uint8_t is_stream : 1; /* its address is one that a prefetcher expects */
	uint8_t is_stored : 1; /* a load of what an older store of the traces writes */
	uint8_t is_blocked : 1; /* a load that no one of these stores has all bytes of */
	uint8_t renaming : 2; /* of a load of what one store wrote: code_renaming(), the more of both; 0: not */
	uint8_t is_first_page : 1; /* touch of its page in the trace */
	uint8_t is_line_on : 1; /* its instruction came to its line from the line beside */
	uint8_t is_line_cut : 1; /* nothing is known of where it came from: the trace begins there */
	uint32_t page; /* in the trace */
	float page_draw;
	uint32_t
		near_back; /* of a first touch: accesses back to the one whose line it comes, or is gone, with (core_regions.h); 0: none */
	int8_t near_lines; /* how far above that one; INT8_MAX: it does not come with it */
	uint32_t
		run_back; /* of a stream: accesses back to the one that it began with; 0: before the trace */
};

/* What is known of where the path behind a misprediction comes back to the right one (core_detours.h). */
struct core_detour {
	uint32_t resume; /* micro-operation of the trace from which on both are one; 0: not known */
	uint32_t after; /* micro-operation behind the branch */
	uint64_t shared; /* bit n: the wrong path does after + n, too */
	uint32_t delay; /* instructions of the wrong path before */
	uint16_t changed
		[CORE_CHANGED]; /* results, indices into done[], that the wrong path has overwritten */
	uint16_t changed_count;
};

struct core_trace {
	uint32_t uop, uop_count; /* in `uops` of the program */
	size_t detour; /* of its first branch or indirect jump, in `detours` of the program */
	uint32_t instructions, lines, pages;
	double weight;
	uint16_t last_writer[CORE_REGISTERS]; /* index into done[]; its own if it is not written */
};

/* An instruction of a class that accesses memory. */
struct core_slot {
	uint32_t code;
	uint32_t accesses, firsts,
		page_firsts; /* in the class's traces: all, first touches of lines, of pages */
	size_t trace; /* the last one to have it, plus 1 */
	bool is_common; /* several have it */
	uint8_t renaming; /* code_renaming() */
	uint16_t stores_back; /* to the one that it got its data from the last time; 0: not known */
	uint16_t times; /* that it was so many, one after the other */
	uint32_t line_changes, lines_up, lines_down; /* goings on to another line, to one beside */
};

struct core_class {
	size_t trace, trace_count;
	size_t slot, slot_count;
	size_t access, access_count; /* in the order of execution */
	size_t instructions;
	double branch_share; /* of the class's instructions; negative: not known */
	double branches_played; /* the same in its traces, weighted */
	size_t jumps_played; /* indirect jumps in its traces */
	double jumps_unforeseen
		[CORE_BY_LAST]; /* share of indirect jumps: by nobody; but by the path */
	double units[CORE_UNITS]; /* micro-operations in its traces */
};

struct core_program {
	struct core_class *classes;
	size_t class_count;
	struct core_trace *traces;
	size_t trace_count, trace_capacity;
	struct core_uop *uops;
	size_t uop_count, uop_capacity;
	uint16_t *operands;
	size_t operand_count, operand_capacity;
	struct core_detour *detours; /* of each CORE_PREDICTED and CORE_INDIRECT, in order */
	size_t detour_count, detour_capacity;
	struct core_access *accesses;
	size_t access_count, access_capacity;
	struct core_slot *slots;
	size_t slot_count, slot_capacity;
	double *slot_executions; /* of `slots`: what core_program_lone() answers */
	uint32_t *slot_codes; /* of `slots`: what core_program_codes() answers */
	size_t lines_max, pages_max, slots_max, uops_max; /* of a trace, but slots of a class */
};

/* core_decode.c: adds a micro-trace to the program, after the class's others. 0 or -ENOMEM. */
struct core_decoder;
int core_decode(struct core_decoder *decoder, const struct profile *profile,
	const struct micro_trace *micro);
int core_decoder_new(struct core_program *program, struct core_decoder **ret);
void core_decoder_free(struct core_decoder *decoder);
CLEANUP_DEFINE(core_decoder, core_decoder_free)

/* core_draw.c: the draws of a class whose traces are all there. 0 or -ENOMEM. */
struct rng;
int core_draw(struct core_program *program, struct core_class *class, struct rng *rng);

#endif
