/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which runs are made, in which order, and how long the rest will take. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "collect/schedule.h"

#include <math.h>
#include <string.h>

static const uint32_t counts[] = { 1, 2, 4, 8 };

static void every_count_and_repeat_is_there_once(void **state)
{
	(void)state;
	struct schedule s;
	assert_int_equal(schedule_init(&s, counts, ARRAY_SIZE(counts), 3), 0);
	struct rng rng;
	rng_init(&rng, 7);
	schedule_shuffle(&s, &rng);
	assert_int_equal(s.count, 12);
	unsigned seen[9][3] = { { 0 } };
	for (size_t i = 0; i < s.count; i++)
		seen[s.runs[i].threads][s.runs[i].repeat]++;
	for (size_t c = 0; c < ARRAY_SIZE(counts); c++)
		for (unsigned r = 0; r < 3; r++)
			assert_int_equal(seen[counts[c]][r], 1);
	schedule_release(&s);
}

static void a_seed_decides_the_order(void **state)
{
	(void)state;
	struct schedule s[3];
	static const uint64_t seeds[] = { 1, 1, 2 };
	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		assert_int_equal(schedule_init(&s[i], counts, ARRAY_SIZE(counts), 5), 0);
		struct rng rng;
		rng_init(&rng, seeds[i]);
		schedule_shuffle(&s[i], &rng);
	}
	size_t bytes = s[0].count * sizeof *s[0].runs;
	assert_memory_equal(s[0].runs, s[1].runs, bytes);
	assert_memory_not_equal(s[0].runs, s[2].runs, bytes);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		schedule_release(&s[i]);
}

static void what_was_measured_before_is_taken_out(void **state)
{
	(void)state;
	struct schedule s;
	assert_int_equal(schedule_init(&s, counts, ARRAY_SIZE(counts), 2), 0);
	assert_true(schedule_remove(&s, 4, 1));
	assert_false(schedule_remove(&s, 4, 1));
	assert_false(schedule_remove(&s, 16, 0));
	assert_int_equal(s.count, 7);
	for (size_t i = 0; i < s.count; i++)
		assert_false(s.runs[i].threads == 4 && s.runs[i].repeat == 1);
	for (size_t c = 0; c < ARRAY_SIZE(counts); c++)
		for (uint32_t r = 0; r < 2; r++)
			(void)schedule_remove(&s, counts[c], r);
	assert_null(schedule_current(&s));
	schedule_release(&s);
}

static void time_left_is_that_of_the_nearest_count(void **state)
{
	(void)state;
	static const uint32_t two[] = { 1, 8 };
	struct schedule s;
	assert_int_equal(schedule_init(&s, two, 2, 2), 0);
	assert_true(isnan(schedule_left_s(&s)));
	assert_int_equal(schedule_current(&s)->threads, 1);
	schedule_advance(&s, 8);
	/* 8, 1, 8 are left; only 1 thread is known. */
	assert_true(fabs(schedule_left_s(&s) - 24) < 1e-9);
	schedule_advance(&s, 2);
	assert_true(fabs(schedule_left_s(&s) - 10) < 1e-9);
	schedule_advance(&s, 6);
	assert_true(fabs(schedule_left_s(&s) - 2) < 1e-9);
	schedule_advance(&s, 2);
	assert_true(schedule_left_s(&s) == 0);
	assert_null(schedule_current(&s));
	schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_count_and_repeat_is_there_once),
		cmocka_unit_test(a_seed_decides_the_order),
		cmocka_unit_test(what_was_measured_before_is_taken_out),
		cmocka_unit_test(time_left_is_that_of_the_nearest_count),
	};
	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
