/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jumps.h"

#include "hash.h"

#include <stdlib.h>

enum { SIZE_BITS = 2, SURE_MOST = 3 };

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

static unsigned bits_of(unsigned size)
{
	return JUMPS_MOST_BITS - SIZE_BITS * size;
}

/* Where the tables of the predictor of this size begin. */
static size_t first_of(unsigned size)
{
	size_t first = 0;
	for (unsigned i = 0; i < size; i++)
		first += (size_t)JUMPS_PATHS << bits_of(i);
	return first;
}

static struct jump_target *place_of(
	const struct jumps *jumps, unsigned size, unsigned path, uint64_t key)
{
	unsigned bits = bits_of(size);
	return &jumps->tables[first_of(size) + ((size_t)path << bits) + hash_bits(key, bits)];
}

static void learn(struct jump_target *known, uint64_t target)
{
	if (known->target == target)
		known->sure += known->sure < SURE_MOST;
	else if (known->sure > 0)
		known->sure--;
	else
		known->target = target;
}

/* What the predictor of this size says; then it learns. */
static bool follow(
	const struct jumps *jumps, unsigned size, const uint64_t keys[JUMPS_PATHS], uint64_t target)
{
	unsigned by = JUMPS_PATHS - 1;
	while (by > 0 && place_of(jumps, size, by, keys[by])->key != keys[by])
		by--;
	struct jump_target *says = place_of(jumps, size, by, keys[by]);
	bool is_right = says->key == keys[by] && says->target == target;
	learn(says, target);
	*place_of(jumps, size, 0, keys[0]) = (struct jump_target){ keys[0], target, 0 };
	for (unsigned i = by + 1; !is_right && i < JUMPS_PATHS; i++) {
		struct jump_target *longer = place_of(jumps, size, i, keys[i]);
		if (longer->sure == 0) {
			*longer = (struct jump_target){ keys[i], target, 1 };
			break;
		}
		longer->sure--;
	}
	return is_right;
}

struct jump_foretold jumps_follow(struct jumps *jumps, uint64_t code, uint64_t target)
{
	struct jump_foretold ret = { false, { false } };
	if (!jumps->tables &&
		!(jumps->tables = calloc(first_of(JUMPS_SIZES), sizeof(*jumps->tables))))
		return ret;
	uint64_t keys[JUMPS_PATHS];
	for (unsigned i = 0; i < JUMPS_PATHS; i++)
		keys[i] = path_key(jumps, code, path_lengths[i]);
	const struct jump_target *last = place_of(jumps, 0, 0, keys[0]);
	ret.by_last = last->key == keys[0] && last->target == target;
	for (unsigned size = 0; size < JUMPS_SIZES; size++)
		ret.by_path[size] = follow(jumps, size, keys, target);
	return ret;
}

void jumps_take(struct jumps *jumps, uint64_t target)
{
	jumps->path[jumps->taken++ % JUMPS_PATH_MOST] = target;
}

void jumps_free(struct jumps *jumps)
{
	free(jumps->tables);
	*jumps = (struct jumps){ 0 };
}
