/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/pending.h"

#include "base/mem.h"

#include <stdlib.h>

static void place(unsigned __int128 *entries, uint32_t *places, size_t at, unsigned __int128 entry)
{
	entries[at] = entry;
	places[pending_slot(entry)] = (uint32_t)at + 1;
}

static void sift_up(
	unsigned __int128 *entries, uint32_t *places, size_t at, unsigned __int128 entry)
{
	while (at > 0) {
		size_t parent = (at - 1) / 4;
		if (entry >= entries[parent])
			break;
		place(entries, places, at, entries[parent]);
		at = parent;
	}
	place(entries, places, at, entry);
}

/* The least of the children from `child` on. */
static size_t least_child(const unsigned __int128 *entries, size_t child, size_t count)
{
	size_t end = child + 4 < count ? child + 4 : count;
	size_t least = child;
	unsigned __int128 key = entries[child];
	for (size_t i = child + 1; i < end; i++) {
		bool is_less = entries[i] < key;
		least = is_less ? i : least;
		key = is_less ? entries[i] : key;
	}
	return least;
}

static void sift_down(unsigned __int128 *entries, uint32_t *places, size_t at, size_t count,
	unsigned __int128 entry)
{
	for (size_t child; (child = 4 * at + 1) < count;) {
		size_t least = least_child(entries, child, count);
		unsigned __int128 other = entries[least];
		if (entry <= other)
			break;
		place(entries, places, at, other);
		at = least;
	}
	place(entries, places, at, entry);
}

/* The first of up to five is set to a later time: no branch that could be guessed wrongly. */
static void exchange_first(
	unsigned __int128 *entries, uint32_t *places, size_t count, unsigned __int128 entry)
{
	size_t least = least_child(entries, 1, count);
	unsigned __int128 other = entries[least];
	bool is_later = entry > other;
	unsigned __int128 first = is_later ? other : entry, second = is_later ? entry : other;
	place(entries, places, 0, first);
	place(entries, places, least, second);
}

static int grow(struct pending *pending, struct pending_index *index, uint32_t slot)
{
	int code =
		mem_grow(&index->places, &index->capacity, (size_t)slot + 1, sizeof *index->places);
	return code < 0 ? code
			: mem_grow(&pending->entries, &pending->capacity, pending->count + 1,
				  sizeof *pending->entries);
}

int pending_set(struct pending *pending, struct pending_index *index, uint32_t slot, uint64_t key,
	uint64_t order)
{
	unsigned __int128 entry = (unsigned __int128)key << 64 | order << PENDING_SLOT_BITS | slot;
	uint32_t at = slot < index->capacity ? index->places[slot] : 0;
	unsigned __int128 *entries = pending->entries;
	if (at > 0) {
		if (at == 1 && pending->count - 2 <= 3)
			exchange_first(entries, index->places, pending->count, entry);
		else if (entry > entries[at - 1])
			sift_down(entries, index->places, at - 1, pending->count, entry);
		else
			sift_up(entries, index->places, at - 1, entry);
		return 0;
	}
	if (slot >= index->capacity || pending->count == pending->capacity) {
		int code = grow(pending, index, slot);
		if (code < 0)
			return code;
	}
	sift_up(pending->entries, index->places, pending->count++, entry);
	return 0;
}

void pending_remove(struct pending *pending, struct pending_index *index, uint32_t slot)
{
	uint32_t at = slot < index->capacity ? index->places[slot] : 0;
	if (at == 0)
		return;
	unsigned __int128 *entries = pending->entries, last = entries[--pending->count];
	index->places[slot] = 0;
	if (at - 1 == pending->count)
		return;
	if (at > 1 && last < entries[(at - 2) / 4])
		sift_up(entries, index->places, at - 1, last);
	else
		sift_down(entries, index->places, at - 1, pending->count, last);
}

void pending_release(struct pending *pending)
{
	free(pending->entries);
	*pending = (struct pending){ 0 };
}
