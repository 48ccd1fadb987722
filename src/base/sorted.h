/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary search in a sorted array, for those who ask where something would be (else: bsearch). */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many items are before the key, which is where it is or would be. Those that are come first in the
 * array. Inline, so that the comparison is.
 */
static inline size_t sorted_before(const void *items, size_t count, size_t item_bytes,
	bool (*is_before)(const void *item, const void *key), const void *key)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_before((const char *)items + middle * item_bytes, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
