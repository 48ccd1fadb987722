/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds for every method of forecast_methods[], on curves of every shape. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "curves.h"

#include <errno.h>

static char stall_name[] = "lock";

static double classic(double n)
{
	return 100 * (0.05 + 0.95 / n + 0.002 * (n - 1));
}

static void add_stalls(struct test_curve *c)
{
	c->names[0] = stall_name;
	c->curve.stall_count = 1;
	for (size_t i = 0; i < c->curve.point_count; i++)
		c->stalls[i][0] = 10 + c->points[i].threads * c->points[i].threads;
}

static void the_classic_curve_is_never_predicted_negative(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 8);
	for (size_t i = 0; i < 8; i++)
		c.points[i].value = classic(c.points[i].threads);
	add_stalls(&c);
	for (size_t i = 0; forecast_methods[i]; i++) {
		AUTO(forecast) struct forecast *f = forecast_of(&c, forecast_methods[i]->name, 64);
		assert_sane(f);
		print_message("%-8s 16: %+.1f%%  32: %+.1f%%  64: %+.1f%%\n", f->method,
			100 * (value_at(f, 16) / classic(16) - 1),
			100 * (value_at(f, 32) / classic(32) - 1),
			100 * (value_at(f, 64) / classic(64) - 1));
	}
}

/* A law with noise, at few or many counts, dense or powers of two; at times plain noise. */
static void random_curve(struct test_curve *c, struct rng *rng)
{
	uint32_t counts[CURVE_POINTS_MAX];
	size_t count = 4 + rng_below(rng, 13);
	bool is_sparse = rng_uniform(rng) < 0.3;
	uint32_t at = 1 + (uint32_t)rng_below(rng, 3);
	for (size_t i = 0; i < count; i++) {
		counts[i] = at;
		at = is_sparse && i < 8 ? at * 2 : at + 1 + (uint32_t)rng_below(rng, 2);
	}
	enum metric metric = rng_uniform(rng) < 0.5 ? METRIC_TIME : METRIC_THROUGHPUT;
	curve_at(c, metric, counts, count);
	double scale = pow(10, 12 * rng_uniform(rng) - 6);
	double serial = 0.3 * rng_uniform(rng), cross = 0.02 * rng_uniform(rng);
	double noise = rng_uniform(rng) < 0.2 ? 1 : 0.1 * rng_uniform(rng);
	for (size_t i = 0; i < count; i++) {
		double n = counts[i];
		double time = (1 - serial) / n + serial + cross * (n - 1);
		time *= scale * exp(noise * rng_normal(rng));
		c->points[i].value = metric == METRIC_TIME ? time : 1 / time;
		c->points[i].spread = rng_uniform(rng) < 0.5 ? NAN : 0.1 * rng_uniform(rng);
		c->stalls[i][0] = scale * n * n * cross * exp(noise * rng_normal(rng));
		c->stalls[i][1] = rng_uniform(rng) < 0.2 ? 0 : scale * rng_uniform(rng);
	}
	c->names[0] = c->names[1] = stall_name;
	c->curve.stall_count = rng_below(rng, 3);
}

static void assert_same(const struct forecast *a, const struct forecast *b)
{
	assert_memory_equal(a->points, b->points, a->point_count * sizeof *a->points);
	assert_int_equal(a->note_count, b->note_count);
	for (size_t i = 0; i < a->note_count; i++)
		assert_string_equal(a->notes[i], b->notes[i]);
	assert_int_equal(a->stall_count, b->stall_count);
	for (size_t i = 0; i < a->stall_count; i++)
		assert_memory_equal(a->stalls[i].values, b->stalls[i].values,
			a->point_count * sizeof *a->stalls[i].values);
}

static void random_curves_give_sane_answers_or_reasons(void **state)
{
	(void)state;
	enum { CURVES = 60, AGAIN_EACH = 4 };
	struct rng rng;
	rng_init(&rng, 42);
	unsigned answers = 0;
	for (int round = 0; round < CURVES; round++) {
		struct test_curve c;
		random_curve(&c, &rng);
		uint32_t last = c.points[c.curve.point_count - 1].threads;
		const struct forecast_opts opts = {
			.target = (uint32_t)(last / 2 + rng_below(&rng, 3 * last)) + 1
		};
		for (size_t i = 0; forecast_methods[i]; i++) {
			struct forecast *once = NULL, *again = NULL;
			struct err err = { "" };
			int code = forecast_run(&c.curve, forecast_methods[i], &opts, &once, &err);
			if (code < 0) {
				assert_true(code == -EDOM || code == -EINVAL);
				assert_true(strlen(err.text) > 20);
				continue;
			}
			answers++;
			assert_sane(once);
			if (round % AGAIN_EACH == 0) {
				code = forecast_run(
					&c.curve, forecast_methods[i], &opts, &again, &err);
				assert_int_equal(code, 0);
				assert_same(once, again);
			}
			forecast_free(once);
			forecast_free(again);
		}
	}
	assert_true(answers > 2 * CURVES);
}

/* Intervals are wider the farther they reach. */
static void intervals_widen_past_the_data(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 12);
	for (size_t i = 0; i < 12; i++)
		c.points[i].value = classic(c.points[i].threads);
	add_stalls(&c);
	for (size_t i = 0; forecast_methods[i]; i++) {
		AUTO(forecast) struct forecast *f = forecast_of(&c, forecast_methods[i]->name, 64);
		double previous = 0;
		for (uint32_t n = 12; n <= 64; n++) {
			const struct forecast_point *p = &f->points[n - 1];
			double width = log(p->high / p->low);
			assert_true(width >= previous * (1 - 1e-9));
			previous = width;
		}
	}
}

/* A last count that the functions have not seen. */
static void stalls_at_measured_counts_are_those_measured(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 12);
	for (size_t i = 0; i < 12; i++)
		c.points[i].value = classic(c.points[i].threads);
	add_stalls(&c);
	AUTO(forecast) struct forecast *plain = forecast_of(&c, "auto", 24);
	c.stalls[11][0] += 50;
	AUTO(forecast) struct forecast *raised = forecast_of(&c, "auto", 24);
	for (size_t i = 0; i < 12; i++)
		assert_true(raised->stalls[0].values[i] == c.stalls[i][0]);
	assert_true(raised->stalls[0].values[12] > plain->stalls[0].values[12] + 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_classic_curve_is_never_predicted_negative),
		cmocka_unit_test(random_curves_give_sane_answers_or_reasons),
		cmocka_unit_test(intervals_widen_past_the_data),
		cmocka_unit_test(stalls_at_measured_counts_are_those_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
