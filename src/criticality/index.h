/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Indices into arrays of fewer than INDEX_NONE elements, by pairs of numbers: a map (base/map.h) and,
 * in front of it, what was found last, since a timeline is about few things at a time. { 0 } is empty.
 */
#ifndef CRITICALITY_INDEX_H
#define CRITICALITY_INDEX_H

#include "base/map.h"

#include <errno.h>

enum { INDEX_NONE = UINT32_MAX, INDEX_RECENT = 64 };

struct index_recent {
	uint64_t a, b;
	uint32_t after; /* the index plus one; 0: empty */
};

struct index {
	struct map map;
	struct index_recent recent[INDEX_RECENT];
};

/* Where a pair would be among the recent ones. Addresses differ above their lowest bits. */
static inline struct index_recent *index_recent(struct index *index, uint64_t a, uint64_t b)
{
	return &index->recent[(a ^ a >> 5 ^ a >> 11 ^ b) % INDEX_RECENT];
}

/* The index stored for a pair, or INDEX_NONE. */
static inline uint32_t index_find(struct index *index, uint64_t a, uint64_t b)
{
	struct index_recent *recent = index_recent(index, a, b);
	if (recent->after > 0 && recent->a == a && recent->b == b)
		return recent->after - 1;
	const uint64_t *found = map_find(&index->map, a, b);
	if (!found)
		return INDEX_NONE;
	*recent = (struct index_recent){ a, b, (uint32_t)*found + 1 };
	return (uint32_t)*found;
}

/* The same without remembering it. */
static inline uint32_t index_find_rarely(const struct index *index, uint64_t a, uint64_t b)
{
	const uint64_t *found = map_find(&index->map, a, b);
	return found ? (uint32_t)*found : INDEX_NONE;
}

/* Stores an index for a pair that is not there. 0 or -ENOMEM (also: too many). */
static inline int index_add(struct index *index, uint64_t a, uint64_t b, size_t value)
{
	uint64_t *stored;
	return value >= INDEX_NONE || map_add(&index->map, a, b, value, &stored) < 0 ? -ENOMEM : 0;
}

/* Forgets a pair, if it is there. */
static inline void index_remove(struct index *index, uint64_t a, uint64_t b)
{
	index_recent(index, a, b)->after = 0;
	(void)map_remove(&index->map, a, b);
}

static inline void index_release(struct index *index)
{
	map_release(&index->map);
	*index = (struct index){ 0 };
}

#endif
