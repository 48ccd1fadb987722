/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the stages of the reference simulator's core share (core.h): its state, and a function for each stage. */
#ifndef BENCH_REFSIM_CORE_PARTS_H
#define BENCH_REFSIM_CORE_PARTS_H

#include "bench/refsim/core.h"
#include "bench/refsim/fetch.h"

enum {
	RING_MAX = 4096,
	SOURCES = 8, /* micro-operations that one waits for */
	REGISTERS = 64,
	STACK_POINTER = 4,
	WORD_BITS = 3, /* a load gets what a store to the same 8 bytes has */
};

#define NEVER UINT64_MAX

enum kind { KIND_OPERATION, KIND_LOAD, KIND_STORE, KIND_ALONE }; /* ALONE: when it is the oldest */

/* A micro-operation in the reorder buffer. */
struct entry {
	uint64_t sources[SOURCES]; /* numbers of micro-operations */
	uint64_t ready; /* cycle of its result; NEVER: not issued */
	uint64_t not_before; /* cycle: what it waits for is not there earlier */
	uint64_t address;
	uint32_t code;
	uint8_t kind, source_count, class;
	uint8_t level; /* that a load came from */
	bool is_mispredicted, is_load_too; /* is_load_too: an atomic operation */
	bool is_vector; /* what it loads or stores is of a vector register */
	uint8_t renaming; /* code_renaming() */
	bool is_asked; /* its line is on its way */
	uint64_t line_ready;
};

struct store {
	uint64_t number; /* of its micro-operation */
	uint64_t drained; /* cycle at which it has left; NEVER: not retired */
	uint64_t word;
	uint8_t renaming; /* as in struct entry */
};

struct refcore {
	const struct processor *processor;
	struct refmemory *memory;
	struct reffetch *fetch;
	uint32_t number;
	struct refcore_predictor predictor;

	uint64_t clock;
	/* A cycle in which the instructions ran out before the width did: dispatch goes on in it. */
	bool is_open, has_happened; /* has_happened: anything, in it */
	uint32_t width_left;
	enum refcore_part part; /* why nothing retired in it, or base */
	struct entry *ring; /* RING_MAX, of micro-operations `oldest` .. `next` - 1 */
	uint64_t oldest, next;
	uint64_t writers[REGISTERS]; /* number of the last to write it, plus one; 0: long ago */
	uint64_t *waiting; /* issue queue: numbers, oldest first */
	uint32_t waiting_count;
	uint32_t loads; /* in the load queue */
	struct store *stores;
	uint32_t store_first, store_count;
	uint64_t last_drained;

	uint64_t port_free[PROCESSOR_PORTS_MAX];
	uint64_t unit_free[CODE_CLASSES][PROCESSOR_PORTS_MAX];

	uint64_t jump; /* number of an indirect jump whose target is not known yet, plus one */
	uint64_t jump_address, address_after; /* of the last instruction */
	uint64_t blocked_by; /* number of the mispredicted branch that fetch waits for, plus one */
	uint64_t fetch_from; /* cycle */
	enum refcore_part fetch_part; /* why it waits until then */
	struct refcore_counts counts;
};

static inline struct entry *entry_at(const struct refcore *core, uint64_t number)
{
	return &core->ring[number % RING_MAX];
}

static inline struct store *store_at(const struct refcore *core, uint32_t n)
{
	return &core->stores[(core->store_first + n) % core->processor->store_queue];
}

static inline bool is_done(const struct refcore *core, uint64_t number)
{
	return number < core->oldest || entry_at(core, number)->ready <= core->clock;
}

/* The mispredicted branch or jump has its outcome in that cycle: fetch begins anew. */
static inline void fetch_anew(struct refcore *core, uint64_t ready)
{
	core->fetch_from = ready + core->processor->front_end;
	core->fetch_part = REFCORE_BRANCH;
}

/* issue.c: ready micro-operations go to free ports, oldest first; how many did. */
uint32_t refcore_issue(struct refcore *core);

/* dispatch.c: as many of the next instructions enter as there is width and room for in this cycle; how many did. */
size_t refcore_dispatch(
	struct refcore *core, const struct code *codes, const struct micro_op *ops, size_t count);

#endif
