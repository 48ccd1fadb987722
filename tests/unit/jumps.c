/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profiler's predictors of indirect jumps. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "plugin/jumps.h"

enum { JUMPS = 10000, SITE = 0x1000, TARGETS = 0x2000 };

struct misses {
	unsigned by_last, by_path[JUMPS_SIZES];
};

/* A loop that jumps to target of(n) in round n. */
static struct misses follow(uint64_t (*of)(unsigned n, struct rng *rng))
{
	struct jumps jumps = { 0 };
	struct misses misses = { 0 };
	struct rng rng;
	rng_init(&rng, 1);
	for (unsigned n = 0; n < JUMPS; n++) {
		uint64_t target = TARGETS + 16 * of(n, &rng);
		struct jump_foretold foretold = jumps_follow(&jumps, SITE, target);
		misses.by_last += !foretold.by_last;
		for (unsigned i = 0; i < JUMPS_SIZES; i++)
			misses.by_path[i] += !foretold.by_path[i];
		jumps_take(&jumps, target);
		jumps_take(&jumps, SITE - 64);
	}
	jumps_free(&jumps);
	return misses;
}

static uint64_t always_one(unsigned n, struct rng *rng)
{
	(void)n;
	(void)rng;
	return 1;
}

/* As a bytecode's interpreter in a loop of seven instructions, four of them different. */
static uint64_t a_loop_of_seven(unsigned n, struct rng *rng)
{
	static const uint64_t loop[] = { 1, 2, 1, 3, 1, 2, 4 };
	(void)rng;
	return loop[n % 7];
}

static uint64_t one_of_four(unsigned n, struct rng *rng)
{
	(void)n;
	return rng_below(rng, 4);
}

static void the_last_target_is_enough_for_one(void **state)
{
	(void)state;
	struct misses misses = follow(always_one);
	assert_int_equal(misses.by_last, 1);
	assert_in_range(misses.by_path[JUMPS_SIZES - 1], 1, 10); /* until the paths are known */
}

static void the_path_tells_where_in_the_loop(void **state)
{
	(void)state;
	struct misses misses = follow(a_loop_of_seven);
	assert_int_equal(misses.by_last, JUMPS);
	assert_in_range(misses.by_path[JUMPS_SIZES - 1], 1, 60);
}

static void nobody_foretells_chance(void **state)
{
	(void)state;
	struct misses misses = follow(one_of_four);
	assert_in_range(misses.by_last, JUMPS * 73 / 100, JUMPS * 77 / 100);
	assert_in_range(misses.by_path[JUMPS_SIZES - 1], JUMPS * 70 / 100, JUMPS * 80 / 100);
}

/* As many paths as targets, and each of them tells the next. */
static uint64_t many_in_turn(unsigned n, struct rng *rng)
{
	(void)rng;
	return n * 37 % 128;
}

static void a_small_predictor_forgets_many_paths(void **state)
{
	(void)state;
	struct misses misses = follow(many_in_turn);
	assert_in_range(misses.by_path[0], 1, JUMPS / 20); /* 2048 places */
	assert_in_range(misses.by_path[JUMPS_SIZES - 1], JUMPS / 2, JUMPS); /* 32 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_target_is_enough_for_one),
		cmocka_unit_test(the_path_tells_where_in_the_loop),
		cmocka_unit_test(nobody_foretells_chance),
		cmocka_unit_test(a_small_predictor_forgets_many_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
