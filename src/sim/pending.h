/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is to come, first things first: a 4-ary heap of 16-byte entries. An entry is a key (a time, or
 * a virtual runtime), the number of the order in which it was set, which breaks ties, and a slot,
 * whose place in the heap is known: a slot is in the heap at most once and can be moved or taken out.
 *
 *	entry	| key: 64 bits | order: 40 bits | slot: 24 bits |
 *
 * The idea of a heap with an index beside it is that of cimba (A. B. Bonde), cmi_hashheap.h; our
 * slots are numbered densely, so the index is an array.
 */
#ifndef SIM_PENDING_H
#define SIM_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PENDING_SLOT_BITS = 24, PENDING_SLOTS_MAX = 1 << PENDING_SLOT_BITS };
#define PENDING_ORDER_MAX ((UINT64_C(1) << (64 - PENDING_SLOT_BITS)) - 1)

struct pending_entry {
	uint64_t key;
	uint64_t order_slot;
};

struct pending {
	struct pending_entry *entries;
	size_t count, capacity;
};

/* Where slots are in a heap: 0 nowhere, else index + 1. Several heaps may share one. */
struct pending_index {
	uint32_t *places;
	size_t capacity;
};

static inline uint32_t pending_slot(const struct pending_entry *entry)
{
	return (uint32_t)entry->order_slot & (PENDING_SLOTS_MAX - 1);
}

static inline bool pending_is_before(struct pending_entry a, struct pending_entry b)
{
	return (((unsigned __int128)a.key << 64) | a.order_slot) <
	       (((unsigned __int128)b.key << 64) | b.order_slot);
}

/* Sets a slot's key, moving it if it is in the heap. 0 or -ENOMEM. */
int pending_set(struct pending *pending, struct pending_index *index, uint32_t slot, uint64_t key,
	uint64_t order);

/* Takes a slot out; nothing if it is not there. */
void pending_remove(struct pending *pending, struct pending_index *index, uint32_t slot);

void pending_release(struct pending *pending);

#endif
