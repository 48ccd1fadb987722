/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits with a condition's own mutex, as C++'s condition_variable_any has it. */
#include "passed_on.h"

#include "trace/any_cond.h"

enum { USER = 100, OWN = 101, COND = 102 };

static void give(const struct event_sink *sink, uint32_t tid, enum event_kind kind,
	enum event_what what, uint64_t object, uint16_t flags)
{
	struct event event = { .pid = 1,
		.tid = tid,
		.kind = (uint8_t)kind,
		.what = (uint8_t)what,
		.object = object,
		.value = kind == EVENT_WAIT && what == WHAT_COND ? OWN : 0,
		.flags = flags };
	assert_int_equal(sink_event(sink, &event, NULL), 0);
}

/* In two halves: until it sleeps, and from there on. */
static void begin_wait(const struct event_sink *sink, uint32_t tid)
{
	give(sink, tid, EVENT_PASS, WHAT_MUTEX, USER, 0);
	give(sink, tid, EVENT_PASS, WHAT_MUTEX, OWN, 0);
	give(sink, tid, EVENT_RELEASE, WHAT_MUTEX, USER, 0);
	give(sink, tid, EVENT_RELEASE, WHAT_MUTEX, OWN, EVENT_IMPLICIT);
	give(sink, tid, EVENT_WAIT, WHAT_COND, COND, 0);
}

static void end_wait(const struct event_sink *sink, uint32_t tid)
{
	give(sink, tid, EVENT_PASS, WHAT_COND, COND, EVENT_WAITED);
	give(sink, tid, EVENT_PASS, WHAT_MUTEX, OWN, EVENT_IMPLICIT);
	give(sink, tid, EVENT_RELEASE, WHAT_MUTEX, OWN, 0);
	give(sink, tid, EVENT_PASS, WHAT_MUTEX, USER, 0);
	give(sink, tid, EVENT_RELEASE, WHAT_MUTEX, USER, 0);
}

static void notify(const struct event_sink *sink, uint32_t tid)
{
	give(sink, tid, EVENT_PASS, WHAT_MUTEX, OWN, 0);
	give(sink, tid, EVENT_RELEASE, WHAT_COND, COND, EVENT_ALL);
	give(sink, tid, EVENT_RELEASE, WHAT_MUTEX, OWN, 0);
}

static void assert_event(
	const struct event *event, enum event_kind kind, uint64_t object, uint16_t flags)
{
	assert_int_equal(event->kind, kind);
	assert_int_equal(event->object, object);
	assert_int_equal(event->flags, flags);
}

static void the_second_wait_is_the_users_locks(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(any_cond) struct any_cond any = { .next = &next };
	struct event_sink sink = any_cond_sink(&any);
	begin_wait(&sink, 1);
	end_wait(&sink, 1);
	assert_int_equal(passed.count, 10); /* as it is */
	assert_int_equal(passed.events[4].value, OWN);
	passed.count = 0;
	begin_wait(&sink, 1);
	notify(&sink, 2);
	end_wait(&sink, 1);
	assert_int_equal(passed.count, 7);
	assert_event(&passed.events[0], EVENT_PASS, USER, 0);
	assert_event(&passed.events[1], EVENT_RELEASE, USER, EVENT_IMPLICIT);
	assert_event(&passed.events[2], EVENT_WAIT, COND, 0);
	assert_int_equal(passed.events[2].value, USER);
	assert_event(&passed.events[3], EVENT_RELEASE, COND, EVENT_ALL);
	assert_event(&passed.events[4], EVENT_PASS, COND, EVENT_WAITED);
	assert_event(&passed.events[5], EVENT_PASS, USER, EVENT_IMPLICIT);
	assert_event(&passed.events[6], EVENT_RELEASE, USER, 0);
}

/* Who took the mutex before it was known what it is for gives it back, too. */
static void a_section_that_began_unknown_is_told_to_its_end(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(any_cond) struct any_cond any = { .next = &next };
	struct event_sink sink = any_cond_sink(&any);
	begin_wait(&sink, 1);
	begin_wait(&sink, 2);
	end_wait(&sink, 2);
	passed.count = 0;
	end_wait(&sink, 1);
	assert_int_equal(passed.count, 5);
	assert_event(&passed.events[2], EVENT_RELEASE, OWN, 0);
	assert_event(&passed.events[3], EVENT_PASS, USER, 0);
}

/* From one lock to the next, and a wait with the second. */
static void hand_over_hand_is_no_such_wait(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(any_cond) struct any_cond any = { .next = &next };
	struct event_sink sink = any_cond_sink(&any);
	for (int i = 0; i < 2; i++) {
		passed.count = 0;
		begin_wait(&sink, 1);
		give(&sink, 1, EVENT_PASS, WHAT_COND, COND, EVENT_WAITED);
		give(&sink, 1, EVENT_PASS, WHAT_MUTEX, OWN, EVENT_IMPLICIT);
		give(&sink, 1, EVENT_PASS, WHAT_MUTEX, USER, 0);
		give(&sink, 1, EVENT_RELEASE, WHAT_MUTEX, OWN, 0);
		give(&sink, 1, EVENT_RELEASE, WHAT_MUTEX, USER, 0);
		assert_int_equal(passed.count, 10);
		assert_int_equal(passed.events[4].value, OWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_wait_is_the_users_locks),
		cmocka_unit_test(a_section_that_began_unknown_is_told_to_its_end),
		cmocka_unit_test(hand_over_hand_is_no_such_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
