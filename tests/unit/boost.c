/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is to be faster: Algorithm 1 and its reactive rules by hand, and BIS. */
#include "cmocka_all.h"

#include "tune/boost.h"

#include <string.h>

enum { THREADS = 4, A = 11, B = 12, C = 13, D = 14 };

struct run {
	const struct boost_policy *policy;
	struct boost_settings settings;
	struct boost_state state;
	bool is_waiting[THREADS], has_exited[THREADS];
};

static struct run begin(const struct boost_policy *policy)
{
	return (struct run){ .policy = policy, .state = { BOOST_NONE, BOOST_NONE } };
}

/* What the caller would see: thread i has id A + i. */
static uint32_t step(struct run *run, const uint64_t *criticality)
{
	struct boost_thread threads[THREADS];
	struct boost_view view = { .threads = threads, .only = BOOST_NONE };
	uint32_t active = 0;
	for (uint32_t i = 0; i < THREADS; i++) {
		if (run->has_exited[i])
			continue;
		threads[view.thread_count++] = (struct boost_thread){
			.id = A + i,
			.criticality = criticality ? criticality[i] : 0,
			.is_active = !run->is_waiting[i],
		};
		active += !run->is_waiting[i];
		view.only = active == 1 && !run->is_waiting[i] ? A + i
			    : active > 1                       ? (uint32_t)BOOST_NONE
							       : view.only;
	}
	if (criticality && run->policy->slice)
		run->policy->slice(&run->settings, &view, &run->state);
	for (size_t i = 0; i < view.thread_count; i++)
		if (threads[i].id == run->state.held)
			view.is_held_active = threads[i].is_active;
	run->policy->change(&view, &run->state);
	return run->state.fast;
}

static uint32_t slice(struct run *run, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return step(run, (const uint64_t[]){ a, b, c, d });
}

static uint32_t wait_of(struct run *run, uint32_t id)
{
	run->is_waiting[id - A] = true;
	return step(run, NULL);
}

static uint32_t wake_of(struct run *run, uint32_t id)
{
	run->is_waiting[id - A] = false;
	return step(run, NULL);
}

static uint32_t exit_of(struct run *run, uint32_t id)
{
	run->has_exited[id - A] = true;
	return step(run, NULL);
}

static void each_critical(void (*check)(const struct boost_policy *policy))
{
	check(&boost_policy_dynamic);
	check(&boost_policy_resume);
}

static void check_alpha(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 100, 100, 100), BOOST_NONE);
	assert_int_equal(slice(&run, 100, 120, 100, 100), BOOST_NONE); /* not above alpha */
	assert_int_equal(slice(&run, 100, 121, 100, 100), B);
}

static void a_thread_is_critical_above_alpha(void **state)
{
	(void)state;
	each_critical(check_alpha);
}

/* Held B: its own criticality has shrunk because it is faster, which is no reason to let it go. */
static void check_held(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(slice(&run, 100, 80, 100, 100), B); /* beta: 80 / 100 is not below 0.8 */
	assert_int_equal(slice(&run, 100, 79, 100, 100), BOOST_NONE);
	assert_int_equal(slice(&run, 100, 79, 100, 100), A); /* now B is the least: 100 / 79 */
}

static void who_is_held_is_left_out_of_the_least(void **state)
{
	(void)state;
	each_critical(check_held);
}

static void check_moves(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(slice(&run, 100, 90, 130, 100), C);
	assert_int_equal(slice(&run, 100, 90, 130, 100), C);
	/* The least that is not held is 100: 125 / 100 is above alpha although C is the most. */
	assert_int_equal(slice(&run, 100, 110, 125, 100), C);
}

static void a_more_critical_thread_takes_over(void **state)
{
	(void)state;
	each_critical(check_moves);
}

static void check_ties(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 200, 200, 100), B); /* the first */
	run = begin(policy);
	assert_int_equal(slice(&run, 100, 100, 200, 100), C);
	assert_int_equal(slice(&run, 100, 200, 200, 100), C); /* who is held already */
}

static void of_equals_the_held_one_stays(void **state)
{
	(void)state;
	each_critical(check_ties);
}

static void check_idle(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 0, 0, 0, 0), BOOST_NONE);
	assert_int_equal(slice(&run, 0, 7, 0, 0), B); /* the others did nothing at all */
	assert_int_equal(slice(&run, 0, 0, 0, 0), BOOST_NONE);
	assert_int_equal(run.state.held, BOOST_NONE);
}

static void nobody_is_critical_when_nothing_ran(void **state)
{
	(void)state;
	each_critical(check_idle);
}

static void check_exit(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(exit_of(&run, B), BOOST_NONE);
	assert_int_equal(
		slice(&run, 100, 500, 100, 100), BOOST_NONE); /* what it did is no reason */
	assert_int_equal(run.state.held, BOOST_NONE);
	assert_int_equal(exit_of(&run, A), BOOST_NONE);
	assert_int_equal(exit_of(&run, D), C); /* alone */
	assert_int_equal(slice(&run, 0, 0, 100, 0), C);
	assert_int_equal(exit_of(&run, C), BOOST_NONE);
	assert_int_equal(slice(&run, 0, 0, 0, 0), BOOST_NONE);
}

static void who_exits_is_not_fast(void **state)
{
	(void)state;
	each_critical(check_exit);
}

static void check_alone(const struct boost_policy *policy)
{
	struct run run = begin(policy);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(wait_of(&run, A), B);
	assert_int_equal(wait_of(&run, C), B);
	assert_int_equal(wait_of(&run, B), D); /* alone, and not fast yet */
	assert_int_equal(wait_of(&run, D), BOOST_NONE); /* nobody is active */
}

static void who_is_alone_is_fast(void **state)
{
	(void)state;
	each_critical(check_alone);
}

/* The published rule says what ends a boost, not that it comes back within the slice. */
static void who_was_scheduled_out_waits_for_the_next_slice(void **state)
{
	(void)state;
	struct run run = begin(&boost_policy_dynamic);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(wait_of(&run, B), BOOST_NONE);
	assert_int_equal(wake_of(&run, B), BOOST_NONE);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	/* Who is alone is held, until the next slice says otherwise. */
	wait_of(&run, B), wait_of(&run, A), wait_of(&run, C);
	assert_int_equal(run.state.fast, D);
	assert_int_equal(wake_of(&run, A), D);
	assert_int_equal(wake_of(&run, B), D);
	assert_int_equal(slice(&run, 150, 100, 100, 100), A);
}

static void who_resumes_is_fast_again(void **state)
{
	(void)state;
	struct run run = begin(&boost_policy_resume);
	assert_int_equal(slice(&run, 100, 150, 100, 100), B);
	assert_int_equal(wait_of(&run, B), BOOST_NONE);
	assert_int_equal(wake_of(&run, B), B);
	wait_of(&run, B), wait_of(&run, A), wait_of(&run, C);
	assert_int_equal(run.state.fast, D);
	assert_int_equal(wake_of(&run, A), BOOST_NONE);
	assert_int_equal(wake_of(&run, B), B);
}

/* Chosen while it waits: its core has nothing to do faster, until it wakes up. */
static void who_is_chosen_asleep_is_fast_when_it_wakes(void **state)
{
	(void)state;
	struct run run = begin(&boost_policy_dynamic);
	run.is_waiting[1] = true;
	assert_int_equal(slice(&run, 100, 150, 100, 100), BOOST_NONE);
	assert_int_equal(wake_of(&run, B), B);
	assert_int_equal(wait_of(&run, B), BOOST_NONE);
	assert_int_equal(wake_of(&run, B), BOOST_NONE);
}

static void other_thresholds_are_kept(void **state)
{
	(void)state;
	struct run run = begin(&boost_policy_dynamic);
	run.settings = (struct boost_settings){ .alpha = 2, .beta = 0.5 };
	assert_int_equal(slice(&run, 100, 200, 100, 100), BOOST_NONE);
	assert_int_equal(slice(&run, 100, 201, 100, 100), B);
	assert_int_equal(slice(&run, 100, 50, 100, 100), B);
	assert_int_equal(slice(&run, 100, 49, 100, 100), BOOST_NONE);
}

static uint32_t contend(struct run *run, const struct boost_bottleneck *bottlenecks, size_t count)
{
	struct boost_view view = {
		.bottlenecks = bottlenecks, .bottleneck_count = count, .only = A
	};
	run->policy->change(&view, &run->state);
	return run->state.fast;
}

static void bis_follows_the_most_contended_bottleneck(void **state)
{
	(void)state;
	struct run run = begin(&boost_policy_bis);
	const struct boost_bottleneck first[] = { { 100, B }, { 300, C }, { 200, D } };
	const struct boost_bottleneck orphan[] = { { 100, B }, { 300, BOOST_NONE }, { 200, D } };
	const struct boost_bottleneck tie[] = { { 200, B }, { 200, D } };
	assert_int_equal(contend(&run, first, 3), C);
	assert_int_equal(contend(&run, orphan, 3), D);
	assert_int_equal(contend(&run, tie, 2), D); /* who is fast already */
	run.state.held = BOOST_NONE;
	assert_int_equal(contend(&run, tie, 2), B);
	assert_int_equal(contend(&run, NULL, 0), BOOST_NONE); /* being alone is no bottleneck */
}

static void policies_are_found_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; boost_policies[i]; i++)
		assert_ptr_equal(boost_policy_by_name(boost_policies[i]->name), boost_policies[i]);
	assert_null(boost_policy_by_name("none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_critical_above_alpha),
		cmocka_unit_test(who_is_held_is_left_out_of_the_least),
		cmocka_unit_test(a_more_critical_thread_takes_over),
		cmocka_unit_test(of_equals_the_held_one_stays),
		cmocka_unit_test(nobody_is_critical_when_nothing_ran),
		cmocka_unit_test(who_exits_is_not_fast),
		cmocka_unit_test(who_is_alone_is_fast),
		cmocka_unit_test(who_was_scheduled_out_waits_for_the_next_slice),
		cmocka_unit_test(who_resumes_is_fast_again),
		cmocka_unit_test(who_is_chosen_asleep_is_fast_when_it_wakes),
		cmocka_unit_test(other_thresholds_are_kept),
		cmocka_unit_test(bis_follows_the_most_contended_bottleneck),
		cmocka_unit_test(policies_are_found_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
