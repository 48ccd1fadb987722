/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A hash map from a pair of numbers (process and thread, kind and address, ...) to a number, which
 * is usually an index into an array. { 0 } is empty. Open addressing with linear probing, at most
 * three quarters full; the order of iteration depends on the keys and on nothing else.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t a, b; /* the key */
	uint64_t value;
	bool is_used;
};

struct map {
	struct map_slot *slots;
	size_t slot_count; /* 0 or a power of 2 */
	size_t count;
};

/* The value of a key, or NULL; valid until the map is changed. */
uint64_t *map_find(const struct map *map, uint64_t a, uint64_t b);

/*
 * The value of a key, added as `value` if it was not there. 1: added, 0: it was there, -ENOMEM:
 * nothing has changed. *ret is valid until the map is changed.
 */
int map_add(struct map *map, uint64_t a, uint64_t b, uint64_t value, uint64_t **ret);

/* True if the key was there. */
bool map_remove(struct map *map, uint64_t a, uint64_t b);

void map_release(struct map *map);

#endif
