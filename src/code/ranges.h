/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of many stretches of addresses holds an address: sorted once, then found by bisection. */
#ifndef CODE_RANGES_H
#define CODE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start, end;
	uint64_t reach; /* the last end of this one and of all before it */
	size_t index; /* of what it is the range of */
	uint8_t rank;
};

/* { 0 } is empty. */
struct ranges {
	struct range *items;
	size_t count, capacity;
};

void ranges_release(struct ranges *ranges);

/* 0 or -ENOMEM. `end` is not in it. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint8_t rank, size_t index);

/* After all were added, before any is looked for. */
void ranges_sort(struct ranges *ranges);

/*
 * Of those that hold the address the one that begins last, then the shortest, then of the highest rank, then of the lowest
 * index; NULL: none. Takes longer only where many overlap.
 */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

/* The last that begins at the address or before it; NULL: none. */
const struct range *ranges_before(const struct ranges *ranges, uint64_t address);

#endif
