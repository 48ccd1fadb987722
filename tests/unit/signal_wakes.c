/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who let whom go: signals that come before who waited gets a core are told to one waiter each; rounds of a barrier. */
#include "preload/profiled.h"
#include "preload/wakes.h"

#include "cmocka_all.h"

struct profile_page *profiled_page; /* what clock.c wants of profiled.c */

static void expect(const void *object, uint64_t since_ns, uint64_t time_ns, uint32_t tid)
{
	struct wake wake = wake_take(object, since_ns);
	assert_int_equal(wake.time_ns, time_ns);
	assert_int_equal(wake.tid, tid);
}

static void each_signal_lets_one_go(void **state)
{
	(void)state;
	static const char cond[1];
	wake_signal(cond, 10, 1, 1);
	wake_signal(cond, 20, 2, 1);
	wake_signal(cond, 30, 1, 1);
	expect(cond, 7, 10, 1);
	expect(cond, 5, 20, 2);
	expect(cond, 6, 30, 1);
}

static void who_came_later_was_not_meant(void **state)
{
	(void)state;
	static const char cond[1];
	wake_signal(cond, 10, 1, 1);
	wake_signal(cond, 20, 1, 1);
	expect(cond, 15, 20, 1);
	expect(cond, 5, 10, 1);
}

static void a_broadcast_lets_all_go(void **state)
{
	(void)state;
	static const char cond[1];
	assert_false(wake_lets_all_go(cond));
	wake_signal(cond, 10, 1, WAKE_ALL);
	wake_signal(cond, 20, 2, 1);
	assert_true(wake_lets_all_go(cond));
	for (int i = 0; i < 9; i++)
		expect(cond, 5, 10, 1);
	expect(cond, 12, 20, 2);
}

/* More than are kept, or more waiters than signals: the last one is the best guess. */
static void without_a_signal_of_its_own_the_last_is_told(void **state)
{
	(void)state;
	static const char cond[1];
	for (uint32_t i = 1; i <= 20; i++)
		wake_signal(cond, 10 * i, i, 1);
	expect(cond, 5, 130, 13); /* the oldest of eight */
	for (int i = 0; i < 7; i++)
		(void)wake_take(cond, 5);
	expect(cond, 5, 200, 20);
}

/* As many others as programs have: fewer than there are places. */
static void a_barrier_that_nobody_has_come_to_keeps_its_place(void **state)
{
	(void)state;
	static const char objects[1000][64];
	const char *barrier = objects[0];
	wake_parties(barrier, 2);
	for (size_t i = 1; i < 1000; i++)
		wake_note(objects[i], UINT64_MAX - 1, 7);
	uint64_t first_ns = 10, last_ns = 20;
	uint64_t place = wake_arrive(barrier, &first_ns, 1);
	(void)wake_arrive(barrier, &last_ns, 2); /* the round's end is what counts */
	struct wake wake = wake_round(barrier, place);
	assert_int_equal(wake.tid, 2);
	assert_int_equal(wake.time_ns, last_ns);
	assert_true(last_ns > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_signal_lets_one_go),
		cmocka_unit_test(who_came_later_was_not_meant),
		cmocka_unit_test(a_broadcast_lets_all_go),
		cmocka_unit_test(without_a_signal_of_its_own_the_last_is_told),
		cmocka_unit_test(a_barrier_that_nobody_has_come_to_keeps_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
