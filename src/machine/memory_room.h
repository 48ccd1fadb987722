/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory to measure caches with: loads at random in sets of it, and what the TLB adds to them. */
#ifndef MACHINE_MEMORY_ROOM_H
#define MACHINE_MEMORY_ROOM_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROOM_LINE = 64,
	ROOM_PAGE = 4096,
	ROOM_STEPS = 4000, /* loads of a try: below a millisecond */
};

/* { 0 } is empty; a set of it is its first so many bytes. */
struct room {
	char *at, *mapped;
	size_t bytes, mapped_bytes;
};

/* Zeros that have their pages. `advice`: of madvise(2), 0 for pages as anybody gets them. 0 or -ENOMEM. */
int room_map(struct room *room, size_t bytes, int advice);
void room_release(struct room *room); /* for AUTO_RELEASE(room) */

/* Offsets of lines at random, the same ones for the same state (Knuth's linear congruential generator). */
size_t room_next(uint64_t *state, uint64_t lines);

/*
 * Nanoseconds of a load at random in a set: each address is known when the load before has brought its zero; what is added to it
 * is worked out ahead.
 */
double room_walk_ns(const struct room *room, size_t bytes, uint64_t *state);

/*
 * Puts a set into the caches as far as it fits: all its lines, which reaches a large cache soonest, then some at random,
 * since a small one may not keep what was read in order.
 */
void room_warm(const struct room *room, size_t bytes, uint64_t *state);

/* Takes a line out of all caches; false: this processor does not let programs do so. */
bool room_flush(void *at);

/* What the TLB adds to loads at random in a set: one line of each of its pages, less as many lines side by side. */
double room_translation_ns(const struct room *room, size_t bytes, uint64_t *state);

/* The same in sets of 16 pages and twice as many each time. */
enum { ROOM_OCTAVES = 11 };
struct room_translations {
	double ns[ROOM_OCTAVES];
};
void room_translations(const struct room *room, uint64_t *state, struct room_translations *ret);

/* Linear in the logarithm of the set in between, beyond both ends as there. */
double room_translation_at(const struct room_translations *translations, uint64_t bytes);

#endif
