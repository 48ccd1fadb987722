/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usl, amdahl, pmnf: closed forms give themselves back; coefficients keep their signs. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "curves.h"
#include "scaling/usl.h"

static void fill_usl(struct test_curve *c, const struct usl *usl)
{
	for (size_t i = 0; i < c->curve.point_count; i++) {
		double time = usl_time(usl, c->points[i].threads);
		c->points[i].value = c->curve.metric == METRIC_TIME ? time : 1 / time;
	}
}

static void usl_recovers_its_coefficients(void **state)
{
	(void)state;
	static const struct usl laws[] = { { 100, 0.03, 0.0005 }, { 2.5e6, 0.2, 0.01 },
		{ 0.01, 0, 0.001 }, { 40, 0.05, 0 }, { 7, 0, 0 },
		{ 995.6486, 0.02671591, 0.0007690945 } };
	static const double sparse[] = { 2, 4, 8, 16 };
	for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
		double time[4];
		for (size_t i = 0; i < 4; i++)
			time[i] = usl_time(&laws[k], sparse[i]);
		struct usl got;
		assert_int_equal(usl_fit(sparse, time, 4, &got), 0);
		assert_near(got.lambda, laws[k].lambda, 1e-6);
		assert_true(fabs(got.sigma - laws[k].sigma) <= 1e-6 * laws[k].sigma + 1e-12);
		assert_true(fabs(got.kappa - laws[k].kappa) <= 1e-6 * laws[k].kappa + 1e-12);
	}
}

static void usl_predicts_time_and_throughput_alike(void **state)
{
	(void)state;
	const struct usl law = { 50, 0.04, 0.002 };
	static const uint32_t sparse[] = { 2, 4, 8, 16 };
	for (enum metric metric = METRIC_TIME; metric <= METRIC_THROUGHPUT; metric++) {
		struct test_curve c;
		curve_at(&c, metric, sparse, 4);
		fill_usl(&c, &law);
		AUTO(forecast) struct forecast *f = forecast_of(&c, "usl", 64);
		double want = usl_time(&law, 64);
		assert_near(value_at(f, 64), metric == METRIC_TIME ? want : 1 / want, 1e-9);
		assert_int_equal(f->best_threads, 22); /* sqrt((1 - sigma) / kappa) = 21.9 */
	}
}

static void usl_coefficients_are_never_negative(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 7);
	for (int round = 0; round < 500; round++) {
		double n[8], time[8];
		double power = 0.9 + 0.5 * rng_uniform(&rng); /* superlinear above 1 */
		for (size_t i = 0; i < 8; i++) {
			n[i] = (double)(i + 1 + (size_t)(round % 3));
			time[i] = pow(n[i], -power) * exp(0.1 * rng_normal(&rng));
		}
		struct usl got;
		assert_int_equal(usl_fit(n, time, 8, &got), 0);
		assert_true(got.lambda > 0 && isfinite(got.lambda));
		assert_true(got.sigma >= 0 && got.kappa >= 0);
	}
}

static void amdahl_recovers_the_serial_part(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 6);
	for (size_t i = 0; i < 6; i++)
		c.points[i].value = 30 + 70. / c.points[i].threads;
	AUTO(forecast) struct forecast *f = forecast_of(&c, "amdahl", 100);
	assert_near(value_at(f, 100), 30.7, 1e-9);
	assert_non_null(strstr(f->notes[0], "serial fraction = 0.3"));
}

static double n_log_n(double n)
{
	return 5 + 2 * n * log2(n);
}

static double root(double n)
{
	return 3 + 0.5 * sqrt(n);
}

static double inverse_power(double n)
{
	return 1 + 20 / pow(n, 2. / 3);
}

static double work_with_log(double n)
{
	return (40 + 3 * n * log2(n) * log2(n)) / n;
}

static double perfect(double n)
{
	return 12 / n;
}

static void pmnf_recovers_its_terms(void **state)
{
	(void)state;
	double (*const laws[])(double n) = { n_log_n, root, inverse_power, work_with_log, perfect };
	for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
		static const uint32_t counts[] = { 1, 2, 4, 8, 12, 16 };
		struct test_curve c;
		curve_at(&c, METRIC_TIME, counts, 6);
		for (size_t i = 0; i < 6; i++)
			c.points[i].value = laws[k](counts[i]);
		AUTO(forecast) struct forecast *f = forecast_of(&c, "pmnf", 256);
		assert_near(value_at(f, 256), laws[k](256), 1e-6);
	}
}

static void pmnf_names_its_term(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 8);
	for (size_t i = 0; i < 8; i++)
		c.points[i].value = n_log_n(c.points[i].threads);
	AUTO(forecast) struct forecast *f = forecast_of(&c, "pmnf", 16);
	assert_string_equal(f->notes[0], "time = 5 +2 n^1 log2(n)^1");
}

/* A straight line down is best met by a term that crosses zero at 21. */
static void pmnf_refuses_negative_times(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 10);
	for (size_t i = 0; i < 10; i++)
		c.points[i].value = 21. - c.points[i].threads;
	AUTO(forecast) struct forecast *f = forecast_of(&c, "pmnf", 64);
	assert_sane(f);
	assert_int_equal(f->note_count, 2);
	assert_non_null(strstr(f->notes[1], "negative"));
}

static void too_few_points_are_refused_with_the_number(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 2);
	c.points[0].value = c.points[1].value = 1;
	struct forecast *f = NULL;
	struct err err;
	const struct forecast_opts opts = { .target = 8 };
	assert_true(forecast_run(&c.curve, forecast_method_by_name("usl"), &opts, &f, &err) < 0);
	assert_null(f);
	assert_non_null(strstr(err.text, "at least 3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usl_recovers_its_coefficients),
		cmocka_unit_test(usl_predicts_time_and_throughput_alike),
		cmocka_unit_test(usl_coefficients_are_never_negative),
		cmocka_unit_test(amdahl_recovers_the_serial_part),
		cmocka_unit_test(pmnf_recovers_its_terms),
		cmocka_unit_test(pmnf_names_its_term),
		cmocka_unit_test(pmnf_refuses_negative_times),
		cmocka_unit_test(too_few_points_are_refused_with_the_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
