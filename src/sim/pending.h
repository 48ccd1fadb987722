/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is to come, first things first: a 4-ary heap of numbers of 128 bits, which hold a key (a time, or
 * a virtual time), the number of the order in which it was set, which breaks ties, and a slot, whose
 * place in the heap is known: a slot is in the heap at most once and can be moved or taken out.
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

struct pending {
	unsigned __int128 *entries;
	size_t count, capacity;
};

/* Where slots are in a heap: 0 nowhere, else index + 1. Several heaps may share one. */
struct pending_index {
	uint32_t *places;
	size_t capacity;
};

static inline uint64_t pending_key(unsigned __int128 entry)
{
	return (uint64_t)(entry >> 64);
}

static inline uint32_t pending_slot(unsigned __int128 entry)
{
	return (uint32_t)entry & (PENDING_SLOTS_MAX - 1);
}

/* Sets a slot's key, moving it if it is in the heap. 0 or -ENOMEM. */
int pending_set(struct pending *pending, struct pending_index *index, uint32_t slot, uint64_t key,
	uint64_t order);

/* Takes a slot out; nothing if it is not there. */
void pending_remove(struct pending *pending, struct pending_index *index, uint32_t slot);

void pending_release(struct pending *pending);

#endif
