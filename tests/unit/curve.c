/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From runs to a curve: repeats merged, stall categories kept or dropped. */
#include "runs_text.h"

#include "base/rng.h"
#include "scaling/curve.h"

#include <math.h>

static struct curve *expect_curve(const char *text)
{
	AUTO(runs) struct runs *runs = expect_runs(text);
	struct curve *curve = NULL;
	assert_int_equal(curve_from_runs(runs, &curve, NULL), 0);
	return curve;
}

static void points_are_sorted_medians(void **state)
{
	(void)state;
	AUTO(curve)
	struct curve *curve = expect_curve(
		"threads,time,rss_bytes\n4,3,10\n1,9,\n4,100,30\n2,5,1\n4,2,20\n2,6,\n");
	assert_int_equal(curve->metric, METRIC_TIME);
	assert_int_equal(curve->point_count, 3);
	assert_int_equal(curve->points[0].threads, 1);
	assert_int_equal(curve->points[1].threads, 2);
	assert_int_equal(curve->points[2].threads, 4);
	assert_true(curve->points[0].value == 9);
	assert_true(curve->points[1].value == 5.5);
	assert_true(curve->points[2].value == 3);
	assert_true(isnan(curve->points[0].rss_bytes));
	assert_true(curve->points[1].rss_bytes == 1);
	assert_true(curve->points[2].rss_bytes == 20);
	assert_int_equal(curve->points[2].repeats, 3);
}

static void one_run_has_no_spread(void **state)
{
	(void)state;
	AUTO(curve) struct curve *curve = expect_curve("threads,time\n1,9\n2,5\n2,5\n");
	assert_true(isnan(curve->points[0].spread));
	assert_int_equal(curve->points[0].repeats, 1);
	assert_true(curve->points[1].spread == 0);
}

static void a_given_deviation_is_the_spread(void **state)
{
	(void)state;
	AUTO(curve)
	struct curve *curve = expect_curve("threads,value,stddev,n\n1,100,20,4\n2,50,0,1\n");
	assert_true(fabs(curve->points[0].spread - 0.1) < 1e-12);
	assert_int_equal(curve->points[0].repeats, 4);
	assert_true(isnan(curve->points[1].spread));
}

/* Mean of the spread over many sets of `repeats` runs with normal noise, over the truth. */
static double spread_bias(uint32_t repeats, double noise)
{
	enum { SETS = 2000 };
	struct rng rng;
	rng_init(&rng, repeats);
	AUTO(runs) struct runs *runs = runs_new(METRIC_TIME, NULL, 0);
	for (uint32_t set = 1; set <= SETS; set++)
		for (uint32_t i = 0; i < repeats; i++) {
			struct runs_row row = { .threads = set,
				.value = 100 * (1 + noise * rng_normal(&rng)) };
			assert_int_equal(runs_append(runs, &row), 0);
		}
	AUTO(curve) struct curve *curve = NULL;
	assert_int_equal(curve_from_runs(runs, &curve, NULL), 0);
	double spread = 0, squares = 0;
	for (size_t i = 0; i < SETS; i++) {
		spread += curve->points[i].spread / SETS;
		squares += pow(curve->points[i].value / 100 - 1, 2) / SETS;
	}
	return spread / sqrt(squares);
}

static void the_spread_is_the_error_of_the_median(void **state)
{
	(void)state;
	static const uint32_t repeats[] = { 2, 3, 4, 5, 7, 10, 30, 100 };
	for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
		double bias = spread_bias(repeats[i], 0.01);
		print_message("%u repeats: %.3f\n", repeats[i], bias);
		assert_true(bias > 0.93 && bias < 1.15);
	}
}

static void one_outlier_does_not_make_the_spread(void **state)
{
	(void)state;
	AUTO(curve)
	struct curve *curve = expect_curve(
		"threads,time\n1,10\n1,10.1\n1,9.9\n1,10.05\n1,9.95\n1,10.02\n1,9.98\n1,1000\n");
	assert_true(curve->points[0].value > 9.9 && curve->points[0].value < 10.1);
	assert_true(curve->points[0].spread < 0.01);
}

static void stalls_that_a_point_lacks_are_dropped_with_a_note(void **state)
{
	(void)state;
	AUTO(curve)
	struct curve *curve = expect_curve("threads,time,stall:a,stall:b,stall:c\n"
					   "1,9,1,,7\n1,9,3,,\n2,5,4,8,9\n4,,1,1,1\n");
	assert_int_equal(curve->point_count, 2);
	assert_int_equal(curve->stall_count, 2);
	assert_string_equal(curve->stall_names[0], "a");
	assert_string_equal(curve->stall_names[1], "c");
	assert_true(curve->points[0].stalls[0] == 2);
	assert_true(curve->points[0].stalls[1] == 7);
	assert_true(curve->points[1].stalls[1] == 9);
	assert_int_equal(curve->note_count, 2);
	assert_non_null(strstr(curve->notes[0], "skipped"));
	assert_non_null(
		strstr(curve->notes[1], "'b' is not used: it is missing at thread count 1"));
}

static void no_runs_make_no_curve(void **state)
{
	(void)state;
	AUTO(runs) struct runs *runs = runs_new(METRIC_TIME, NULL, 0);
	struct curve *curve = NULL;
	struct err err;
	assert_int_equal(curve_from_runs(runs, &curve, &err), -EINVAL);
	assert_null(curve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_sorted_medians),
		cmocka_unit_test(one_run_has_no_spread),
		cmocka_unit_test(a_given_deviation_is_the_spread),
		cmocka_unit_test(the_spread_is_the_error_of_the_median),
		cmocka_unit_test(one_outlier_does_not_make_the_spread),
		cmocka_unit_test(stalls_that_a_point_lacks_are_dropped_with_a_note),
		cmocka_unit_test(no_runs_make_no_curve),
	};
	return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
