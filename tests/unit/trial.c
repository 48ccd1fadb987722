/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices with and without something, in turn: against known gains and chances. */
#include "cmocka_all.h"

#include "tune/trial.h"

#include <math.h>

static struct trial trial_with(bool is_guarded, uint64_t seed)
{
	struct trial trial = { .is_guarded = is_guarded };
	rng_init(&trial.rng, seed);
	return trial;
}

/* A slice of a program of which boosting makes `gain` more, with noise, while its speed drifts. */
static bool run_slice(struct trial *trial, struct rng *noise, double gain, int number)
{
	bool is_on = trial_is_on(trial);
	double drift = 1000 * (1 + 0.002 * number);
	double rate = drift * (is_on ? 1 + gain : 1) * exp(0.05 * rng_normal(noise));
	trial_slice(trial, rate, is_on ? 22 : 20, 0.5);
	return is_on;
}

static void both_halves_are_as_long(void **state)
{
	(void)state;
	struct trial trial = trial_with(false, 1);
	struct rng noise;
	rng_init(&noise, 2);
	int on = 0, first_on = 0;
	for (int i = 0; i < 400; i++) {
		bool is_on = run_slice(&trial, &noise, 0, i);
		assert_int_equal(
			trial_is_on(&trial), trial_is_on(&trial)); /* asking changes nothing */
		on += is_on;
		first_on += i % 2 == 0 && is_on;
	}
	assert_int_equal(on, 200);
	assert_in_range(first_on, 70, 130); /* of 200, drawn: four standard deviations */
	assert_int_equal(trial.rates.count, 200);
}

static void gain_and_energy_are_found_in_spite_of_a_drift(void **state)
{
	(void)state;
	struct trial trial = trial_with(false, 1);
	struct rng noise;
	rng_init(&noise, 3);
	for (int i = 0; i < 400; i++)
		(void)run_slice(&trial, &noise, 0.1, i);
	struct trial_factor f = trial_pairs_factor(&trial.rates, 0.95);
	/* 200 pairs with a scatter of 0.07: 0.005. */
	assert_true(fabs(f.factor - 1.1) < 0.02);
	assert_true(f.low > 1.08 && f.low < f.factor && f.factor < f.high && f.high < 1.12);
	f = trial_pairs_factor(&trial.joules, 0.95);
	assert_true(fabs(f.factor - 1) < 0.02); /* 1.1 times the power, 1.1 times the work */
}

/* The interval holds the truth as often as it says. */
static void intervals_hold_the_truth(void **state)
{
	(void)state;
	enum { RUNS = 1000, SLICES = 12 };
	int held = 0;
	for (int run = 0; run < RUNS; run++) {
		struct trial trial = trial_with(false, (uint64_t)run);
		struct rng noise;
		rng_init(&noise, (uint64_t)run + RUNS);
		for (int i = 0; i < SLICES; i++)
			(void)run_slice(&trial, &noise, 0.05, i);
		struct trial_factor f = trial_pairs_factor(&trial.rates, 0.95);
		held += f.low <= 1.05 && 1.05 <= f.high;
	}
	assert_in_range(held, 925, 975); /* 950: three and a half standard deviations */
}

static void what_rests_says_nothing(void **state)
{
	(void)state;
	struct trial trial = trial_with(true, 1);
	for (int i = 0; i < 20; i++)
		trial_slice(&trial, i % 4 ? 1000 : 0, NAN, 0.5);
	assert_int_equal(trial.rates.count, 5);
	assert_int_equal(trial.joules.count, 0);
	assert_true(isnan(trial_pairs_factor(&trial.joules, 0.95).factor));
}

static double share_on(double gain, uint64_t seed, uint64_t *ret_verdicts)
{
	enum { SLICES = 2000 };
	struct trial trial = trial_with(true, seed);
	struct rng noise;
	rng_init(&noise, seed + 100);
	int on = 0;
	for (int i = 0; i < SLICES; i++)
		on += run_slice(&trial, &noise, gain, i);
	*ret_verdicts = trial.verdicts;
	return (double)on / SLICES;
}

static void a_guard_keeps_what_pays_and_stops_what_costs(void **state)
{
	(void)state;
	uint64_t verdicts;
	assert_true(share_on(0.1, 1, &verdicts) > 0.85);
	assert_true(verdicts > 2);
	assert_true(share_on(-0.07, 2, &verdicts) < 0.15);
	assert_true(verdicts > 2);
}

/* Looked at after every pair, no gain is taken for one in at most one of twenty tests. */
static void a_guard_is_seldom_wrong(void **state)
{
	(void)state;
	enum { RUNS = 500, PAIRS = 60 };
	int wrong = 0;
	for (int run = 0; run < RUNS; run++) {
		struct trial trial = trial_with(true, (uint64_t)run);
		struct rng noise;
		rng_init(&noise, (uint64_t)run + RUNS);
		for (int i = 0; i < 2 * PAIRS && trial.verdicts == 0; i++)
			(void)run_slice(&trial, &noise, 0, 0);
		wrong += trial.verdicts > 0;
	}
	assert_in_range(wrong, 0, 40); /* 25 are allowed; three standard deviations above */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_halves_are_as_long),
		cmocka_unit_test(gain_and_energy_are_found_in_spite_of_a_drift),
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(what_rests_says_nothing),
		cmocka_unit_test(a_guard_keeps_what_pays_and_stops_what_costs),
		cmocka_unit_test(a_guard_is_seldom_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
