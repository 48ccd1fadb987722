/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core's instruction lines. Where the processor fetches ahead, the lines that followed this one the last time, the next
 * ones where none is known, are asked for as far ahead as it says: what a front end does that runs down the predicted path
 * before its decoder, with a table of targets of its own (Reinman, Austin and Calder, "A scalable front-end architecture
 * for fast instruction delivery", ISCA 1999).
 */
#ifndef BENCH_REFSIM_FETCH_H
#define BENCH_REFSIM_FETCH_H

#include "bench/refsim/memory.h"

struct reffetch;

/* Borrows the rest. NULL: no memory. */
struct reffetch *reffetch_new(
	const struct processor *processor, struct refmemory *memory, uint32_t core);
void reffetch_free(struct reffetch *fetch);
CLEANUP_DEFINE(reffetch, reffetch_free)

/* The cycle at which the line of `address`, which the front end comes upon at `cycle`, is there. */
uint64_t reffetch_line(struct reffetch *fetch, uint64_t address, uint64_t cycle);

#endif
