/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events and slices to the thread that is to be faster, by hand. */
#include "cmocka_all.h"

#include "tune/booster.h"

#include <string.h>

enum { MS = 1000000, US = 1000, LOCK_1 = 0x100, LOCK_2 = 0x200 };

static struct booster *begin(const struct boost_policy *policy, uint32_t threads)
{
	struct booster *booster = NULL;
	struct booster_opts opts = { .policy = policy };
	assert_int_equal(booster_new(&opts, &booster, NULL), 0);
	for (uint32_t tid = 1; tid <= threads; tid++) {
		struct event event = { .pid = 1, .tid = tid, .kind = EVENT_THREAD_START };
		assert_int_equal(booster_event(booster, &event), 0);
	}
	return booster;
}

/* tid, 0: none. */
static uint32_t fast_of(const struct booster *booster)
{
	uint32_t fast = booster_fast(booster);
	return fast == BOOST_NONE ? 0 : booster_account(booster)->threads[fast].tid;
}

static uint32_t step(struct booster *booster, uint64_t time_ns, uint32_t tid, enum event_kind kind,
	enum event_what what, uint64_t object)
{
	struct event event = { .time_ns = time_ns,
		.object = object,
		.pid = 1,
		.tid = tid,
		.kind = (uint8_t)kind,
		.what = (uint8_t)what };
	assert_int_equal(booster_event(booster, &event), 0);
	return fast_of(booster);
}

static uint32_t slice(struct booster *booster, uint64_t time_ns)
{
	assert_int_equal(booster_slice(booster, time_ns), 0);
	return fast_of(booster);
}

static void who_is_left_alone_is_fast_at_once(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_dynamic, 3);
	assert_int_equal(fast_of(booster), 1); /* the first to start was alone */
	assert_int_equal(step(booster, 1 * MS, 1, EVENT_WAIT, WHAT_BARRIER, LOCK_1), 0);
	assert_int_equal(step(booster, 2 * MS, 3, EVENT_WAIT, WHAT_BARRIER, LOCK_1), 2);
	assert_int_equal(step(booster, 3 * MS, 2, EVENT_THREAD_EXIT, WHAT_NONE, 0), 0);
}

/* Slices in which one of two waits for half the time: 7.5 ms against 2.5 ms; summed up they are equal. */
static void each_slice_counts_anew(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_resume, 2);
	step(booster, 1 * MS, 2, EVENT_WAIT, WHAT_SEM, LOCK_1);
	assert_int_equal(step(booster, 6 * MS, 2, EVENT_WOKEN, WHAT_SEM, LOCK_1), 0);
	assert_int_equal(slice(booster, 10 * MS), 1);
	assert_int_equal(slice(booster, 20 * MS), 1); /* 5 and 5: above beta */
	step(booster, 21 * MS, 1, EVENT_WAIT, WHAT_SEM, LOCK_1);
	assert_int_equal(step(booster, 26 * MS, 1, EVENT_WOKEN, WHAT_SEM, LOCK_1), 1);
	assert_int_equal(slice(booster, 30 * MS), 0); /* the only other one is no less critical */
	assert_int_equal(slice(booster, 40 * MS), 0);
	step(booster, 41 * MS, 1, EVENT_WAIT, WHAT_SEM, LOCK_1);
	step(booster, 46 * MS, 1, EVENT_WOKEN, WHAT_SEM, LOCK_1);
	assert_int_equal(slice(booster, 50 * MS), 2);
}

static void a_slice_without_threads_chooses_nobody(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_dynamic, 0);
	assert_int_equal(slice(booster, 10 * MS), 0);
	AUTO(booster) struct booster *over = begin(&boost_policy_dynamic, 1);
	assert_int_equal(fast_of(over), 1);
	step(over, 1 * MS, 1, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	assert_int_equal(slice(over, 10 * MS), 0);
}

/* A tid that comes again is another thread. */
static void a_tid_may_come_again(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_resume, 3);
	step(booster, 1 * MS, 1, EVENT_WAIT, WHAT_SEM, LOCK_1);
	step(booster, 1 * MS, 2, EVENT_WAIT, WHAT_SEM, LOCK_1);
	step(booster, 8 * MS, 1, EVENT_WOKEN, WHAT_SEM, LOCK_1);
	step(booster, 8 * MS, 2, EVENT_WOKEN, WHAT_SEM, LOCK_1);
	assert_int_equal(slice(booster, 10 * MS), 3);
	assert_int_equal(step(booster, 11 * MS, 3, EVENT_THREAD_EXIT, WHAT_NONE, 0), 0);
	assert_int_equal(step(booster, 11 * MS, 3, EVENT_THREAD_START, WHAT_NONE, 0), 0);
	assert_int_equal(slice(booster, 20 * MS), 0); /* 3.0 + 0.5, 3.5, 3.0: nobody is critical */
}

static void bis_makes_the_holder_fast(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_bis, 3);
	assert_int_equal(step(booster, 1 * MS, 1, EVENT_PASS, WHAT_MUTEX, LOCK_1), 0);
	assert_int_equal(step(booster, 2 * MS, 2, EVENT_WAIT, WHAT_MUTEX, LOCK_1), 0);
	assert_int_equal(step(booster, 2 * MS + 511, 3, EVENT_TICK, WHAT_NONE, 0), 0);
	assert_int_equal(step(booster, 2 * MS + 512, 3, EVENT_TICK, WHAT_NONE, 0), 1);
	assert_int_equal(step(booster, 3 * MS, 1, EVENT_RELEASE, WHAT_MUTEX, LOCK_1), 0);
	step(booster, 3 * MS, 2, EVENT_WOKEN, WHAT_MUTEX, LOCK_1);
	assert_int_equal(step(booster, 3 * MS, 2, EVENT_PASS, WHAT_MUTEX, LOCK_1), 2);
	/* Nobody waits any more: below 512 ns after 7 halvings of the 50 to 100 us that it had. */
	assert_int_equal(step(booster, 3 * MS + 800 * US, 3, EVENT_TICK, WHAT_NONE, 0), 0);
	assert_int_equal(step(booster, 4 * MS, 2, EVENT_RELEASE, WHAT_MUTEX, LOCK_1), 0);
}

static void bis_prefers_the_lock_of_more_waiters(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_bis, 5);
	step(booster, 0, 1, EVENT_PASS, WHAT_MUTEX, LOCK_1);
	step(booster, 0, 2, EVENT_PASS, WHAT_MUTEX, LOCK_2);
	step(booster, 1 * MS, 3, EVENT_WAIT, WHAT_MUTEX, LOCK_1);
	assert_int_equal(step(booster, 2 * MS, 4, EVENT_WAIT, WHAT_MUTEX, LOCK_2), 1);
	assert_int_equal(step(booster, 2 * MS, 5, EVENT_WAIT, WHAT_MUTEX, LOCK_2), 1);
	assert_int_equal(slice(booster, 3 * MS), 1); /* slices mean nothing to it */
	assert_int_equal(step(booster, 3 * MS, 1, EVENT_TICK, WHAT_NONE, 0), 2);
	/* A holder that waits for something else cannot go faster. */
	assert_int_equal(step(booster, 4 * MS, 2, EVENT_WAIT, WHAT_IO, 3), 1);
	assert_int_equal(step(booster, 5 * MS, 2, EVENT_PASS, WHAT_IO, 3), 2);
	assert_int_equal(step(booster, 6 * MS, 2, EVENT_THREAD_EXIT, WHAT_NONE, 0), 1);
}

/* Who comes to a barrier is known once all have been there. */
static void bis_makes_the_last_to_arrive_fast(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_bis, 4);
	step(booster, 1 * MS, 1, EVENT_WAIT, WHAT_BARRIER, LOCK_1);
	assert_int_equal(step(booster, 2 * MS, 2, EVENT_WAIT, WHAT_BARRIER, LOCK_1), 0);
	assert_int_equal(step(booster, 3 * MS, 3, EVENT_PASS, WHAT_BARRIER, LOCK_1), 0);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		step(booster, 3 * MS, tid, EVENT_WOKEN, WHAT_BARRIER, LOCK_1);
		step(booster, 3 * MS, tid, EVENT_PASS, WHAT_BARRIER, LOCK_1);
	}
	assert_int_equal(fast_of(booster), 0);
	assert_int_equal(step(booster, 4 * MS, 3, EVENT_WAIT, WHAT_BARRIER, LOCK_1), 0);
	assert_int_equal(step(booster, 5 * MS, 1, EVENT_WAIT, WHAT_BARRIER, LOCK_1), 2);
	assert_int_equal(step(booster, 6 * MS, 2, EVENT_PASS, WHAT_BARRIER, LOCK_1), 0);
}

static void bis_makes_the_slow_stage_fast(void **state)
{
	(void)state;
	AUTO(booster) struct booster *booster = begin(&boost_policy_bis, 3);
	step(booster, 1 * MS, 1, EVENT_RELEASE, WHAT_QUEUE, LOCK_1); /* puts */
	step(booster, 2 * MS, 2, EVENT_WAIT, WHAT_QUEUE, LOCK_1); /* gets */
	assert_int_equal(step(booster, 3 * MS, 3, EVENT_TICK, WHAT_NONE, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_left_alone_is_fast_at_once),
		cmocka_unit_test(each_slice_counts_anew),
		cmocka_unit_test(a_slice_without_threads_chooses_nobody),
		cmocka_unit_test(a_tid_may_come_again),
		cmocka_unit_test(bis_makes_the_holder_fast),
		cmocka_unit_test(bis_prefers_the_lock_of_more_waiters),
		cmocka_unit_test(bis_makes_the_last_to_arrive_fast),
		cmocka_unit_test(bis_makes_the_slow_stage_fast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
