/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public library: results as documented, refusals with reasons, nothing touched on failure. */
#include "cmocka_all.h"

#include <corecast/corecast.h>

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct corecast_measurement runs[] = { { 1, 10 }, { 2, 5.5 }, { 4, 3.2 }, { 8, 2.1 },
	{ 2, 5.3 } };
enum { RUNS = sizeof runs / sizeof *runs };

static void a_forecast_has_every_count_to_the_target(void **state)
{
	(void)state;
	struct corecast_prediction *p = NULL;
	assert_int_equal(corecast_forecast(runs, RUNS, CORECAST_TIME, 16, NULL, &p, NULL), 0);
	assert_int_equal(p->point_count, 16);
	assert_string_equal(p->method, "auto");
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(p->points[i].threads, i + 1);
		assert_true(p->points[i].low < p->points[i].value);
		assert_true(p->points[i].value < p->points[i].high);
	}
	assert_true(fabs(p->points[1].value / 5.4 - 1) < 0.05); /* near the repeats' median */
	corecast_prediction_free(p);
}

static void methods_are_chosen_by_name(void **state)
{
	(void)state;
	struct corecast_prediction *p = NULL;
	struct corecast_forecast_opts opts = { .method = "usl" };
	assert_int_equal(corecast_forecast(runs, RUNS, CORECAST_TIME, 8, &opts, &p, NULL), 0);
	assert_string_equal(p->method, "usl");
	corecast_prediction_free(p);
}

static void expect_refusal(const struct corecast_measurement *m, size_t count,
	enum corecast_metric metric, unsigned target, const struct corecast_forecast_opts *opts,
	int code, const char *text)
{
	struct corecast_prediction *p = NULL;
	struct corecast_error error = { "" };
	assert_int_equal(corecast_forecast(m, count, metric, target, opts, &p, &error), code);
	assert_null(p);
	if (!strstr(error.text, text))
		fail_msg("'%s' does not say '%s'", error.text, text);
}

static void bad_arguments_are_refused_with_the_reason(void **state)
{
	(void)state;
	struct corecast_forecast_opts unknown = { .method = "crystal ball" };
	struct corecast_forecast_opts estima = { .method = "estima" };
	struct corecast_measurement zero[] = { { 1, 1 }, { 2, 0 }, { 3, 1 }, { 4, 1 } };
	struct corecast_measurement none[] = { { 0, 1 } };
	expect_refusal(NULL, 0, CORECAST_TIME, 8, NULL, -EINVAL, "no measurements");
	expect_refusal(runs, RUNS, (enum corecast_metric)7, 8, NULL, -EINVAL, "metric");
	expect_refusal(runs, RUNS, CORECAST_TIME, 0, NULL, -EINVAL, "target");
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &unknown, -EINVAL, "crystal ball");
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &estima, -EDOM, "stall");
	expect_refusal(runs, 2, CORECAST_TIME, 8, NULL, -EDOM, "thread counts");
	expect_refusal(zero, 4, CORECAST_TIME, 8, NULL, -EINVAL, "measurement 1");
	expect_refusal(none, 1, CORECAST_TIME, 8, NULL, -EINVAL, "0 threads");
}

static void empty_and_senseless_stalls_are_refused(void **state)
{
	(void)state;
	double rising[RUNS], some[RUNS];
	for (size_t i = 0; i < RUNS; i++) {
		rising[i] = runs[i].threads;
		some[i] = 1;
	}
	struct corecast_stalls stalls[] = { { "lock", rising }, { "memory", some } };
	const struct corecast_forecast_opts opts = { .stalls = stalls, .stall_count = 2 };
	struct corecast_prediction *p = NULL;
	assert_int_equal(corecast_forecast(runs, RUNS, CORECAST_TIME, 8, &opts, &p, NULL), 0);
	corecast_prediction_free(p);
	stalls[1].name = NULL;
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &opts, -EINVAL, "category 1 is empty");
	stalls[1] = (struct corecast_stalls){ "memory", NULL };
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &opts, -EINVAL, "category 1 is empty");
	stalls[1].values = some;
	some[RUNS - 1] = -1;
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &opts, -EINVAL, "'memory', measurement");
	some[RUNS - 1] = (double)INFINITY;
	expect_refusal(runs, RUNS, CORECAST_TIME, 8, &opts, -EINVAL, "'memory', measurement");
}

static void a_tuner_finds_a_peak(void **state)
{
	(void)state;
	struct corecast_tuner *tuner = NULL;
	struct corecast_tuner_choice choice;
	assert_int_equal(corecast_tuner_new(64, NULL, &tuner, &choice, NULL), 0);
	for (int i = 0; i < 50; i++) {
		double n = choice.threads, rate = n / (1 + n * n / 400);
		assert_int_equal(corecast_tuner_measured(tuner, rate, &choice, NULL), 0);
	}
	assert_true(choice.is_held);
	assert_in_range(choice.threads, 17, 24); /* within 2% of the peak at 20 */
	corecast_tuner_free(tuner);
}

static void bad_tuners_are_refused_with_the_reason(void **state)
{
	(void)state;
	struct corecast_tuner *tuner = NULL;
	struct corecast_tuner_choice choice;
	struct corecast_error error = { "" };
	struct corecast_tuner_opts unknown = { .policy = "dice" }, certain = { .false_alarm = 1 };
	assert_int_equal(corecast_tuner_new(0, NULL, &tuner, &choice, &error), -EINVAL);
	assert_int_equal(corecast_tuner_new(8, &certain, &tuner, &choice, &error), -EINVAL);
	assert_int_equal(corecast_tuner_new(8, NULL, NULL, &choice, &error), -EINVAL);
	assert_int_equal(corecast_tuner_measured(NULL, 1, &choice, &error), -EINVAL);
	assert_int_equal(corecast_tuner_new(8, &unknown, &tuner, &choice, &error), -EINVAL);
	assert_non_null(strstr(error.text, "dice"));
	assert_null(tuner);
	corecast_tuner_free(NULL);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	corecast_prediction_free(NULL);
	assert_true(strlen(corecast_version()) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forecast_has_every_count_to_the_target),
		cmocka_unit_test(methods_are_chosen_by_name),
		cmocka_unit_test(bad_arguments_are_refused_with_the_reason),
		cmocka_unit_test(empty_and_senseless_stalls_are_refused),
		cmocka_unit_test(a_tuner_finds_a_peak),
		cmocka_unit_test(bad_tuners_are_refused_with_the_reason),
		cmocka_unit_test(freeing_nothing_is_fine),
	};
	return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
