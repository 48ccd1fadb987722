/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash map, against an array that a scan looks through. */
#include "base/map.h"
#include "base/rng.h"
#include "cmocka_all.h"

#include <string.h>

enum { KEYS = 300, STEPS = 100000 };

static void it_holds_what_was_added_and_not_removed(void **state)
{
	(void)state;
	struct map map = { 0 };
	struct rng rng;
	bool is_there[KEYS] = { false };
	size_t count = 0;
	rng_init(&rng, 1);
	for (int step = 0; step < STEPS; step++) {
		uint64_t key = rng_below(&rng, KEYS), *value;
		if (rng_below(&rng, 2)) {
			int code = map_add(&map, key % 7, key << 12, key, &value);
			assert_int_equal(code, !is_there[key]);
			assert_int_equal(*value, key);
			count += !is_there[key];
			is_there[key] = true;
		} else {
			assert_int_equal(map_remove(&map, key % 7, key << 12), is_there[key]);
			count -= is_there[key];
			is_there[key] = false;
		}
		assert_int_equal(map.count, count);
		key = rng_below(&rng, KEYS);
		value = map_find(&map, key % 7, key << 12);
		assert_int_equal(value != NULL, is_there[key]);
		assert_true(!value || *value == key);
	}
	map_release(&map);
}

static void an_empty_map_has_no_keys(void **state)
{
	(void)state;
	struct map map = { 0 };
	assert_null(map_find(&map, 0, 0));
	assert_false(map_remove(&map, 0, 0));
	map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_holds_what_was_added_and_not_removed),
		cmocka_unit_test(an_empty_map_has_no_keys),
	};
	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
