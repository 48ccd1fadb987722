/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections that a recorder's budget left out, but for their signals. */
#include "passed_on.h"

#include "trace/left_out.h"

enum { MUTEX = 100, COND = 101, PASS_SITE = 7, SIGNAL_SITE = 8 };

static void give(const struct event_sink *sink, uint64_t time_ns, enum event_kind kind,
	enum event_what what, uint64_t object, uint64_t site)
{
	struct event event = { .time_ns = time_ns,
		.pid = 1,
		.tid = 1,
		.kind = (uint8_t)kind,
		.what = (uint8_t)what,
		.object = object,
		.site = site };
	assert_int_equal(sink_event(sink, &event, NULL), 0);
}

/*
 * One whole section, one of which only the signal is there, and one that is told of after its signal, when others have been woken and
 * come to wait for it.
 */
static void give_sections(const struct event_sink *sink, bool has_left_out)
{
	give(sink, 1, EVENT_PASS, WHAT_MUTEX, MUTEX, PASS_SITE);
	give(sink, 2, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	give(sink, 3, EVENT_RELEASE, WHAT_MUTEX, MUTEX, 0);
	if (has_left_out)
		give(sink, 4, EVENT_LEFT_OUT, WHAT_NONE, 0, 0);
	give(sink, 5, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	give(sink, 6, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	give(sink, 6, EVENT_WOKEN, WHAT_COND, COND, 0);
	give(sink, 7, EVENT_PASS, WHAT_MUTEX, MUTEX, PASS_SITE);
	give(sink, 7, EVENT_RELEASE, WHAT_MUTEX, MUTEX, 0);
	assert_int_equal(sink_finish(sink, 8, NULL), 0);
}

static void assert_event(
	const struct passed_on *passed, size_t i, enum event_kind kind, uint64_t object)
{
	assert_int_equal(passed->events[i].kind, kind);
	assert_int_equal(passed->events[i].object, object);
}

static void a_signal_tells_of_its_section(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(left_out) struct left_out left_out = { 0 };
	struct event_sink sink = left_out_sink(&left_out, NULL);
	give_sections(&sink, true);
	sink = left_out_sink(&left_out, &next);
	give_sections(&sink, true);
	assert_int_equal(passed.count, 11);
	assert_event(&passed, 4, EVENT_PASS, MUTEX);
	assert_int_equal(passed.events[4].site, PASS_SITE);
	assert_int_equal(passed.events[4].time_ns, 5);
	assert_event(&passed, 5, EVENT_RELEASE, COND);
	assert_event(&passed, 6, EVENT_RELEASE, MUTEX);
	assert_event(&passed, 7, EVENT_PASS, MUTEX); /* before its signal */
	assert_event(&passed, 8, EVENT_RELEASE, COND);
	assert_event(&passed, 9, EVENT_WOKEN, COND);
	assert_event(&passed, 10, EVENT_RELEASE, MUTEX);
}

static void where_all_is_recorded_nothing_is_added(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(left_out) struct left_out left_out = { 0 };
	struct event_sink sink = left_out_sink(&left_out, NULL);
	give_sections(&sink, false);
	sink = left_out_sink(&left_out, &next);
	give_sections(&sink, false);
	assert_int_equal(passed.count, 8);
	assert_event(&passed, 3, EVENT_RELEASE, COND);
	assert_event(&passed, 4, EVENT_PASS, MUTEX);
	assert_event(&passed, 5, EVENT_RELEASE, COND);
}

/* As a pool's submit() does: three times, then it waits for what it submitted, and submits once more. */
static void give_signals_outside(const struct event_sink *sink)
{
	struct event wait = { .time_ns = 1,
		.pid = 1,
		.tid = 2,
		.kind = EVENT_WAIT,
		.what = WHAT_COND,
		.object = COND,
		.value = MUTEX };
	assert_int_equal(sink_event(sink, &wait, NULL), 0);
	for (uint64_t time_ns = 10; time_ns <= 40; time_ns += 10) {
		if (time_ns == 40)
			give(sink, time_ns - 5, EVENT_WAIT, WHAT_FUTEX, 0, 9);
		give(sink, time_ns, EVENT_PASS, WHAT_MUTEX, MUTEX, PASS_SITE);
		give(sink, time_ns + 1, EVENT_RELEASE, WHAT_MUTEX, MUTEX, 0);
		give(sink, time_ns + 2, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	}
	assert_int_equal(sink_finish(sink, 50, NULL), 0);
}

static void assert_signals_stay_outside(const struct passed_on *passed)
{
	assert_int_equal(passed->count, 14);
	for (size_t i = 0; i < 4; i++) {
		size_t first = 1 + 3 * i + (i == 3);
		assert_event(passed, first, EVENT_PASS, MUTEX);
		assert_event(passed, first + 1, EVENT_RELEASE, MUTEX);
		assert_event(passed, first + 2, EVENT_RELEASE, COND);
	}
}

static void signals_after_their_sections_tell_of_none(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(left_out) struct left_out left_out = { 0 };
	struct event_sink sink = left_out_sink(&left_out, NULL);
	give_signals_outside(&sink);
	sink = left_out_sink(&left_out, &next);
	give_signals_outside(&sink);
	assert_signals_stay_outside(&passed);
}

/* The signal tells of a section of its own: what comes behind the wait is another one. */
static void give_wait(const struct event_sink *sink)
{
	give(sink, 1, EVENT_PASS, WHAT_MUTEX, MUTEX, PASS_SITE);
	give(sink, 2, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	give(sink, 3, EVENT_RELEASE, WHAT_MUTEX, MUTEX, 0);
	give(sink, 4, EVENT_LEFT_OUT, WHAT_NONE, 0, 0);
	give(sink, 5, EVENT_RELEASE, WHAT_COND, COND, SIGNAL_SITE);
	give(sink, 6, EVENT_WAIT, WHAT_FUTEX, 0, 9);
	give(sink, 7, EVENT_PASS, WHAT_MUTEX, MUTEX, PASS_SITE);
	give(sink, 8, EVENT_RELEASE, WHAT_MUTEX, MUTEX, 0);
	assert_int_equal(sink_finish(sink, 9, NULL), 0);
}

static void a_section_behind_a_wait_is_not_the_signals(void **state)
{
	(void)state;
	struct passed_on passed = { 0 };
	struct event_sink next = passed_on_sink(&passed);
	AUTO_RELEASE(left_out) struct left_out left_out = { 0 };
	struct event_sink sink = left_out_sink(&left_out, NULL);
	give_wait(&sink);
	sink = left_out_sink(&left_out, &next);
	give_wait(&sink);
	assert_int_equal(passed.count, 10);
	assert_event(&passed, 4, EVENT_PASS, MUTEX);
	assert_event(&passed, 6, EVENT_RELEASE, MUTEX);
	assert_int_equal(passed.events[7].kind, EVENT_WAIT);
	assert_event(&passed, 8, EVENT_PASS, MUTEX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_tells_of_its_section),
		cmocka_unit_test(where_all_is_recorded_nothing_is_added),
		cmocka_unit_test(signals_after_their_sections_tell_of_none),
		cmocka_unit_test(a_section_behind_a_wait_is_not_the_signals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
