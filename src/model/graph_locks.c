/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks of several instances: which of them a thread takes, and which it gives back. It draws one above those that it holds, so
 * that threads do not wait for one another in a circle, as often as others lock that one.
 */
#include "base/mem.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <stdlib.h>

void held_release(struct held_locks *held)
{
	free(held->items);
	*held = (struct held_locks){ 0 };
}

/* The least instance above those of a lock that the thread holds; beyond the last one if it holds that. */
static uint32_t first_above(const struct held_locks *held, uint32_t first)
{
	uint32_t above = first;
	for (size_t i = 0; i < held->count; i++) {
		const struct held *one = &held->items[i];
		if (one->first == first && one->instance != MODEL_NONE && one->instance >= above)
			above = one->instance + 1;
	}
	return above;
}

/* One of a lock's instances from a number on, as often as others lock it. */
static uint32_t draw_by_shares(
	struct rng *rng, const struct graph_fragment *fragment, uint32_t from)
{
	uint32_t known = fragment->share_count;
	double below = from > 0 && from < known ? fragment->up_to[from - 1] : 0;
	if (from < known) {
		double at = below + rng_uniform(rng) * (1 - below);
		for (; from < known; from++)
			if (at < fragment->up_to[from])
				return from;
	}
	/* What is left of 1 by rounding is the last one's. */
	return from < fragment->instances
		       ? from + (uint32_t)rng_below(rng, fragment->instances - from)
		       : known - 1;
}

int held_draw(struct held_locks *held, struct rng *rng, const struct graph_fragment *fragment,
	uint32_t *ret)
{
	if (mem_grow(&held->items, &held->capacity, held->count + 1, sizeof *held->items) < 0)
		return -ENOMEM;
	uint32_t from = first_above(held, fragment->object) - fragment->object;
	*ret = from < fragment->instances ? fragment->object + draw_by_shares(rng, fragment, from)
					  : (uint32_t)MODEL_NONE;
	held->items[held->count++] = (struct held){ fragment->object, *ret };
	return 0;
}

uint32_t held_drop(struct held_locks *held, uint32_t first)
{
	for (size_t i = held->count; i-- > 0;) {
		uint32_t instance = held->items[i].instance;
		if (held->items[i].first != first)
			continue;
		for (held->count--; i < held->count; i++)
			held->items[i] = held->items[i + 1];
		return instance;
	}
	return first;
}
