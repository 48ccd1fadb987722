/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"
#include "base/rng.h"
#include "uarch/cache_sets.h"

#include <math.h>

static void assert_near(double is, double should, double within, const char *what)
{
	if (fabs(is - should) > within)
		fail_msg("%s: %.4f instead of %.4f", what, is, should);
}

static void sets_miss_as_the_binomial_says(void **state)
{
	(void)state;
	struct cache_sets cache = { 0 };
	double at[200];
	float miss[200];
	for (unsigned i = 0; i < 200; i++)
		at[i] = i;
	cache_sets_init(&cache, 64, 1, true);
	cache_sets_misses(&cache, 1e6, at, 199, miss);
	for (unsigned i = 0; i < 199; i++)
		assert_near(miss[i], 1 - pow(63.0 / 64, i + 0.5), 0.01, "direct mapped");
	/* 72 of 520 lines are in the 8 of 64 sets that have 9 lines for 8 ways. */
	cache_sets_init(&cache, 512, 8, true);
	cache_sets_misses(&cache, 520, (double[]){ 519, 519 }, 1, miss);
	assert_near(miss[0], 72.0 / 520, 1e-6, "a loop over 520 lines");
	cache_sets_misses(&cache, 510, (double[]){ 509, 509 }, 1, miss);
	assert_true(miss[0] == 0);
}

enum { SETS = 2048, WAYS = 8, LINES = SETS * WAYS, MOST = 2 * LINES, EMPTY = MOST };

/* Sets in which any line makes room. */
struct any_sets {
	unsigned held[SETS][WAYS]; /* EMPTY: nothing */
	struct rng rng;
};

static bool is_there(struct any_sets *sets, unsigned number, unsigned line)
{
	unsigned *set = sets->held[number], room = (unsigned)(rng_next(&sets->rng) % WAYS);
	for (unsigned way = 0; way < WAYS; way++)
		if (set[way] == line)
			return true;
		else if (set[way] == EMPTY)
			room = way;
	set[room] = line;
	return false;
}

/* The share that misses of `count` lines that lie anywhere, in a loop. */
static double simulate_loop(struct any_sets *sets, unsigned count)
{
	enum { ROUNDS = 40 };
	static unsigned place[MOST];
	double missed = 0;
	for (unsigned i = 0; i < count; i++)
		place[i] = (unsigned)(rng_next(&sets->rng) % SETS);
	for (unsigned i = 0; i < LINES; i++)
		sets->held[i % SETS][i / SETS] = EMPTY;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < count; i++)
			missed += !is_there(sets, place[i], i) && round >= ROUNDS / 2;
	return missed / (count * ROUNDS / 2);
}

static void sets_in_which_any_line_makes_room_miss_less_than_lru(void **state)
{
	(void)state;
	static const unsigned counts[] = { LINES / 2, LINES * 3 / 4, LINES, LINES * 5 / 4, MOST };
	static struct any_sets sets;
	struct cache_sets cache = { 0 };
	rng_init(&sets.rng, 5);
	cache_sets_init(&cache, LINES, WAYS, false);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		double at[2] = { counts[i] - 1, counts[i] - 1 };
		float miss;
		cache_sets_misses(&cache, counts[i], at, 1, &miss);
		assert_near(miss, simulate_loop(&sets, counts[i]), 0.012, "any line");
	}
}

/* Nearly as in simulated sets, whose lines it takes to be one set; left alone, half after a lifetime; both together more than either. */
static void what_others_use_too_wears_off(void **state)
{
	(void)state;
	static const unsigned counts[] = { LINES / 2, LINES * 5 / 4, MOST };
	static struct any_sets sets;
	struct cache_sets cache = { 0 };
	rng_init(&sets.rng, 5);
	cache_sets_init(&cache, LINES, WAYS, false);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		double own = cache_sets_miss_worn(&cache, counts[i] - 1, 0);
		assert_near(own, simulate_loop(&sets, counts[i]), 0.07, "own lines");
		double both = cache_sets_miss_worn(&cache, counts[i] - 1, 0.5);
		assert_true(both > own && both > cache_sets_miss_worn(&cache, 0, 0.5));
	}
	assert_near(cache_sets_miss_worn(&cache, 0, 1), 0.5, 1e-6, "a lifetime");
	assert_true(cache_sets_miss_worn(&cache, 0, 0) == 0);
	assert_true(cache_sets_miss_worn(&cache, 0, 0.2) < 0.03);
	assert_near(cache_sets_miss_worn(&cache, 100 * LINES, 100), 1, 1e-6, "all");
}

/* Of a column's lines 15 or 16 others are in the set of one, others anywhere; then those that fill all sets have room. */
static void who_walks_fills_the_sets_that_it_uses(void **state)
{
	(void)state;
	enum { ALL = 2048, USED = 32, EACH = 16 };
	struct cache_sets cache = { 0 };
	double rest[2] = { 0, 0 };
	float miss;
	cache_sets_init(&cache, ALL * EACH, EACH, true);
	static const struct {
		double lines, rest, population, miss;
	} cases[] = {
		{ USED * EACH - 1, 0, 1e6, 0 },
		{ USED * (EACH + 1) - 1, 0, 1e6, 1 },
		{ USED * EACH - 1, ALL, 1e6, 0.632 }, /* none of them comes to the set: 1 / e */
		{ USED * (EACH + 0.5) - 1, 0, 1e6, 0.5 },
		{ USED * (EACH - 1) - 1, 1.5 * ALL, ALL * EACH, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double own[2] = { cases[i].lines, cases[i].lines };
		rest[0] = rest[1] = cases[i].rest;
		cache_sets_misses_walking(&cache, cases[i].population, USED, own, rest, 1, &miss);
		assert_near(miss, cases[i].miss, 0.001, "a walk");
	}
}

static void full_caches_miss_from_their_size_on(void **state)
{
	(void)state;
	struct cache_sets cache = { 0 };
	float miss[1];
	cache_sets_init(&cache, 512, 0, true);
	cache_sets_misses(&cache, 1e6, (double[]){ 511, 511 }, 1, miss);
	assert_true(miss[0] == 0);
	cache_sets_misses(&cache, 1e6, (double[]){ 512, 512 }, 1, miss);
	assert_true(miss[0] == 1);
	cache_sets_misses(&cache, 1e6, (double[]){ 500, 524 }, 1, miss);
	assert_near(miss[0], 0.5, 1e-6, "over the edge");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_miss_as_the_binomial_says),
		cmocka_unit_test(sets_in_which_any_line_makes_room_miss_less_than_lru),
		cmocka_unit_test(what_others_use_too_wears_off),
		cmocka_unit_test(who_walks_fills_the_sets_that_it_uses),
		cmocka_unit_test(full_caches_miss_from_their_size_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
