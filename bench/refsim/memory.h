/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference simulator's memory: caches (refcache.h) with times. A line that is on its way is waited for, not asked for
 * again, and goes from core to core one transfer after the other; what a core asks for while a line comes to it from
 * another one is served before the line goes on. A line that others have, too, is written when they have dropped it, which takes
 * as long as a transfer; it can be read meanwhile. Each private level has so many misses outstanding at a time; memory
 * hands over so many lines in a stretch of time. Cores may be asked out of step by some hundred cycles: lines are booked into the window of
 * their time, so that who is ahead does not delay who is behind.
 */
#ifndef BENCH_REFSIM_MEMORY_H
#define BENCH_REFSIM_MEMORY_H

#include "bench/refsim/refcache.h"

enum { REFMEMORY_NONE = UINT32_MAX };

struct refmemory;

struct refmemory_answer {
	uint64_t ready; /* cycle at which the line is there */
	uint32_t level; /* that had it */
	bool is_refused; /* too many misses outstanding: ask again; nothing has happened */
	bool is_transfer; /* its line comes from another core, or that has to drop its copy */
};

/* Borrows the processor. 0, -ENOMEM, -EINVAL. */
int refmemory_new(
	const struct processor *processor, uint32_t cores, struct refmemory **ret, struct err *err);
void refmemory_free(struct refmemory *memory);
CLEANUP_DEFINE(refmemory, refmemory_free)

/* `code`: index of the instruction, for the prefetcher; REFMEMORY_NONE: none. */
struct refmemory_answer refmemory_access(struct refmemory *memory, uint32_t core, uint64_t address,
	enum refcache_kind kind, uint32_t code, uint64_t cycle);

/* Whether a line that the core has asked for is no longer near: another one has written it since, or it was evicted. */
bool refmemory_has_lost(const struct refmemory *memory, uint32_t core, uint64_t address);

const struct refcache *refmemory_caches(const struct refmemory *memory);

/* Lines that memory has handed over or taken back. */
uint64_t refmemory_lines(const struct refmemory *memory);

#endif
