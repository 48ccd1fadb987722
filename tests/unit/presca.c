/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PreSca: its kernels give themselves back beyond the data, its filters, its refusals. */
#include "cmocka_all.h"

#include "curves.h"
#include "kernel_cases.h"
#include "scaling/fit.h"
#include "scaling/realism.h"

#include <errno.h>

static void fill_case(struct test_curve *c, const struct kernel_case *k)
{
	for (size_t i = 0; i < c->curve.point_count; i++)
		c->points[i].value = kernel_case_value(k, c->points[i].threads);
}

/* Not Poly25, which is ESTIMA's. */
static void kernels_are_predicted_at_twice_the_counts(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 12, 16, 24 };
	for (size_t k = 0; k < KERNEL_CASES; k++) {
		if (kernel_cases[k].kernel == &kernel_poly25)
			continue;
		for (size_t m = 0; m < 3; m++) {
			for (enum metric metric = METRIC_TIME; metric <= METRIC_THROUGHPUT;
				metric++) {
				struct test_curve c;
				curve_dense(&c, metric, counts[m]);
				fill_case(&c, &kernel_cases[k]);
				AUTO(forecast)
				struct forecast *f = forecast_of(&c, "presca", 2 * counts[m]);
				for (uint32_t n = 1; n <= 2 * counts[m]; n++)
					assert_near(value_at(f, n),
						kernel_case_value(&kernel_cases[k], n), 0.01);
			}
		}
	}
}

static double cubic(double n)
{
	return 200 - 20 * n + 1.1 * n * n - 0.015 * n * n * n;
}

static void interpolation_reproduces_polynomials(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 1, 4, 8, 16, 24, 32 };
	struct test_curve c;
	curve_at(&c, METRIC_TIME, counts, 6); /* m - 2 = degree 4 */
	for (size_t i = 0; i < 6; i++)
		c.points[i].value = cubic(counts[i]);
	AUTO(forecast) struct forecast *f = forecast_of(&c, "presca", 32);
	for (uint32_t n = 1; n <= 32; n++)
		assert_near(value_at(f, n), cubic(n), 1e-8);
	assert_non_null(strstr(f->notes[0], "degree 4"));
}

static void the_degree_is_at_most_six(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_THROUGHPUT, 20);
	for (size_t i = 0; i < 20; i++)
		c.points[i].value = cubic(c.points[i].threads);
	AUTO(forecast) struct forecast *f = forecast_of(&c, "presca", 20);
	assert_non_null(strstr(f->notes[0], "degree 6"));
	assert_near(value_at(f, 20), cubic(20), 1e-8);
}

/* Powers of two up to 64 swing a polynomial far below zero. */
static void interpolation_is_never_negative(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 1, 2, 4, 8, 16, 32, 64 };
	struct test_curve c;
	curve_at(&c, METRIC_TIME, counts, 7);
	for (size_t i = 0; i < 7; i++)
		c.points[i].value = 100. / counts[i];
	AUTO(forecast) struct forecast *f = forecast_of(&c, "presca", 64);
	assert_sane(f);
}

static void steps_are_judged_in_both_orientations(void **state)
{
	(void)state;
	/* from 4 to 5 threads: gain at most 1.5 * 5/4 = 1.875, loss at most (4/5)^8 = 0.16777 */
	assert_false(realism_is_abrupt(METRIC_THROUGHPUT, 4, 1, 1.87));
	assert_true(realism_is_abrupt(METRIC_THROUGHPUT, 4, 1, 1.88));
	assert_false(realism_is_abrupt(METRIC_THROUGHPUT, 4, 1, 0.168));
	assert_true(realism_is_abrupt(METRIC_THROUGHPUT, 4, 1, 0.167));
	assert_false(realism_is_abrupt(METRIC_TIME, 4, 1, 1 / 1.87));
	assert_true(realism_is_abrupt(METRIC_TIME, 4, 1, 1 / 1.88));
	assert_false(realism_is_abrupt(METRIC_TIME, 4, 1, 1 / 0.168));
	assert_true(realism_is_abrupt(METRIC_TIME, 4, 1, 1 / 0.167));
	assert_true(realism_is_abrupt(METRIC_TIME, 4, 1, NAN));
}

static void poles_and_negative_values_are_unrealistic(void **state)
{
	(void)state;
	struct fit falls = { .kernel = &kernel_polynomials[1], .x_scale = 1, .a = { 21, -1 } };
	assert_int_equal(realism_of(&falls, METRIC_TIME, 1, 10), REALISM_OK);
	assert_int_equal(realism_of(&falls, METRIC_TIME, 1, 30), REALISM_ABRUPT); /* 2 to 1 at 20 */
	struct fit leaps = { .kernel = &kernel_polynomials[1], .x_scale = 1, .a = { -1, 1 } };
	assert_int_equal(realism_of(&leaps, METRIC_TIME, 1, 30), REALISM_NEGATIVE);
	struct fit pole = { .kernel = &kernel_rat12, .x_scale = 1, .a = { 1, 0 } };
	pole.b[0] = -2. / 3; /* at 1.5 threads */
	assert_int_equal(realism_of(&pole, METRIC_TIME, 1, 1), REALISM_OK);
	assert_int_equal(realism_of(&pole, METRIC_TIME, 1, 2), REALISM_POLE);
}

static void sparse_curves_are_refused_with_the_reason(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 1, 2, 4, 8, 16 };
	struct test_curve c;
	curve_at(&c, METRIC_TIME, counts, 5);
	for (size_t i = 0; i < 5; i++)
		c.points[i].value = 10. / counts[i];
	struct forecast *f = NULL;
	struct err err;
	const struct forecast_opts opts = { .target = 32 };
	assert_int_equal(
		forecast_run(&c.curve, forecast_method_by_name("presca"), &opts, &f, &err), -EDOM);
	assert_null(f);
	assert_non_null(strstr(err.text, "8 thread counts"));
	assert_non_null(strstr(err.text, "there are 5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_predicted_at_twice_the_counts),
		cmocka_unit_test(interpolation_reproduces_polynomials),
		cmocka_unit_test(the_degree_is_at_most_six),
		cmocka_unit_test(interpolation_is_never_negative),
		cmocka_unit_test(steps_are_judged_in_both_orientations),
		cmocka_unit_test(poles_and_negative_values_are_unrealistic),
		cmocka_unit_test(sparse_curves_are_refused_with_the_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
