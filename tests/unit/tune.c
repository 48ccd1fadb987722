/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller and its policies: the best count is found, held, and found again after a change. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "tune/change.h"
#include "tune/gap.h"
#include "tune/tuner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 200, HELD = 100 };

/* Rates by thread count: universal scalability law, with its optimum at sqrt((1 - sigma) / kappa). */
static double usl(uint32_t n, double sigma, double kappa)
{
	return n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

static double peak_at_16(uint32_t n)
{
	return usl(n, 0.02, 0.98 / 256);
}

static double linear(uint32_t n)
{
	return n;
}

static double collapses(uint32_t n)
{
	return n == 1 ? 10 : 1 - 0.001 * n;
}

static double best_rate(double (*rate)(uint32_t n), uint32_t max)
{
	double best = 0;
	for (uint32_t n = 1; n <= max; n++)
		best = fmax(best, rate(n));
	return best;
}

/* Runs a search of 1 .. 64; the last decision. */
static struct tuner_decision search(const struct tune_policy *policy, double (*rate)(uint32_t n))
{
	struct tuner_opts opts = { .space = { .max = 64 }, .policy = policy, .seed = 1 };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (int i = 0; i < STEPS_MAX && d.state == TUNER_SEARCHING; i++)
		assert_int_equal(tuner_measured(tuner, rate(d.threads), 1, &d, NULL), 0);
	assert_int_equal(d.state, TUNER_HOLDING);
	return d;
}

static void expect_found(
	const struct tune_policy *policy, double (*rate)(uint32_t n), uint32_t steps)
{
	struct tuner_decision d = search(policy, rate);
	if (rate(d.threads) < 0.98 * best_rate(rate, 64))
		fail_msg("%s chose %u", policy->name, d.threads);
	if (d.steps > steps)
		fail_msg("%s took %u steps", policy->name, d.steps);
}

static void every_policy_finds_a_smooth_peak(void **state)
{
	(void)state;
	for (const struct tune_policy *const *p = tune_policies; *p; p++) {
		expect_found(*p, peak_at_16, 14);
		expect_found(*p, linear, 14);
	}
	expect_found(&tune_policy_process, linear, 3);
	expect_found(&tune_policy_process, peak_at_16, 6);
}

static void one_thread_may_be_the_best(void **state)
{
	(void)state;
	expect_found(&tune_policy_process, collapses, 10);
}

/* PreSca, section 4.5: counts 1, 5, 13, ... until performance falls. */
static void binsearch_climbs_by_doubled_steps(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 64 }, .policy = &tune_policy_binsearch };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	const uint32_t climb[] = { 1, 5, 13, 29, 21 };
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(climb); i++) {
		assert_int_equal(d.threads, climb[i]);
		assert_int_equal(tuner_measured(tuner, peak_at_16(d.threads), 1, &d, NULL), 0);
	}
}

/* Three points on a rational function of degrees 1 and 1 determine it: the highest count follows. */
static void opresca_begins_with_given_counts(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 64, .initial = { 8, 16, 32 } },
		.policy = &tune_policy_opresca };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	const uint32_t counts[] = { 8, 16, 32, 64 };
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_int_equal(d.threads, counts[i]);
		double amdahl = 1 / (0.1 + 0.9 / d.threads);
		assert_int_equal(tuner_measured(tuner, amdahl, 1, &d, NULL), 0);
	}
	assert_int_equal(d.state, TUNER_HOLDING);
	assert_int_equal(d.threads, 64);
}

static void the_ends_of_the_space_are_kept(void **state)
{
	(void)state;
	for (const struct tune_policy *const *p = tune_policies; *p; p++)
		for (uint32_t min = 1; min <= 5; min++)
			for (uint32_t max = min; max <= 9; max++) {
				struct tuner_opts opts = { .space = { .min = min, .max = max },
					.policy = *p };
				AUTO(tuner) struct tuner *tuner = NULL;
				struct tuner_decision d;
				assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
				for (int i = 0; i < 2 * STEPS_MAX / 10; i++) {
					assert_in_range(d.threads, min, max);
					assert_int_equal(
						tuner_measured(tuner, d.threads, 1, &d, NULL), 0);
				}
				assert_int_equal(d.state, TUNER_HOLDING);
			}
	struct tuner *tuner;
	struct tuner_decision d;
	struct err err;
	struct tuner_opts none = { 0 }, crossed = { .space = { .min = 3, .max = 2 } };
	assert_int_equal(tuner_new(&none, &tuner, &d, &err), -EINVAL);
	assert_int_equal(tuner_new(&crossed, &tuner, &d, &err), -EINVAL);
}

static void an_interval_without_work_is_repeated(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 64 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision first, d;
	assert_int_equal(tuner_new(&opts, &tuner, &first, NULL), 0);
	const double nothing[] = { 0, -1, NAN, INFINITY };
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
		assert_int_equal(tuner_measured(tuner, nothing[i], 1, &d, NULL), 0);
		assert_int_equal(d.threads, first.threads);
		assert_int_equal(d.steps, 0);
	}
	assert_int_equal(tuner_measurements(tuner).count, 0);
}

/* After a change the search starts over and finds the other peak; with 2% of noise, and without one. */
static void a_change_of_the_workload_is_followed(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 64 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	struct rng rng;
	rng_init(&rng, 3);
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	double (*const phases[])(uint32_t n) = { peak_at_16, linear, peak_at_16 };
	for (size_t phase = 0; phase < ARRAY_SIZE(phases); phase++) {
		int restarts = 0;
		for (int i = 0; i < HELD; i++) {
			double noise = 1 + 0.02 * rng_normal(&rng);
			double scale = phase == 1 ? 0.3 : 1;
			assert_int_equal(
				tuner_measured(tuner, scale * phases[phase](d.threads) * noise, 1,
					&d, NULL),
				0);
			restarts += d.has_restarted;
		}
		assert_int_equal(restarts, phase > 0);
		assert_int_equal(d.state, TUNER_HOLDING);
		assert_true(phases[phase](d.threads) > 0.95 * best_rate(phases[phase], 64));
	}
}

/* A search that begins again knows a count already, the one that was held. */
static void every_policy_searches_again(void **state)
{
	(void)state;
	for (const struct tune_policy *const *p = tune_policies; *p; p++) {
		struct tuner_opts opts = { .space = { .max = 64 }, .policy = *p, .seed = 1 };
		AUTO(tuner) struct tuner *tuner = NULL;
		struct tuner_decision d;
		assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
		for (int i = 0; i < 2 * HELD; i++) {
			double rate = i < HELD ? peak_at_16(d.threads) : 0.1 * linear(d.threads);
			assert_int_equal(tuner_measured(tuner, rate, 1, &d, NULL), 0);
		}
		if (d.state != TUNER_HOLDING || d.threads < 60)
			fail_msg("%s ended at %u", (*p)->name, d.threads);
	}
}

/* What was measured stays: the search goes on where there is more room. */
static void a_wider_space_is_searched(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 4 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (int i = 0; i < HELD; i++)
		assert_int_equal(tuner_measured(tuner, peak_at_16(d.threads), 1, &d, NULL), 0);
	assert_int_equal(d.held, 4);
	assert_int_equal(tuner_widen(tuner, 4, &d, NULL), -EINVAL);
	assert_int_equal(tuner_widen(tuner, 64, &d, NULL), 0);
	assert_int_equal(d.state, TUNER_SEARCHING);
	for (int i = 0; i < HELD; i++)
		assert_int_equal(tuner_measured(tuner, peak_at_16(d.threads), 1, &d, NULL), 0);
	assert_int_equal(d.state, TUNER_HOLDING);
	assert_true(peak_at_16(d.held) > 0.98 * best_rate(peak_at_16, 64));
}

/* On a noisy machine counts of the same worth are held in turn, so that the drop meets each of them anew. */
static void a_change_is_seen_whichever_count_is_held(void **state)
{
	(void)state;
	enum { RUNS = 40, PATIENCE = 60 };
	int missed = 0;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		struct tuner_opts opts = { .space = { .max = 8 }, .seed = seed };
		AUTO(tuner) struct tuner *tuner = NULL;
		struct tuner_decision d;
		struct rng rng;
		rng_init(&rng, seed);
		assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
		int seen = 0;
		for (int i = 0; i < HELD + PATIENCE; i++) {
			double rate = i < HELD ? 100 : 5.0 * d.threads;
			double noise = exp(0.3 * rng_normal(&rng));
			assert_int_equal(tuner_measured(tuner, rate * noise, 1, &d, NULL), 0);
			seen += i >= HELD && d.has_restarted;
		}
		missed += seen == 0;
	}
	assert_int_equal(missed, 0);
}

/* Of one thread's rate: 0.6 of all others', then five times theirs, which stay as they were. */
static double unseen(uint32_t threads, int interval)
{
	return threads > 1 ? 1 : interval < HELD ? 0.6 : 5;
}

static int runs_that_find(double look, double *ret_share)
{
	enum { RUNS = 20 };
	int found = 0, intervals = 0;
	*ret_share = 0;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		struct tuner_opts opts = { .space = { .max = 4 }, .seed = seed, .look = look };
		AUTO(tuner) struct tuner *tuner = NULL;
		struct tuner_decision d;
		struct rng rng;
		rng_init(&rng, seed);
		assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
		for (int i = 0; i < 3 * HELD; i++) {
			double rate = unseen(d.threads, i);
			if (i < HELD && d.state == TUNER_HOLDING) {
				*ret_share += rate;
				intervals++;
			}
			double noise = exp(0.02 * rng_normal(&rng));
			assert_int_equal(tuner_measured(tuner, rate * noise, 1, &d, NULL), 0);
			assert_true(d.is_look || d.held == d.threads);
		}
		found += d.held == 1;
	}
	*ret_share /= intervals;
	return found;
}

static void looks_find_a_change_that_the_held_count_does_not_show(void **state)
{
	(void)state;
	double share;
	assert_int_equal(runs_that_find(0, &share), 0);
	assert_true(share > 1 - 1e-9);
	assert_in_range(runs_that_find(0.02, &share), 15, 20);
	assert_true(share > 1 - 0.02 && share < 1); /* and cost no more than they may */
}

/* One thread is steady; more of them do a fifth, and never the same: a look says nothing against the one that is held. */
static void noise_of_a_worse_count_is_no_change(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct tuner_opts opts = {
			.space = { .max = 8 }, .false_alarm = 1e-7, .seed = seed, .look = 0.02
		};
		AUTO(tuner) struct tuner *tuner = NULL;
		struct tuner_decision d;
		struct rng rng;
		rng_init(&rng, seed);
		assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
		int looks = 0;
		for (int i = 0; i < 3 * HELD; i++) {
			double sd = d.is_look ? 0.3 : 0.002;
			double rate = d.threads == 1 ? 5 : 1;
			looks += d.is_look;
			assert_int_equal(tuner_measured(tuner, rate * exp(sd * rng_normal(&rng)), 1,
						 &d, NULL),
				0);
			assert_false(d.has_restarted);
		}
		assert_true(looks > 0);
		assert_int_equal(d.held, 1);
	}
}

/* Half as many threads as there may be have cores of their own, and the first one beyond takes a third from all. */
static double drops_behind_half(uint32_t threads)
{
	return threads <= 32 ? threads : 32 / 1.5 + 0.1 * (threads - 32);
}

static void a_cliff_that_the_search_stepped_over_is_looked_for(void **state)
{
	(void)state;
	for (int looks = 0; looks < 2; looks++) {
		struct tuner_opts opts = { .space = { .max = 64 }, .look = looks ? 0.02 : 0 };
		AUTO(tuner) struct tuner *tuner = NULL;
		struct tuner_decision d;
		assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
		for (int i = 0; i < HELD; i++)
			assert_int_equal(
				tuner_measured(tuner, drops_behind_half(d.threads), 1, &d, NULL),
				0);
		bool has_found = drops_behind_half(d.held) > 0.98 * 32;
		assert_int_equal(has_found, looks);
	}
}

static void the_gap_that_promises_most_is_looked_into(void **state)
{
	(void)state;
	const struct tune_space space = { .min = 1, .max = 64 };
	const struct tune_point points[] = { { 4, 1, 4, 0 }, { 16, 1, 16, 0 }, { 64, 1, 20, 0 } };
	const struct tune_set set = { points, ARRAY_SIZE(points), 64 };
	assert_int_equal(gap_choose(&space, &set, 64, 0.1, 0), 32);
	assert_int_equal(gap_choose(&space, &set, 64, 0.1, 10), 0); /* nothing would be seen */
	/* Neither neighbours nor what is far below. */
	const struct tune_point near[] = { { 62, 1, 62, 0 }, { 63, 1, 63, 0 }, { 64, 1, 64, 0 } };
	const struct tune_set closed = { near, ARRAY_SIZE(near), 64 };
	assert_int_equal(gap_choose(&space, &closed, 64, 0.1, 0), 0);
	/* Of a curve that is flat, what is below the fewest; above the most, what was added since. */
	const struct tune_point flat[] = { { 8, 1, 10, 0 }, { 9, 1, 10, 0 } };
	const struct tune_set low = { flat, ARRAY_SIZE(flat), 8 };
	const struct tune_space narrow = { .min = 1, .max = 9 }, wide = { .min = 8, .max = 12 };
	assert_int_equal(gap_choose(&narrow, &low, 8, 0.1, 0), 1);
	assert_int_equal(gap_choose(&wide, &low, 8, 0.1, 0), 12);
}

/* All but one thread do the same: the search goes down, not through what is between. */
static double contended(uint32_t threads)
{
	return threads == 1 ? 5 : 1;
}

static void a_plateau_is_not_searched(void **state)
{
	(void)state;
	expect_found(&tune_policy_process, contended, 4);
}

/* Plays a load and then another, an interval in eight parts with 1% of noise: of the interval, for each part. */
static struct tuner_decision play_change(double (*const rates[2])(uint32_t n), double scale,
	int change, int end, uint64_t seed, int *ret_restarted)
{
	enum { PARTS = 8 };
	struct tuner_opts opts = { .space = { .max = 64 }, .seed = seed, .look = 0.02 };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	struct rng rng;
	rng_init(&rng, seed);
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	*ret_restarted = -1;
	for (int i = 0; i < end * PARTS; i++) {
		int is_behind = i >= change;
		double rate = rates[is_behind](d.threads) * (is_behind ? scale : 1);
		double noise = exp(0.01 * sqrt(PARTS) * rng_normal(&rng));
		assert_int_equal(tuner_measured(tuner, rate * noise, 1.0 / PARTS, &d, NULL), 0);
		if (d.has_restarted && is_behind && *ret_restarted < 0)
			*ret_restarted = i - change;
	}
	return d;
}

/* In whatever part of the first search the load falls, and another count becomes the best: that is found. */
static void a_change_during_the_search_is_followed(void **state)
{
	(void)state;
	enum { PARTS_OF_SEARCH = 40, END = 60 };
	double (*const rates[])(uint32_t n) = { linear, collapses };
	for (int change = 0; change < PARTS_OF_SEARCH; change++) {
		int restarted;
		struct tuner_decision d =
			play_change(rates, 0.1, change, END, (uint64_t)change + 1, &restarted);
		if (d.held != 1)
			fail_msg("behind a change in part %d, %u are held", change, d.held);
	}
}

/* In whatever part of the first search the load grows: counts that were tried before are not taken for worse. */
static void growth_during_the_search_is_followed(void **state)
{
	(void)state;
	enum { PARTS_OF_SEARCH = 40, END = 25 };
	double (*const rates[])(uint32_t n) = { peak_at_16, peak_at_16 };
	double best = best_rate(peak_at_16, 64);
	for (int change = 0; change < PARTS_OF_SEARCH; change++) {
		int restarted;
		struct tuner_decision d =
			play_change(rates, 3, change, END, (uint64_t)change + 1, &restarted);
		if (peak_at_16(d.held) < 0.95 * best)
			fail_msg("behind growth in part %d, %u are held", change, d.held);
	}
}

/* Few intervals were held when the load changes: what the search saw, and how parts scatter, is enough. */
static void a_held_count_is_contradicted_at_once(void **state)
{
	(void)state;
	enum { SEARCHED = 32, END = 12, SOON = 8 };
	double (*const rates[])(uint32_t n) = { linear, linear };
	for (uint64_t seed = 1; seed <= 20; seed++) {
		int restarted;
		(void)play_change(rates, 0.5, SEARCHED, END, seed, &restarted); /* only when */
		assert_in_range(restarted, 1, SOON);
	}
}

/* A load that scatters more than the one before it is another one nevertheless. */
static void more_scatter_does_not_hide_a_change(void **state)
{
	(void)state;
	struct change change = { .count = 0 };
	struct rng rng;
	rng_init(&rng, 1);
	size_t first;
	for (int i = 0; i < 9; i++)
		assert_int_equal(
			change_add(&change, 0.005 * rng_normal(&rng), 1e-4, &first), CHANGE_NONE);
	const double levels[] = { 0.25, 0.85, 0.27 }; /* of a lock that is handed over or not */
	assert_int_equal(change_add(&change, levels[0], 1e-4, &first), CHANGE_SUSPECTED);
	enum change_verdict verdict = change_add(&change, levels[1], 1e-4, &first);
	if (verdict != CHANGE_SEEN)
		verdict = change_add(&change, levels[2], 1e-4, &first);
	assert_int_equal(verdict, CHANGE_SEEN);
	assert_int_equal(first, 9);
}

/* Two that stand apart in front of a change do not hide it. */
static void a_change_behind_outliers_is_seen(void **state)
{
	(void)state;
	const double values[] = { 0, 0.004, -0.003, 0.005, 0.001, -0.004, 0.49, -0.4, -5.05,
		-5.06 };
	struct change change = { .noise = 0.005 };
	size_t first = 0;
	enum change_verdict verdict = CHANGE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_not_equal(verdict, CHANGE_SEEN);
		verdict = change_add(&change, values[i], 1e-4, &first);
	}
	assert_int_equal(verdict, CHANGE_SEEN);
	assert_int_equal(first, 8);
}

/* No more alarms than promised, over many runs of pure noise; and a step of 5 sigma is seen at once. */
static void alarms_come_as_promised(void **state)
{
	(void)state;
	enum { RUNS = 200, LENGTH = 100 };
	const double level = 1e-3;
	struct rng rng;
	rng_init(&rng, 1);
	size_t first;
	int alarms = 0;
	for (int run = 0; run < RUNS; run++) {
		struct change change = { .count = 0 };
		for (int i = 0; i < LENGTH; i++)
			if (change_add(&change, 5 + 0.1 * rng_normal(&rng), level, &first) ==
				CHANGE_SEEN) {
				alarms++;
				change_reset(&change);
			}
	}
	/* 20,000 values: 20 are allowed; three standard deviations above that is 34. */
	assert_in_range(alarms, 0, 34);

	struct change change = { .count = 0 };
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			change_add(&change, 0.1 * rng_normal(&rng), 1e-4, &first), CHANGE_NONE);
	int until = 0;
	while (change_add(&change, 0.5 + 0.1 * rng_normal(&rng), 1e-4, &first) != CHANGE_SEEN)
		until++;
	assert_in_range(until, 1, 4);
	assert_int_equal(first, 20);
}

/* One interval of another speed, however far off, is not taken for a change, nor does it count. */
static void an_outlier_changes_nothing(void **state)
{
	(void)state;
	struct tuner_opts opts = { .space = { .max = 64 } };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	assert_int_equal(tuner_new(&opts, &tuner, &d, NULL), 0);
	for (int i = 0; i < HELD; i++)
		assert_int_equal(tuner_measured(tuner, peak_at_16(d.threads), 1, &d, NULL), 0);
	uint32_t held = d.threads;
	for (int i = 0; i < HELD; i++) {
		double factor = i % 20 == 10 ? 0.1 : 1;
		assert_int_equal(
			tuner_measured(tuner, factor * peak_at_16(d.threads), 1, &d, NULL), 0);
		assert_int_equal(d.threads, held);
		assert_false(d.has_restarted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy_finds_a_smooth_peak),
		cmocka_unit_test(one_thread_may_be_the_best),
		cmocka_unit_test(binsearch_climbs_by_doubled_steps),
		cmocka_unit_test(opresca_begins_with_given_counts),
		cmocka_unit_test(the_ends_of_the_space_are_kept),
		cmocka_unit_test(an_interval_without_work_is_repeated),
		cmocka_unit_test(a_change_of_the_workload_is_followed),
		cmocka_unit_test(every_policy_searches_again),
		cmocka_unit_test(a_wider_space_is_searched),
		cmocka_unit_test(a_change_is_seen_whichever_count_is_held),
		cmocka_unit_test(an_outlier_changes_nothing),
		cmocka_unit_test(looks_find_a_change_that_the_held_count_does_not_show),
		cmocka_unit_test(noise_of_a_worse_count_is_no_change),
		cmocka_unit_test(a_cliff_that_the_search_stepped_over_is_looked_for),
		cmocka_unit_test(the_gap_that_promises_most_is_looked_into),
		cmocka_unit_test(a_plateau_is_not_searched),
		cmocka_unit_test(a_change_during_the_search_is_followed),
		cmocka_unit_test(growth_during_the_search_is_followed),
		cmocka_unit_test(a_held_count_is_contradicted_at_once),
		cmocka_unit_test(more_scatter_does_not_hide_a_change),
		cmocka_unit_test(a_change_behind_outliers_is_seen),
		cmocka_unit_test(alarms_come_as_promised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
