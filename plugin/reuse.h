/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reuse distances, sampled as StatStack does (Eklov and Hagersten, "StatStack: Efficient modeling of LRU
 * caches", ISPASS 2010): an access picked at random is watched until its line is accessed again. Watches of all
 * threads are in one table, so that reuse by another thread is seen: the distance to the next access by any
 * thread is of scope RAW_GLOBAL, that to the next by the same thread of scope RAW_PRIVATE, infinite if another has
 * written in between, or would have, had the threads run side by side (sharing.h). A sample counts as many accesses as were not sampled for it.
 *
 * First touches, whose distance is infinite too, are counted on lines that a hash selects, exactly.
 *
 * Each access costs one look at a filter of bits.
 */
#ifndef PLUGIN_REUSE_H
#define PLUGIN_REUSE_H

#include "thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { REUSE_LINE_BITS = 6, REUSE_FILTER_BITS = 19 };

enum { REUSE_FILTER_WORDS = 1 << (REUSE_FILTER_BITS - 6) };

/* A bit for each hash. Lines beside one another are bits of one word, so that the filter is near when the data is. */
extern uint64_t reuse_filter[REUSE_FILTER_WORDS];

/* That, or while somebody wants to see each access (reuse_tell_all()), one with all bits. */
extern const uint64_t *reuse_told;

static inline uint64_t reuse_word(uint64_t line)
{
	return (line >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - REUSE_FILTER_BITS + 6);
}

static inline uint32_t reuse_hash(uint64_t line)
{
	return (uint32_t)(reuse_word(line) << 6 | (line & 63));
}

/* Whether the line may be watched. */
static inline bool reuse_filtered(uint64_t line)
{
	return reuse_filter[reuse_word(line)] >> (line & 63) & 1;
}

/* Whether an access to the line is to be looked at. */
static inline bool reuse_is_told(uint64_t line)
{
	return reuse_told[reuse_word(line)] >> (line & 63) & 1;
}

/* Whether one to the lines from the first address to the last is, which are less than a page apart. */
static inline bool reuse_any_is_told(uint64_t first, uint64_t last)
{
	uint64_t from = first >> REUSE_LINE_BITS, to = last >> REUSE_LINE_BITS;
	uint64_t mask = (UINT64_C(2) << (to & 63)) - (UINT64_C(1) << (from & 63));
	return (reuse_told[reuse_word(from)] & mask) || (from ^ to) >> 6;
}

/* Each access is told from now on, until as many calls with false. */
void reuse_tell_all(bool begins);

/* Before anything else. */
void reuse_init(void);

/* The thread enters the stretch of vcpu->sum; leaves it; ends. */
void reuse_enter(struct vcpu *vcpu);
void reuse_leave(struct vcpu *vcpu);
void reuse_end(struct vcpu *vcpu);

/*
 * The thread accesses a line that may be watched: its access number `clock`. `again`: goes on with the access
 * that it has just made to the line.
 */
void reuse_access(struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock,
	bool is_store, bool again);

/* The access is the one to be sampled. */
void reuse_sample(
	struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock, bool is_store);

/* All lines of the page that `line` is in may be watched until as many calls of the second; by any thread. */
void reuse_watch_page(uint64_t line);
void reuse_unwatch_page(uint64_t line);

/* Adds to the thread's table: weight accesses of `sum` by `code`, at a distance. */
void reuse_add(struct thread *thread, struct sum *sum, uint32_t code, enum raw_scope scope,
	unsigned bin, double weight);

/* Writes the thread's table and empties it, but for what is not known before its end. */
void reuse_write(struct thread *thread, bool is_end);

/* In the child of a fork. */
void reuse_forked(void);

/* How many other threads have written a line that one finds written so soon, on average; 0: none was. */
double reuse_writers(void);

/* Samples taken, samples dropped, and accesses for each one taken. */
void reuse_quality(uint64_t *ret_samples, double *ret_rate);

#endif
