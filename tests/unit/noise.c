/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spread of repeats, and how many runs it asks for. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "base/rng.h"
#include "collect/noise.h"

#include <math.h>
#include <stdlib.h>

static void one_run_each_says_nothing_and_asks_for_three(void **state)
{
	(void)state;
	struct noise_sample samples[] = { { 2, 5 }, { 1, 9 } };
	struct noise_point *points = NULL;
	size_t count = 0;
	assert_int_equal(noise_estimate(samples, 2, &points, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(points[0].threads, 1);
	assert_true(points[0].median == 9);
	assert_true(isnan(points[0].spread) && isnan(points[0].median_error));
	assert_int_equal(points[0].wanted_runs, NOISE_MIN_RUNS);
	free(points);
}

static void equal_runs_have_no_spread_and_want_no_more(void **state)
{
	(void)state;
	struct noise_sample samples[] = { { 4, 2 }, { 4, 2 }, { 4, 2 } };
	struct noise_point *points = NULL;
	size_t count = 0;
	assert_int_equal(noise_estimate(samples, 3, &points, &count), 0);
	assert_int_equal(count, 1);
	assert_true(points[0].spread == 0 && points[0].median_error == 0);
	assert_int_equal(points[0].wanted_runs, 3);
	free(points);
}

static void an_even_number_of_runs_has_the_middle_as_median(void **state)
{
	(void)state;
	struct noise_sample samples[] = { { 4, 10 }, { 4, 1 }, { 4, 2 }, { 4, 4 } };
	struct noise_point *points = NULL;
	size_t count = 0;
	assert_int_equal(noise_estimate(samples, 4, &points, &count), 0);
	assert_true(points[0].median == 3);
	free(points);
}

/* Mean estimate over many sets of runs with a known spread of 5%. */
static double mean_spread(unsigned runs, double outlier)
{
	enum { SETS = 2000, COUNTS = 6, RUNS_MAX = 12 };
	struct rng rng;
	rng_init(&rng, 11 + runs);
	double sum = 0;
	for (int set = 0; set < SETS; set++) {
		struct noise_sample samples[COUNTS * RUNS_MAX];
		size_t n = 0;
		for (uint32_t c = 0; c < COUNTS; c++)
			for (unsigned r = 0; r < runs; r++)
				samples[n++] = (struct noise_sample){ c + 1,
					100 * (1 + 0.05 * rng_normal(&rng)) };
		samples[0].value *= outlier;
		struct noise_point *points = NULL;
		size_t count = 0;
		assert_int_equal(noise_estimate(samples, n, &points, &count), 0);
		assert_int_equal(count, COUNTS);
		for (size_t i = 0; i < count; i++)
			sum += points[i].spread;
		free(points);
	}
	return sum / SETS / COUNTS;
}

static void a_known_spread_is_found(void **state)
{
	(void)state;
	/* The median variance of few runs is low against its mean, hence the room below. */
	static const unsigned runs[] = { 2, 3, 5, 10 };
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		double spread = mean_spread(runs[i], 1);
		assert_true(spread > 0.04 && spread < 0.055);
	}
}

static void one_run_far_off_does_not_decide(void **state)
{
	(void)state;
	assert_true(mean_spread(5, 10) < 1.15 * mean_spread(5, 1));
}

static void noisy_counts_want_more_runs_than_quiet_ones(void **state)
{
	(void)state;
	struct noise_sample samples[] = { { 1, 100 }, { 1, 100.1 }, { 1, 99.9 }, { 2, 60 },
		{ 2, 60.1 }, { 2, 59.9 }, { 4, 30 }, { 4, 40 }, { 4, 20 } };
	struct noise_point *points = NULL;
	size_t count = 0;
	assert_int_equal(noise_estimate(samples, ARRAY_SIZE(samples), &points, &count), 0);
	assert_int_equal(points[0].wanted_runs, 3);
	assert_int_equal(points[1].wanted_runs, 3);
	assert_int_equal(points[2].wanted_runs, NOISE_MAX_RUNS);
	free(points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run_each_says_nothing_and_asks_for_three),
		cmocka_unit_test(equal_runs_have_no_spread_and_want_no_more),
		cmocka_unit_test(an_even_number_of_runs_has_the_middle_as_median),
		cmocka_unit_test(a_known_spread_is_found),
		cmocka_unit_test(one_run_far_off_does_not_decide),
		cmocka_unit_test(noisy_counts_want_more_runs_than_quiet_ones),
	};
	return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
