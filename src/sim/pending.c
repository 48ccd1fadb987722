/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/pending.h"

#include "base/mem.h"

#include <stdlib.h>

static void place(
	struct pending *pending, struct pending_index *index, size_t at, struct pending_entry entry)
{
	pending->entries[at] = entry;
	index->places[pending_slot(&entry)] = (uint32_t)at + 1;
}

static void sift_up(
	struct pending *pending, struct pending_index *index, size_t at, struct pending_entry entry)
{
	while (at > 0) {
		size_t parent = (at - 1) / 4;
		if (!pending_is_before(entry, pending->entries[parent]))
			break;
		place(pending, index, at, pending->entries[parent]);
		at = parent;
	}
	place(pending, index, at, entry);
}

static void sift_down(
	struct pending *pending, struct pending_index *index, size_t at, struct pending_entry entry)
{
	for (;;) {
		size_t child = 4 * at + 1;
		if (child >= pending->count)
			break;
		size_t end = child + 4 < pending->count ? child + 4 : pending->count;
		size_t least = child;
		for (size_t i = child + 1; i < end; i++)
			if (pending_is_before(pending->entries[i], pending->entries[least]))
				least = i;
		if (!pending_is_before(pending->entries[least], entry))
			break;
		place(pending, index, at, pending->entries[least]);
		at = least;
	}
	place(pending, index, at, entry);
}

int pending_set(struct pending *pending, struct pending_index *index, uint32_t slot, uint64_t key,
	uint64_t order)
{
	struct pending_entry entry = { key, order << PENDING_SLOT_BITS | slot };
	uint32_t at = slot < index->capacity ? index->places[slot] : 0;
	if (at > 0) {
		if (pending_is_before(pending->entries[at - 1], entry))
			sift_down(pending, index, at - 1, entry);
		else
			sift_up(pending, index, at - 1, entry);
		return 0;
	}
	int code =
		mem_grow(&index->places, &index->capacity, (size_t)slot + 1, sizeof *index->places);
	if (code == 0)
		code = mem_grow(&pending->entries, &pending->capacity, pending->count + 1,
			sizeof *pending->entries);
	if (code < 0)
		return code;
	sift_up(pending, index, pending->count++, entry);
	return 0;
}

void pending_remove(struct pending *pending, struct pending_index *index, uint32_t slot)
{
	uint32_t at = slot < index->capacity ? index->places[slot] : 0;
	if (at == 0)
		return;
	index->places[slot] = 0;
	struct pending_entry last = pending->entries[--pending->count];
	if (at - 1 == pending->count)
		return;
	if (at > 1 && pending_is_before(last, pending->entries[(at - 2) / 4]))
		sift_up(pending, index, at - 1, last);
	else
		sift_down(pending, index, at - 1, last);
}

void pending_release(struct pending *pending)
{
	free(pending->entries);
	*pending = (struct pending){ 0 };
}
