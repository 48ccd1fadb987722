/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ESTIMA: kernels recovered through stalls and factor; the turn that time does not show; ratios. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "curves.h"
#include "kernel_cases.h"
#include "scaling/candidates.h"
#include "scaling/realism.h"

#include <errno.h>

static char stall_a[] = "a", stall_b[] = "b";

static void name_stalls(struct test_curve *c, size_t count)
{
	c->names[0] = stall_a;
	c->names[1] = stall_b;
	c->curve.stall_count = count;
}

static bool is_estimas(const struct kernel_case *k)
{
	return k->kernel != &kernel_rat12;
}

static void stalls_of_each_kernel_are_predicted_at_twice_the_counts(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 12, 16 };
	for (size_t k = 0; k < KERNEL_CASES; k++) {
		for (size_t m = 0; m < 2; m++) {
			if (!is_estimas(&kernel_cases[k]))
				continue;
			struct test_curve c;
			curve_dense(&c, METRIC_TIME, counts[m]);
			name_stalls(&c, 1);
			for (size_t i = 0; i < counts[m]; i++) {
				double n = c.points[i].threads;
				c.stalls[i][0] = 1e9 * kernel_case_value(&kernel_cases[k], n);
				c.points[i].value = 2 * kernel_case_value(&kernel_cases[k], n) / n;
			}
			AUTO(forecast)
			struct forecast *f = forecast_of(&c, "estima", 2 * counts[m]);
			for (uint32_t n = 1; n <= 2 * counts[m]; n++) {
				double want = kernel_case_value(&kernel_cases[k], n);
				assert_near(f->stalls[0].values[n - 1], 1e9 * want, 0.01);
				assert_near(value_at(f, n), 2 * want / n, 0.01);
			}
		}
	}
}

/* Two categories, and a factor that is a kernel of its own; throughput is the inverse. */
static void the_factor_of_each_kernel_is_recovered(void **state)
{
	(void)state;
	for (size_t k = 0; k < KERNEL_CASES; k++) {
		const struct kernel_case *factor = &kernel_cases[k];
		if (!is_estimas(factor))
			continue;
		struct test_curve c;
		curve_dense(&c, METRIC_THROUGHPUT, 16);
		name_stalls(&c, 2);
		for (size_t i = 0; i < 16; i++) {
			double n = c.points[i].threads;
			c.stalls[i][0] = 500 + 3 * n;
			c.stalls[i][1] = 2 * n * n;
			c.points[i].value =
				n / ((500 + 3 * n + 2 * n * n) * kernel_case_value(factor, n));
		}
		AUTO(forecast) struct forecast *f = forecast_of(&c, "estima", 32);
		for (uint32_t n = 1; n <= 32; n++)
			assert_near(value_at(f, n),
				n / ((500 + 3. * n + 2. * n * n) * kernel_case_value(factor, n)),
				0.01);
		assert_near(f->stalls[1].share_at_target, 2048. / (500 + 96 + 2048), 0.01);
	}
}

/*
 * The point of the paper. Work that profits from more cache as threads are added (its stalls per
 * core fall faster than 1/n) hides a lock whose stalls already rise with the cube of n: the time
 * still falls at every measured count, and the turn, at 25, is twice past them.
 */
static double cache_stalls(double n)
{
	return 100 * (1 + 4 / n);
}

static double lock_stalls(double n)
{
	return 0.02 * pow(n, 2.5);
}

static double turning_time(double n)
{
	return (cache_stalls(n) + lock_stalls(n)) / n;
}

static void make_turning_curve(struct test_curve *c, double noise, uint64_t seed)
{
	struct rng rng;
	rng_init(&rng, seed);
	curve_dense(c, METRIC_TIME, 12);
	name_stalls(c, 2);
	for (size_t i = 0; i < 12; i++) {
		double n = c->points[i].threads;
		c->stalls[i][0] = 1e9 * cache_stalls(n) * exp(noise * rng_normal(&rng));
		c->stalls[i][1] = 1e9 * lock_stalls(n) * exp(noise * rng_normal(&rng));
		c->points[i].value = turning_time(n) * exp(noise * rng_normal(&rng));
	}
}

static uint32_t best_of(const struct test_curve *c, const char *method, uint32_t target)
{
	AUTO(forecast) struct forecast *f = forecast_of(c, method, target);
	return f->best_threads;
}

/* With 1% noise on every number, from eight seeds; without noise the turn is met exactly. */
static void stalls_show_a_turn_that_time_does_not(void **state)
{
	(void)state;
	enum { SEEDS = 8, TARGET = 48 };
	uint32_t turn = 1;
	for (uint32_t n = 1; n <= TARGET; n++)
		if (turning_time(n) < turning_time(turn))
			turn = n;
	assert_int_equal(turn, 28);
	unsigned seen_by_estima = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct test_curve c;
		make_turning_curve(&c, seed == 0 ? 0 : 0.01, seed);
		for (size_t i = 1; i < 12; i++)
			assert_true(c.points[i].value < c.points[i - 1].value);
		uint32_t best = best_of(&c, "estima", TARGET);
		print_message("turn at %u: estima %u, presca %u, usl %u, pmnf %u\n", turn, best,
			best_of(&c, "presca", TARGET), best_of(&c, "usl", TARGET),
			best_of(&c, "pmnf", TARGET));
		if (seed == 0)
			assert_int_equal(best, turn);
		seen_by_estima += best >= turn - 6 && best <= turn + 6;
		assert_int_equal(best_of(&c, "presca", TARGET), TARGET);
		assert_int_equal(best_of(&c, "usl", TARGET), TARGET);
	}
	assert_in_range(seen_by_estima, 7, SEEDS);
}

static void the_category_that_will_dominate_is_named(void **state)
{
	(void)state;
	struct test_curve c;
	make_turning_curve(&c, 0, 0);
	AUTO(forecast) struct forecast *f = forecast_of(&c, "estima", 48);
	assert_true(c.stalls[11][1] < 0.1 * c.stalls[11][0]);
	assert_near(f->stalls[1].share_at_target,
		lock_stalls(48) / (lock_stalls(48) + cache_stalls(48)), 0.02);
}

static void larger_data_and_a_faster_clock_scale_the_times(void **state)
{
	(void)state;
	struct test_curve c;
	make_turning_curve(&c, 0, 0);
	struct forecast *scaled = NULL;
	const struct forecast_opts opts = {
		.target = 24, .dataset_ratio = 2, .frequency_ratio = 1.25
	};
	struct err err;
	assert_int_equal(
		forecast_run(&c.curve, forecast_method_by_name("estima"), &opts, &scaled, &err), 0);
	AUTO(forecast) struct forecast *f = forecast_of(&c, "estima", 24);
	for (uint32_t n = 1; n <= 24; n++) {
		assert_near(value_at(scaled, n), value_at(f, n) * 2 / 1.25, 1e-12);
		assert_near(scaled->stalls[0].values[n - 1], 2 * f->stalls[0].values[n - 1], 1e-12);
	}
	assert_non_null(strstr(scaled->notes[0], "1.25"));
	forecast_free(scaled);
}

/* A lock is not waited for with one thread, and may be the only category there is. */
static void counts_without_stalls_do_not_spoil_the_rest(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 12);
	name_stalls(&c, 2);
	for (size_t i = 0; i < 12; i++) {
		double n = c.points[i].threads;
		c.stalls[i][0] = 3 * n * (n - 1);
		c.points[i].value = 2 + 20 / n + 0.1 * n;
	}
	AUTO(forecast) struct forecast *f = forecast_of(&c, "estima", 24);
	assert_sane(f);
	assert_near(value_at(f, 1), 22.1, 0.01);
	assert_near(value_at(f, 24), 2 + 20. / 24 + 2.4, 0.1);
	assert_true(f->stalls[1].values[23] == 0);
}

/* Which category will dominate is said whatever method predicts the time. */
static void every_method_tells_the_shares_of_the_stalls(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 12);
	name_stalls(&c, 2);
	for (size_t i = 0; i < 12; i++) {
		double n = c.points[i].threads;
		c.stalls[i][0] = 100;
		c.stalls[i][1] = n * n;
		c.points[i].value = 2 + 20 / n;
	}
	AUTO(forecast) struct forecast *f = forecast_of(&c, "auto", 24);
	assert_int_equal(f->stall_count, 2);
	assert_near(f->stalls[1].share_at_target, 576. / 676, 0.01);
	assert_near(f->stalls[0].values[11], 100, 0.01);
}

/* Four counts are too few for ESTIMA's functions, and a category that is left out would be missing from every share. */
static void stalls_without_a_function_go_on_as_at_the_last_counts(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 4);
	name_stalls(&c, 2);
	for (size_t i = 0; i < 4; i++) {
		double n = c.points[i].threads = 1U << i;
		c.stalls[i][0] = 3 * n;
		c.stalls[i][1] = n * n * n;
		c.points[i].value = 2 + 20 / n;
	}
	AUTO(forecast) struct forecast *f = forecast_of(&c, "auto", 16);
	assert_int_equal(f->stall_count, 2);
	assert_near(f->stalls[0].values[15], 48, 0.001);
	assert_near(f->stalls[1].values[15], 4 * 512, 0.001); /* at most as the square */
	assert_near(f->stalls[1].values[7], 512, 0.001);
	assert_near(f->stalls[1].values[5], (64 + 512) / 2., 0.001);
	assert_near(f->stalls[1].share_at_target, 2048. / (2048 + 48), 0.001);
	assert_non_null(strstr(f->notes[0], "go on as from the last ones"));
}

static void no_stalls_are_refused_with_what_to_measure(void **state)
{
	(void)state;
	struct test_curve c;
	curve_dense(&c, METRIC_TIME, 12);
	for (size_t i = 0; i < 12; i++)
		c.points[i].value = 1;
	struct forecast *f = NULL;
	struct err err;
	const struct forecast_opts opts = { .target = 24 };
	const struct forecast_method *estima = forecast_method_by_name("estima");
	assert_int_equal(forecast_run(&c.curve, estima, &opts, &f, &err), -EDOM);
	assert_non_null(strstr(err.text, "corecast measure"));
	assert_non_null(strstr(err.text, "--sync-stalls"));

	name_stalls(&c, 1); /* a column of zeros */
	assert_int_equal(forecast_run(&c.curve, estima, &opts, &f, &err), -EDOM);
	assert_null(f);
	assert_non_null(strstr(err.text, "zero"));
}

/* Of every prefix from 3 on, for as many kernels as have no more coefficients than points. */
static void candidates_see_only_their_prefix(void **state)
{
	(void)state;
	double n[12], y[12];
	for (size_t i = 0; i < 12; i++) {
		n[i] = (double)(i + 1);
		y[i] = 10 + n[i];
	}
	y[11] = 1000; /* at a checkpoint: worsens errors, changes no fit */
	AUTO_RELEASE(candidates) struct candidates c = { 0 };
	assert_int_equal(candidates_make(n, y, 12, &c), 0);
	/* coefficients 5, 6, 7, 4, 3, 4: fits at prefixes 3..10 */
	assert_in_range(c.count, 30, 6 + 5 + 4 + 7 + 8 + 7);
	for (size_t i = 0; i < c.count; i++) {
		assert_in_range(c.all[i].prefix, 3, 10);
		assert_int_equal(c.all[i].checkpoints, c.all[i].prefix <= 8 ? 4 : 2);
		assert_true(i == 0 || c.all[i].checkpoints < c.all[i - 1].checkpoints ||
			    c.all[i].error >= c.all[i - 1].error);
		if (c.all[i].fit.kernel == &kernel_poly25)
			assert_near(fit_value(&c.all[i].fit, 10), 20, 1e-6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stalls_of_each_kernel_are_predicted_at_twice_the_counts),
		cmocka_unit_test(the_factor_of_each_kernel_is_recovered),
		cmocka_unit_test(stalls_show_a_turn_that_time_does_not),
		cmocka_unit_test(the_category_that_will_dominate_is_named),
		cmocka_unit_test(larger_data_and_a_faster_clock_scale_the_times),
		cmocka_unit_test(counts_without_stalls_do_not_spoil_the_rest),
		cmocka_unit_test(every_method_tells_the_shares_of_the_stalls),
		cmocka_unit_test(stalls_without_a_function_go_on_as_at_the_last_counts),
		cmocka_unit_test(no_stalls_are_refused_with_what_to_measure),
		cmocka_unit_test(candidates_see_only_their_prefix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
