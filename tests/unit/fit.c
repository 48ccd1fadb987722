/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fitting core: every kernel gives itself back, whatever the search; and what it refuses. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "curves.h"
#include "kernel_cases.h"
#include "scaling/fit.h"
#include "scaling/lsq.h"

#include <errno.h>

enum { POINTS = 12 };

struct samples {
	double n[POINTS], y[POINTS];
	struct fit_data data;
};

static void samples_of(struct samples *s, const struct kernel_case *c)
{
	for (size_t i = 0; i < POINTS; i++) {
		s->n[i] = (double)(i + 1);
		s->y[i] = kernel_case_value(c, s->n[i]);
	}
	s->data = (struct fit_data){ .n = s->n, .y = s->y, .count = POINTS };
}

static void kernels_give_themselves_back(void **state)
{
	(void)state;
	for (size_t k = 0; k < KERNEL_CASES; k++) {
		for (enum fit_search search = FIT_SIMPLEX; search <= FIT_LEVENBERG; search++) {
			struct samples s;
			samples_of(&s, &kernel_cases[k]);
			struct fit fit;
			assert_int_equal(fit_run(kernel_cases[k].kernel, &s.data, search, &fit), 0);
			for (double n = 1; n <= 48; n += 0.5)
				assert_near(fit_value(&fit, n),
					kernel_case_value(&kernel_cases[k], n), 1e-4);
		}
	}
}

/* The simplex and Levenberg-Marquardt look for the same minimum. */
static void both_searches_agree_on_noisy_points(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 3);
	for (size_t k = 0; k < KERNEL_CASES; k++) {
		struct samples s;
		samples_of(&s, &kernel_cases[k]);
		for (size_t i = 0; i < POINTS; i++)
			s.y[i] *= exp(0.02 * rng_normal(&rng));
		struct fit simplex, levenberg;
		assert_int_equal(
			fit_run(kernel_cases[k].kernel, &s.data, FIT_SIMPLEX, &simplex), 0);
		assert_int_equal(
			fit_run(kernel_cases[k].kernel, &s.data, FIT_LEVENBERG, &levenberg), 0);
		assert_near(simplex.rms, levenberg.rms, 0.05);
		assert_true(simplex.rms < 0.03);
	}
}

static void amdahls_curve_is_a_rational_without_constant_divisor(void **state)
{
	(void)state;
	struct samples s;
	samples_of(&s, &kernel_cases[0]);
	for (size_t i = 0; i < POINTS; i++)
		s.y[i] = 5 + 95 / s.n[i];
	struct fit fit;
	assert_int_equal(fit_run(&kernel_rat22, &s.data, FIT_SIMPLEX, &fit), 0);
	assert_near(fit_value(&fit, 48), 5 + 95. / 48, 1e-3);
}

static void fewer_points_than_coefficients_are_refused(void **state)
{
	(void)state;
	struct samples s;
	samples_of(&s, &kernel_cases[0]);
	struct fit fit;
	s.data.count = kernel_param_count(&kernel_rat33) - 1;
	assert_int_equal(fit_run(&kernel_rat33, &s.data, FIT_SIMPLEX, &fit), -EDOM);
	s.data.count++;
	assert_int_equal(fit_run(&kernel_rat33, &s.data, FIT_SIMPLEX, &fit), 0);
}

static void values_that_are_not_numbers_are_refused(void **state)
{
	(void)state;
	struct samples s;
	samples_of(&s, &kernel_cases[0]);
	s.y[3] = NAN;
	struct fit fit;
	for (size_t k = 0; k < KERNEL_CASES; k++)
		assert_int_equal(
			fit_run(kernel_cases[k].kernel, &s.data, FIT_SIMPLEX, &fit), -EDOM);
}

static void nonnegative_least_squares_meets_its_conditions(void **state)
{
	(void)state;
	/* at the minimum no coefficient can improve: gradient 0 where x > 0, >= 0 where x = 0 */
	struct rng rng;
	rng_init(&rng, 11);
	for (int round = 0; round < 200; round++) {
		enum { ROWS = 7, COLUMNS = 3 };
		double a[ROWS * COLUMNS], y[ROWS], x[COLUMNS];
		for (size_t i = 0; i < ROWS * COLUMNS; i++)
			a[i] = rng_uniform(&rng);
		for (size_t i = 0; i < ROWS; i++)
			y[i] = rng_normal(&rng);
		assert_int_equal(lsq_solve_nonnegative(a, y, ROWS, COLUMNS, x), 0);
		for (size_t j = 0; j < COLUMNS; j++) {
			double gradient = 0;
			for (size_t i = 0; i < ROWS; i++) {
				double r = -y[i];
				for (size_t k = 0; k < COLUMNS; k++)
					r += a[i * COLUMNS + k] * x[k];
				gradient += r * a[i * COLUMNS + j];
			}
			assert_true(x[j] >= 0);
			assert_true(x[j] > 0 ? fabs(gradient) < 1e-9 : gradient > -1e-9);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_give_themselves_back),
		cmocka_unit_test(both_searches_agree_on_noisy_points),
		cmocka_unit_test(amdahls_curve_is_a_rational_without_constant_divisor),
		cmocka_unit_test(fewer_points_than_coefficients_are_refused),
		cmocka_unit_test(values_that_are_not_numbers_are_refused),
		cmocka_unit_test(nonnegative_least_squares_meets_its_conditions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
