/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default method: where a law holds it follows the law, elsewhere it stays believable. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "scaling/auto.h"
#include "scaling/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 64 };

struct sample {
	struct curve curve;
	struct curve_point points[POINTS_MAX];
};

static void add(struct sample *s, uint32_t threads, double value)
{
	s->points[s->curve.point_count++] = (struct curve_point){
		.threads = threads, .repeats = 1, .value = value, .spread = NAN, .rss_bytes = NAN
	};
	s->curve.points = s->points;
}

static struct forecast *run(const struct sample *s, uint32_t target)
{
	struct forecast *f = NULL;
	struct err err = { "" };
	struct forecast_opts opts = { .target = target };
	const struct forecast_method *method = forecast_method_by_name("auto");
	assert_non_null(method);
	if (forecast_run(&s->curve, method, &opts, &f, &err) < 0)
		fail_msg("%s", err.text);
	return f;
}

static void expect_within(const struct forecast *f, uint32_t n, double truth, double relative)
{
	double value = f->points[n - 1].value;
	if (fabs(value / truth - 1) > relative)
		fail_msg("at %u: %g, not within %g of %g", n, value, relative, truth);
}

static double classic(uint32_t n)
{
	return 100 * (0.05 + 0.95 / n + 0.002 * (n - 1));
}

static void a_program_that_threads_do_nothing_for_stays_as_it_is(void **state)
{
	(void)state;
	const double noise[] = { 1.01, 0.985, 1, 1.015 };
	struct sample s = { .curve.metric = METRIC_TIME },
		      plateau = { .curve.metric = METRIC_TIME };
	for (uint32_t n = 1; n <= 4; n++) {
		add(&s, n, 100 * noise[n - 1]);
		add(&plateau, 8 * n, 100 * noise[n - 1]);
	}
	AUTO(forecast) struct forecast *f = run(&s, 32);
	expect_within(f, 8, 100, 0.03);
	AUTO(forecast) struct forecast *risen = run(&plateau, 64);
	assert_true(risen->points[0].value > 150);
}

static void a_cliff_is_fallen_down_once(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_THROUGHPUT };
	for (uint32_t n = 1; n <= 30; n++)
		add(&s, n, n <= 24 ? 30 / (1 + 0.5 * n) : 1.25 / n);
	AUTO(forecast) struct forecast *f = run(&s, 60);
	assert_true(f->points[59].value > 1.25 / 30 / 8);
}

static void classic_strong_scaling_is_met(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_TIME };
	for (uint32_t n = 1; n <= 8; n++)
		add(&s, n, classic(n));
	AUTO(forecast) struct forecast *f = run(&s, 64);
	expect_within(f, 16, classic(16), 0.05);
	expect_within(f, 32, classic(32), 0.10);
	/* Its minimum is at sqrt(0.95 / 0.002) = 21.8. */
	assert_in_range(f->best_threads, 20, 24);
	assert_int_equal(f->stops_scaling_at, f->best_threads);
	for (size_t i = 0; i < f->point_count; i++)
		assert_true(f->points[i].low > 0);
}

static void linear_scaling_goes_on(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_THROUGHPUT };
	for (uint32_t n = 1; n <= 16; n++)
		add(&s, n, 1000.0 * n);
	AUTO(forecast) struct forecast *f = run(&s, 32);
	expect_within(f, 32, 32000, 0.02);
	assert_int_equal(f->best_threads, 32);
	assert_int_equal(f->stops_scaling_at, 0);
}

static void time_and_throughput_tell_the_same(void **state)
{
	(void)state;
	static const double x[] = { 10, 19, 27, 33, 41, 44, 46, 51 };
	struct sample a = { .curve.metric = METRIC_THROUGHPUT };
	struct sample b = { .curve.metric = METRIC_TIME };
	for (uint32_t n = 1; n <= 8; n++) {
		add(&a, n, x[n - 1]);
		add(&b, n, 1 / x[n - 1]);
	}
	AUTO(forecast) struct forecast *f = run(&a, 24), *g = run(&b, 24);
	for (size_t i = 0; i < 24; i++) {
		/* Only the rounding of logarithms lies between them. */
		assert_true(fabs(f->points[i].value * g->points[i].value - 1) < 1e-9);
		assert_true(fabs(f->points[i].low * g->points[i].high - 1) < 1e-9);
	}
	assert_int_equal(f->best_threads, g->best_threads);
}

static void units_do_not_matter(void **state)
{
	(void)state;
	static const double x[] = { 10, 19, 27, 33, 41, 44, 46, 51 };
	struct sample a = { .curve.metric = METRIC_TIME }, b = a;
	for (uint32_t n = 1; n <= 8; n++) {
		add(&a, n, 1 / x[n - 1]);
		add(&b, n, 1e9 / x[n - 1]);
	}
	AUTO(forecast) struct forecast *f = run(&a, 16), *g = run(&b, 16);
	for (size_t i = 0; i < 16; i++)
		assert_true(fabs(g->points[i].value / f->points[i].value / 1e9 - 1) < 1e-6);
}

static void gaps_are_filled_between_their_ends(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_THROUGHPUT };
	for (uint32_t n = 1; n <= 32; n *= 2)
		add(&s, n, 100.0 * n / (1 + 0.05 * (n - 1)));
	AUTO(forecast) struct forecast *f = run(&s, 32);
	for (uint32_t n = 1; n < 32; n++)
		expect_within(f, n, 100.0 * n / (1 + 0.05 * (n - 1)), 0.03);
}

static void a_curve_without_one_thread_is_continued_downwards(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_TIME };
	for (uint32_t n = 4; n <= 12; n += 2)
		add(&s, n, 60.0 / n);
	AUTO(forecast) struct forecast *f = run(&s, 16);
	expect_within(f, 1, 60, 0.25);
	expect_within(f, 16, 60.0 / 16, 0.10);
	assert_true(f->points[0].high / f->points[0].low > f->points[7].high / f->points[7].low);
}

/* 40 s at 100 threads are not more than 4000 s at one. */
static void far_below_the_data_one_thread_does_its_share(void **state)
{
	(void)state;
	static const double times[] = { 40, 24, 20, 18.4 };
	struct sample s = { .curve.metric = METRIC_TIME };
	for (uint32_t i = 0; i < 4; i++)
		add(&s, 100 * (i + 1), times[i]);
	AUTO(forecast) struct forecast *f = run(&s, 400);
	for (uint32_t n = 1; n < 100; n++)
		assert_true(f->points[n - 1].value * n < 1.05 * 100 * times[0]);
	assert_true(f->points[0].low < 1000);
}

static void one_outlier_does_not_steer(void **state)
{
	(void)state;
	struct sample clean = { .curve.metric = METRIC_TIME }, spoilt = clean;
	for (uint32_t n = 1; n <= 12; n++) {
		add(&clean, n, 60.0 / n + 1);
		add(&spoilt, n, (60.0 / n + 1) * (n == 6 ? 1.8 : 1));
	}
	AUTO(forecast) struct forecast *f = run(&clean, 24), *g = run(&spoilt, 24);
	expect_within(g, 24, f->points[23].value, 0.15);
}

static void intervals_grow_past_the_data(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_THROUGHPUT };
	for (uint32_t n = 1; n <= 8; n++)
		add(&s, n, 10.0 * n / (1 + 0.1 * (n - 1)));
	AUTO(forecast) struct forecast *f = run(&s, 64);
	for (size_t i = 9; i < 64; i++) {
		double before = f->points[i - 1].high / f->points[i - 1].low;
		assert_true(f->points[i].high / f->points[i].low > before);
	}
	assert_true(f->note_count > 0); /* 64 is 8 times the largest count */
}

static void three_points_come_with_a_warning_and_two_are_refused(void **state)
{
	(void)state;
	struct sample s = { .curve.metric = METRIC_TIME };
	add(&s, 1, 8);
	add(&s, 2, 4.2);
	struct forecast *none = NULL;
	struct err err;
	struct forecast_opts opts = { .target = 8 };
	assert_true(
		forecast_run(&s.curve, forecast_method_by_name("auto"), &opts, &none, &err) < 0);
	assert_non_null(strstr(err.text, "at least 3 thread counts"));
	add(&s, 4, 2.4);
	AUTO(forecast) struct forecast *f = run(&s, 8);
	assert_int_equal(f->note_count, 1);
	assert_non_null(strstr(f->notes[0], "only 3 thread counts"));
}

/* Random positive curves, however odd: finite, ordered, and the same bytes twice. */
static void any_curve_gives_finite_ordered_intervals(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 20);
	for (int round = 0; round < 300; round++) {
		struct sample s = { .curve.metric = round % 2 ? METRIC_TIME : METRIC_THROUGHPUT };
		uint32_t n = 0;
		double scale = exp(20 * rng_normal(&rng));
		size_t count = 3 + rng_below(&rng, 12);
		while (s.curve.point_count < count) {
			n += 1 + (uint32_t)rng_below(&rng, 1 + n);
			add(&s, n, scale * exp(rng_normal(&rng) * (round % 5)));
		}
		uint32_t target = n < 200 ? 2 * n : n;
		AUTO(forecast) struct forecast *f = run(&s, target), *g = run(&s, target);
		assert_memory_equal(f->points, g->points, f->point_count * sizeof *f->points);
		for (size_t i = 0; i < f->point_count; i++) {
			const struct forecast_point *p = &f->points[i];
			assert_true(isfinite(p->high) && p->low > 0);
			assert_true(p->low <= p->value && p->value <= p->high);
		}
	}
}

/* Without drift terms to speak of: a noiseless line in log-log is its own continuation. */
static void the_process_passes_through_clean_measurements(void **state)
{
	(void)state;
	uint32_t threads[] = { 1, 2, 4, 8, 16 };
	double log_x[5], spread[5] = { 0 };
	for (int i = 0; i < 5; i++)
		log_x[i] = 0.7 * log(threads[i]);
	struct exponent_data data = { threads, log_x, spread, 5 };
	struct exponent_node nodes[32];
	struct exponent_summary summary;
	assert_int_equal(
		exponent_predict(&auto_model_default.exponent, &data, 32, nodes, &summary), 0);
	for (int i = 0; i < 5; i++)
		assert_true(fabs(nodes[threads[i] - 1].mean - log_x[i]) < 0.02);
	assert_true(fabs(summary.slope - 0.7) < 0.1);
	assert_true(nodes[31].variance > nodes[15].variance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_threads_do_nothing_for_stays_as_it_is),
		cmocka_unit_test(a_cliff_is_fallen_down_once),
		cmocka_unit_test(classic_strong_scaling_is_met),
		cmocka_unit_test(linear_scaling_goes_on),
		cmocka_unit_test(time_and_throughput_tell_the_same),
		cmocka_unit_test(units_do_not_matter),
		cmocka_unit_test(gaps_are_filled_between_their_ends),
		cmocka_unit_test(a_curve_without_one_thread_is_continued_downwards),
		cmocka_unit_test(far_below_the_data_one_thread_does_its_share),
		cmocka_unit_test(one_outlier_does_not_steer),
		cmocka_unit_test(intervals_grow_past_the_data),
		cmocka_unit_test(three_points_come_with_a_warning_and_two_are_refused),
		cmocka_unit_test(any_curve_gives_finite_ordered_intervals),
		cmocka_unit_test(the_process_passes_through_clean_measurements),
	};
	return cmocka_run_group_tests_name("auto", tests, NULL, NULL);
}
