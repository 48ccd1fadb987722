/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that threads write side by side, from samples of what each does (plugin/sharing.h). */
#include "cmocka_all.h"

#include "plugin/pace.h"
#include "plugin/sharing.h"

#include <math.h>

enum { LINE = 77, WEIGHT = 50 };

/* In place of pace.c: who is said to wait. */
static const struct vcpu *waiting;

bool pace_runs(const struct vcpu *vcpu)
{
	return vcpu != waiting;
}

static struct profile_slot slots[2];
static struct vcpu vcpus[2];

static void start(void)
{
	sharing_forked();
	waiting = NULL;
	for (int i = 0; i < 2; i++) {
		slots[i].instructions = 0;
		vcpus[i].slot = &slots[i];
	}
}

/* So many samples, one in `gap` instructions: each a store, for WEIGHT of them. */
static void store(int thread, int samples, uint64_t gap)
{
	for (int i = 0; i < samples; i++) {
		slots[thread].instructions += gap;
		sharing_sample(&vcpus[thread], LINE, true, WEIGHT);
	}
}

static double odds_of(const struct vcpu *vcpu, uint64_t line, uint64_t instructions)
{
	return sharing_odds(vcpu, line, instructions).written;
}

static void odds_grow_with_the_time_between_accesses(void **state)
{
	(void)state;
	start();
	/* 50 stores in 1,000 instructions; in turns, as on one core. */
	store(0, 20, 1000);
	store(1, 20, 1000);
	assert_float_equal(odds_of(&vcpus[0], LINE, 0), 0, 0);
	/* 19 gaps of 20 samples, less the bias of one over their span. */
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 1 - exp(-18.0 / 19), 1e-9);
	assert_float_equal(odds_of(&vcpus[0], LINE, 2000), 1, 1e-9);
	assert_float_equal(odds_of(&vcpus[0], LINE + 1, 2000), 0, 0);
}

static void who_waits_or_is_done_writes_nothing(void **state)
{
	(void)state;
	start();
	store(1, 20, 1000);
	waiting = &vcpus[1];
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 0, 0);
	waiting = NULL;
	assert_true(odds_of(&vcpus[0], LINE, 20) > 0);
	slots[1].instructions += 20000;
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 0, 0);
	store(1, 20, 1000);
	assert_true(odds_of(&vcpus[0], LINE, 20) > 0);
	sharing_end(&vcpus[1]);
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 0, 0);
}

static void the_rate_follows_what_is_done_last(void **state)
{
	(void)state;
	start();
	store(1, 500, 1000);
	store(1, 500, 4000);
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 1 - exp(-0.25), 0.01);
}

static void a_line_that_stays_outlives_those_that_pass(void **state)
{
	(void)state;
	start();
	store(1, 20, 1000);
	for (uint64_t line = 1000; line < 5000; line++)
		sharing_sample(&vcpus[1], line, true, WEIGHT);
	assert_true(odds_of(&vcpus[0], LINE, 20) > 0);
}

static void only_instructions_that_met_are_known(void **state)
{
	(void)state;
	start();
	enum { FREE = 1, LOCKED = 2 };
	sharing_meet(5, FREE, LINE, true, false);
	assert_false(sharing_is_met(5, true));
	sharing_meet(5, FREE, LINE, true, true);
	assert_true(sharing_is_met(5, true));
	sharing_meet(6, FREE, LINE + 1, true, false);
	sharing_meet(6, LOCKED, LINE, true, false);
	assert_false(sharing_is_met(6, true));
	sharing_meet(6, FREE, LINE, true, false);
	assert_true(sharing_is_met(6, true));
	assert_false(sharing_is_met(6, false));
	sharing_meet(7, LOCKED, LINE, false, true);
	sharing_meet(7, LOCKED, LINE, true, false);
	assert_true(sharing_is_met(7, false));
	assert_false(sharing_is_met(7, true));
}

/* 7 stores beside one another in 1,000 instructions: who looks at 50 of them meets their coming or does not. */
static void stores_in_a_burst_are_no_more_than_one(void **state)
{
	(void)state;
	enum { BURST = 6, REST = 994, PERIOD = BURST + REST, LOOK = 50 };
	start();
	store(1, 20, PERIOD);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < BURST; k++)
			sharing_gap(&vcpus[1], LINE, 1);
		sharing_gap(&vcpus[1], LINE, REST);
	}
	struct sharing_odds odds = sharing_odds(&vcpus[0], LINE, LOOK);
	assert_float_equal(odds.written, LOOK / (double)REST, 1e-6);
	assert_float_equal(odds.writers, odds.written, 1e-9);
	assert_float_equal(odds_of(&vcpus[0], LINE, 2 * PERIOD), 1, 1e-9);
	assert_true(sharing_is_shared(&vcpus[0], LINE));
	assert_false(sharing_is_shared(&vcpus[1], LINE));
}

/* Of who stores all the time, all of it; and of a burst what is longer than a line takes to come. */
static void stores_all_the_time_take_the_line_each_time(void **state)
{
	(void)state;
	enum { GAP = 10, BURST = 300, REST = 700, LOOK = 10 };
	start();
	store(1, 20, GAP);
	for (int i = 0; i < 60; i++)
		sharing_gap(&vcpus[1], LINE, GAP);
	assert_float_equal(odds_of(&vcpus[0], LINE, LOOK), 1, 1e-6);
	start();
	store(1, 20, BURST + REST);
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < BURST / GAP; k++)
			sharing_gap(&vcpus[1], LINE, GAP);
		sharing_gap(&vcpus[1], LINE, REST);
	}
	assert_float_equal(odds_of(&vcpus[0], LINE, LOOK),
		(LOOK + 2 / 3.0 * BURST) / (REST + 2 / 3.0 * BURST), 1e-6);
}

/* One of seven gaps is between bursts: until one was seen, the rate of stores says that it is lacking. */
static void the_first_gaps_are_not_all(void **state)
{
	(void)state;
	enum { SAMPLES = 20, GAP = 1000 };
	start();
	store(1, SAMPLES, GAP);
	double rate = (SAMPLES - 2.0) / (SAMPLES - 1) * WEIGHT / GAP, seen = 6;
	for (int i = 0; i < 6; i++)
		sharing_gap(&vcpus[1], LINE, 1);
	double lacking = 7 / rate - seen;
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 1 - exp(-20 / lacking), 1e-6);
}

static void two_samples_say_nothing_of_a_rate(void **state)
{
	(void)state;
	start();
	store(1, 2, 10);
	assert_float_equal(odds_of(&vcpus[0], LINE, 20), 0, 0);
	store(1, 1, 10);
	assert_true(odds_of(&vcpus[0], LINE, 20) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odds_grow_with_the_time_between_accesses),
		cmocka_unit_test(who_waits_or_is_done_writes_nothing),
		cmocka_unit_test(the_rate_follows_what_is_done_last),
		cmocka_unit_test(a_line_that_stays_outlives_those_that_pass),
		cmocka_unit_test(only_instructions_that_met_are_known),
		cmocka_unit_test(stores_in_a_burst_are_no_more_than_one),
		cmocka_unit_test(stores_all_the_time_take_the_line_each_time),
		cmocka_unit_test(the_first_gaps_are_not_all),
		cmocka_unit_test(two_samples_say_nothing_of_a_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
