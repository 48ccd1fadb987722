/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_jumps.h"

/* Taken branches that count; the first is the last target's. */
static const uint32_t path_lengths[CORE_PATHS] = { 0, 4, CORE_PATH_MOST };

static uint64_t path_hash(const struct core_jumps *jumps, uint32_t length)
{
	uint64_t hash = 0;
	for (uint32_t i = 1; i <= length && i <= jumps->taken; i++)
		hash = (hash ^ jumps->path[(jumps->taken - i) % CORE_PATH_MOST]) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

int core_jumps_follow(
	struct core_jumps *jumps, uint32_t code, uint32_t target, struct core_jump *ret)
{
	*ret = (struct core_jump){ .is_new = false };
	for (unsigned i = 0; i < CORE_PATHS; i++) {
		uint64_t *known = NULL;
		int rc = map_add(&jumps->targets[i], code, path_hash(jumps, path_lengths[i]),
			target, &known);
		if (rc < 0)
			return rc;
		if (rc == 1) { /* not met before: what a shorter path says stands */
			ret->is_new |= i == 0;
			continue;
		}
		ret->is_path = *known == target;
		if (i == 0)
			ret->is_last = ret->is_path;
		*known = target;
	}
	return 0;
}

void core_jumps_take(struct core_jumps *jumps, uint32_t target)
{
	jumps->path[jumps->taken++ % CORE_PATH_MOST] = target;
}

void core_jumps_release(struct core_jumps *jumps)
{
	for (unsigned i = 0; i < CORE_PATHS; i++)
		map_release(&jumps->targets[i]);
	*jumps = (struct core_jumps){ 0 };
}
