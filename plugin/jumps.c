/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jumps.h"

#include "hash.h"

#include <stdlib.h>

/* Taken branches that count; the first is the last target's. */
static const uint32_t path_lengths[JUMPS_PATHS] = { 0, 4, JUMPS_PATH_MOST };

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t path_key(const struct jumps *jumps, uint64_t code, uint32_t length)
{
	uint64_t key = mix(length + 1, code);
	for (uint32_t i = 1; i <= length && i <= jumps->taken; i++)
		key = mix(key ^ key >> 32, jumps->path[(jumps->taken - i) % JUMPS_PATH_MOST]);
	return key | 1;
}

struct jump_foretold jumps_follow(struct jumps *jumps, uint64_t code, uint64_t target)
{
	struct jump_foretold ret = { false, false };
	if (!jumps->table &&
		!(jumps->table = calloc(1u << JUMPS_TABLE_BITS, sizeof(*jumps->table))))
		return ret;
	for (unsigned i = 0; i < JUMPS_PATHS; i++) {
		uint64_t key = path_key(jumps, code, path_lengths[i]);
		struct jump_target *known = &jumps->table[hash_bits(key, JUMPS_TABLE_BITS)];
		if (known->key == key)
			ret.by_path = known->target == target;
		if (i == 0)
			ret.by_last = ret.by_path;
		*known = (struct jump_target){ key, target };
	}
	return ret;
}

void jumps_take(struct jumps *jumps, uint64_t target)
{
	jumps->path[jumps->taken++ % JUMPS_PATH_MOST] = target;
}

void jumps_free(struct jumps *jumps)
{
	free(jumps->table);
	*jumps = (struct jumps){ 0 };
}
