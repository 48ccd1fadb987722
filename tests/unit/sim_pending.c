/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: the heap of what is to come, against a list that is searched. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "sim/pending.h"

#include <stdlib.h>

enum { SLOTS = 200, STEPS = 20000 };

struct naive {
	uint64_t key[SLOTS], order[SLOTS];
	bool is_set[SLOTS];
};

/* The slot that is first; SLOTS: none. */
static uint32_t first_of(const struct naive *naive)
{
	uint32_t first = SLOTS;
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!naive->is_set[i])
			continue;
		if (first == SLOTS || naive->key[i] < naive->key[first] ||
			(naive->key[i] == naive->key[first] &&
				naive->order[i] < naive->order[first]))
			first = i;
	}
	return first;
}

/* slots: few, so that the heap has one level, or many. Keys collide often. */
static void play(uint32_t slots, uint64_t seed)
{
	struct pending pending = { 0 };
	struct pending_index index = { 0 };
	struct naive naive = { 0 };
	struct rng rng;
	rng_init(&rng, seed);
	for (uint64_t order = 0; order < STEPS; order++) {
		uint32_t slot = (uint32_t)rng_below(&rng, slots);
		uint64_t action = rng_below(&rng, 8);
		if (action < 2 &&
			pending.count > 0) /* what the engine does most: the first is set later */
			slot = pending_slot(pending.entries[0]);
		if (action == 7) {
			pending_remove(&pending, &index, slot);
			naive.is_set[slot] = false;
		} else {
			naive.key[slot] = rng_below(&rng, 50);
			naive.order[slot] = order;
			naive.is_set[slot] = true;
			assert_int_equal(
				pending_set(&pending, &index, slot, naive.key[slot], order), 0);
		}
		uint32_t first = first_of(&naive);
		assert_int_equal(first == SLOTS, pending.count == 0);
		if (first == SLOTS)
			continue;
		assert_int_equal(pending_slot(pending.entries[0]), first);
		assert_int_equal(pending_key(pending.entries[0]), naive.key[first]);
	}
	pending_release(&pending);
	free(index.places);
}

static void the_first_is_always_the_first(void **state)
{
	(void)state;
	for (uint32_t slots = 1; slots <= 8; slots++)
		play(slots, slots);
	play(SLOTS, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_always_the_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
