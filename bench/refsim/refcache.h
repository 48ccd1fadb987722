/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference for caches: every access of every core, in order, through real sets with exact LRU.
 *
 * Private levels first, then shared ones (struct cache.shared_by cores share one). Caches are write-back and
 * write-allocate; a line that is missed is filled into all levels that missed it, and an eviction from an outer level
 * leaves the inner ones alone (neither inclusive nor exclusive). Coherence is MESI: a write takes the line from
 * all other cores, a read makes it shared. No time passes here: refsim/core.h has the clock.
 */
#ifndef BENCH_REFSIM_REFCACHE_H
#define BENCH_REFSIM_REFCACHE_H

#include "base/cleanup.h"
#include "uarch/processor.h"

#include <stdbool.h>
#include <stdint.h>

struct refcache;

enum refcache_kind { REFCACHE_READ, REFCACHE_WRITE, REFCACHE_FETCH };

/* Where an access found its line. */
struct refcache_found {
	uint32_t level; /* 0: first level, ..., processor.level_count: memory */
	bool is_transfer; /* another core had written it and not given it back */
	bool is_upgrade; /* a write to a line that this core may only read until the others have dropped theirs */
};

/* How often, by level that had the line (processor.level_count: memory). */
struct refcache_counts {
	uint64_t accesses;
	uint64_t found[PROCESSOR_LEVELS_MAX + 1];
	uint64_t transfers; /* of the accesses beyond the private levels */
	uint64_t writes_back; /* lines to memory */
};

/* `cores` as the program has threads, whatever processor->cores. 0, -ENOMEM, -EINVAL (a size that is no
   multiple of a set). */
int refcache_new(
	const struct processor *processor, uint32_t cores, struct refcache **ret, struct err *err);
void refcache_free(struct refcache *caches);
CLEANUP_DEFINE(refcache, refcache_free)

struct refcache_found refcache_access(
	struct refcache *caches, uint32_t core, uint64_t address, enum refcache_kind kind);

/* Brings a line into a core's first level as a prefetcher would; not counted. What refcache_access()
   would have said. */
struct refcache_found refcache_prefetch(struct refcache *caches, uint32_t core, uint64_t address);

/* The level that has the line for this core's data, as it is; nothing changes. */
uint32_t refcache_level(const struct refcache *caches, uint32_t core, uint64_t address);

/* Of one core so far; data (reads and writes) or instructions. */
struct refcache_counts refcache_data(const struct refcache *caches, uint32_t core);
struct refcache_counts refcache_fetches(const struct refcache *caches, uint32_t core);

#endif
