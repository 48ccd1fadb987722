/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/ranges.h"

#include "base/mem.h"
#include "base/sorted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void ranges_release(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint8_t rank, size_t index)
{
	if (mem_grow(&ranges->items, &ranges->capacity, ranges->count + 1,
		    sizeof ranges->items[0]) < 0)
		return -ENOMEM;
	ranges->items[ranges->count++] =
		(struct range){ .start = start, .end = end, .rank = rank, .index = index };
	return 0;
}

/* Who is to be preferred comes later. */
static int by_preference(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->index < y->index) - (x->index > y->index);
}

void ranges_sort(struct ranges *ranges)
{
	uint64_t reach = 0;
	if (ranges->count > 0)
		qsort(ranges->items, ranges->count, sizeof ranges->items[0], by_preference);
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->items[i].end > reach)
			reach = ranges->items[i].end;
		ranges->items[i].reach = reach;
	}
}

static bool starts_by(const void *range, const void *address)
{
	return ((const struct range *)range)->start <= *(const uint64_t *)address;
}

/* How many begin at an address or before it. */
static size_t count_to(const struct ranges *ranges, uint64_t address)
{
	return sorted_before(
		ranges->items, ranges->count, sizeof ranges->items[0], starts_by, &address);
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
	const struct range *items = ranges->items;
	for (size_t i = count_to(ranges, address); i > 0 && items[i - 1].reach > address; i--)
		if (items[i - 1].end > address)
			return &items[i - 1];
	return NULL;
}

const struct range *ranges_before(const struct ranges *ranges, uint64_t address)
{
	size_t count = count_to(ranges, address);
	return count > 0 ? &ranges->items[count - 1] : NULL;
}
