/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An interval in parts ends as soon as it says enough, and not before. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "tune/interval.h"
#include "tune/tuner.h"

#include <math.h>

enum { PARTS = 8 };

static double noisy(struct rng *rng, double level, double sd)
{
	return level * exp(sd * rng_normal(rng));
}

/* As many whole intervals as tell the noise. */
static void learn(struct interval *interval, struct rng *rng, double level, double sd)
{
	for (int i = 0; i < 4; i++) {
		for (int part = 0; part < PARTS; part++)
			interval_add(interval, noisy(rng, level, sd), 1.0 / PARTS);
		assert_true(interval_is_whole(interval));
		interval_end(interval, 0);
	}
}

static void without_knowledge_of_the_noise_nothing_differs(void **state)
{
	(void)state;
	struct interval interval = { .count = 0 };
	for (int part = 0; part < PARTS; part++) {
		assert_false(interval_is_whole(&interval));
		interval_add(&interval, 1, 1.0 / PARTS);
		assert_false(interval_differs(&interval, 0, 100, 1, 1e-4));
	}
	assert_true(interval_is_whole(&interval));
	interval_end(&interval, 0);
	interval_add(&interval, 1, 1); /* a whole one at once */
	assert_true(interval_is_whole(&interval));
	assert_false(interval_differs(&interval, 0, 100, 1, 1e-4));
}

/* Two parts of 20% noise show a level three times as high, not one that is 10% higher. */
static void what_is_clear_is_seen_at_once(void **state)
{
	(void)state;
	struct interval interval = { .count = 0 };
	struct rng rng;
	rng_init(&rng, 1);
	learn(&interval, &rng, 50, 0.2);
	interval_add(&interval, 300, 1.0 / PARTS);
	assert_false(interval_differs(&interval, 0, 100, 1, 1e-4)); /* one may be a stutter */
	interval_add(&interval, 310, 1.0 / PARTS);
	assert_true(interval_differs(&interval, 0, 100, 1, 1e-4));
	assert_true(interval_differs(&interval, 0, 1000, 1, 1e-4));
	assert_false(interval_differs(&interval, 0, 330, 1, 1e-4));
	/* Behind some of another level, the last two are seen too. */
	interval_end(&interval, 0);
	for (int part = 0; part < 4; part++)
		interval_add(&interval, part < 2 ? 100 : 300, 1.0 / PARTS);
	assert_true(interval_differs(&interval, 2, 100, 4, 1e-4));
	double share, mean = interval_mean(&interval, 2, &share);
	assert_float_equal(mean, 300, 1e-9);
	assert_float_equal(share, 2.0 / PARTS, 1e-12);
}

/* Equal levels differ as seldom as promised: 2% of 2000 are 40; 65 is four standard deviations more. */
static void false_alarms_are_as_rare_as_promised(void **state)
{
	(void)state;
	enum { RUNS = 2000 };
	int alarms = 0;
	struct rng rng;
	rng_init(&rng, 2);
	for (int run = 0; run < RUNS; run++) {
		struct interval interval = { .count = 0 };
		learn(&interval, &rng, 1, 0.1);
		double known = noisy(&rng, 1, 0.1 / sqrt(PARTS)); /* the mean of one interval */
		interval_add(&interval, noisy(&rng, 1, 0.1), 1.0 / PARTS);
		interval_add(&interval, noisy(&rng, 1, 0.1), 1.0 / PARTS);
		alarms += interval_differs(&interval, 0, known, 1, 0.02);
	}
	assert_in_range(alarms, 10, 65);
}

/* Of 8 counts the second is the best, and the others do a tenth of it. */
static double intervals_at_bad_counts(int parts)
{
	struct tuner_opts opts = { .space = { .max = 8 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	struct rng rng;
	double bad = 0;
	rng_init(&rng, 3);
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (int i = 0; i < 40 * parts; i++) {
		double rate = noisy(&rng, d.threads == 2 ? 10 : 1, 0.02);
		bad += d.threads == 2 ? 0 : 1.0 / parts;
		assert_int_equal(tuner_measured(tuner, rate, 1.0 / parts, &d, NULL), 0);
	}
	assert_int_equal(d.held, 2);
	return bad;
}

static void what_is_bad_is_left_early(void **state)
{
	(void)state;
	double whole = intervals_at_bad_counts(1), in_parts = intervals_at_bad_counts(PARTS);
	if (in_parts > 0.7 * whole)
		fail_msg("%g intervals, %g in parts", whole, in_parts);
}

/*
 * The load changes in the middle of an interval; eight threads are the best before and behind it. What was seen of them in
 * that interval is half of each load's; if that were believed, fewer threads would look better.
 */
static void an_interval_of_two_workloads_is_not_believed(void **state)
{
	(void)state;
	enum { CHANGE = 20, LAST = 60 };
	struct tuner_opts opts = { .space = { .max = 8 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	int restarts = 0;
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (int i = 0; i < LAST; i++) {
		double before = d.threads, behind = 100 + d.threads;
		double rate = i < CHANGE ? before : i > CHANGE ? behind : (before + behind) / 2;
		if (i == CHANGE)
			assert_int_equal(d.held, 8);
		assert_int_equal(tuner_measured(tuner, rate, 1, &d, NULL), 0);
		restarts += d.has_restarted;
	}
	assert_int_equal(restarts, 1);
	assert_int_equal(d.state, TUNER_HOLDING);
	assert_int_equal(d.held, 8);
	const struct tune_set known = tuner_measurements(tuner);
	assert_float_equal(tune_set_find(&known, 8)->performance, 108, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_knowledge_of_the_noise_nothing_differs),
		cmocka_unit_test(what_is_clear_is_seen_at_once),
		cmocka_unit_test(false_alarms_are_as_rare_as_promised),
		cmocka_unit_test(what_is_bad_is_left_early),
		cmocka_unit_test(an_interval_of_two_workloads_is_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
