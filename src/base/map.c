/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear probing; removal moves later keys of the run back, so that there are no tombstones. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS_MIN = 16 };

/* Multiplies and folds the halves: every bit of the key reaches the low bits. */
static size_t home_of(const struct map *map, uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ b ^ hash >> 32) * 0xd6e8feb86659fd93u;
	return (size_t)(hash ^ hash >> 32) & (map->slot_count - 1);
}

/* Where the key is, or the free slot where it would be. The map has slots. */
static struct map_slot *probe(const struct map *map, uint64_t a, uint64_t b)
{
	size_t at = home_of(map, a, b);
	while (map->slots[at].is_used && (map->slots[at].a != a || map->slots[at].b != b))
		at = (at + 1) & (map->slot_count - 1);
	return &map->slots[at];
}

uint64_t *map_find(const struct map *map, uint64_t a, uint64_t b)
{
	if (map->count == 0)
		return NULL;
	struct map_slot *slot = probe(map, a, b);
	return slot->is_used ? &slot->value : NULL;
}

static int grow(struct map *map)
{
	struct map grown = { .slot_count = map->slot_count ? 2 * map->slot_count : SLOTS_MIN,
		.count = map->count };
	grown.slots = calloc(grown.slot_count, sizeof *grown.slots);
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].is_used)
			*probe(&grown, map->slots[i].a, map->slots[i].b) = map->slots[i];
	free(map->slots);
	*map = grown;
	return 0;
}

int map_add(struct map *map, uint64_t a, uint64_t b, uint64_t value, uint64_t **ret)
{
	uint64_t *found = map_find(map, a, b);
	if (found) {
		*ret = found;
		return 0;
	}
	if (map->count >= map->slot_count / 4 * 3 && grow(map) < 0)
		return -ENOMEM;
	struct map_slot *slot = probe(map, a, b);
	*slot = (struct map_slot){ .a = a, .b = b, .value = value, .is_used = true };
	map->count++;
	*ret = &slot->value;
	return 1;
}

bool map_remove(struct map *map, uint64_t a, uint64_t b)
{
	uint64_t *found = map_find(map, a, b);
	if (!found)
		return false;
	size_t mask = map->slot_count - 1;
	size_t hole = (size_t)(probe(map, a, b) - map->slots);
	for (size_t at = (hole + 1) & mask; map->slots[at].is_used; at = (at + 1) & mask) {
		size_t home = home_of(map, map->slots[at].a, map->slots[at].b);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue; /* it would stand before its home */
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole] = (struct map_slot){ 0 };
	map->count--;
	return true;
}

void map_release(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}
