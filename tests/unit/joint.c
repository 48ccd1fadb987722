/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two recorders of one thread become one timeline: each row says who tells what, and what is left of it. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "trace/joint.h"

#include <stdlib.h>

enum { PID = 7, LOCK = 0x1000, WORD = 0x2000 };

struct line {
	bool is_of_kernel;
	struct event told;
	bool passes;
	struct event left; /* kind, what and object count; the time is the one told */
};

#define KERNEL(kind_, what_, object_)                                                              \
	true,                                                                                      \
	{                                                                                          \
		.kind = kind_, .what = what_, .object = object_                                    \
	}
#define LIBRARY(kind_, what_, object_)                                                             \
	false,                                                                                     \
	{                                                                                          \
		.kind = kind_, .what = what_, .object = object_                                    \
	}
#define AS(kind_, what_, object_)                                                                  \
	true,                                                                                      \
	{                                                                                          \
		.kind = kind_, .what = what_, .object = object_                                    \
	}
#define NOTHING                                                                                    \
	false,                                                                                     \
	{                                                                                          \
		.kind = EVENT_NONE                                                                 \
	}
#define PASS_OF_LIBRARY                                                                            \
	false,                                                                                     \
	{                                                                                          \
		.kind = EVENT_PASS, .what = WHAT_MUTEX, .object = LOCK, .flags = EVENT_WAITED      \
	}

static void play(const struct line *lines, size_t count)
{
	struct joint joint = { 0 };
	for (size_t i = 0; i < count; i++) {
		struct event event = lines[i].told;
		event.pid = event.tid = PID;
		event.time_ns = 100 + i;
		assert_int_equal(
			joint_take(&joint, &event, lines[i].is_of_kernel), lines[i].passes);
		assert_int_equal(event.time_ns, 100 + i);
		if (!lines[i].passes)
			continue;
		assert_int_equal(event.tid, PID);
		assert_int_equal(event.kind, lines[i].left.kind);
		assert_int_equal(event.what, lines[i].left.what);
		assert_int_equal(event.object, lines[i].left.object);
	}
	joint_release(&joint);
}

static void a_wait_that_both_see_is_one(void **state)
{
	(void)state;
	static const struct line lines[] = {
		{ LIBRARY(EVENT_WAIT, WHAT_MUTEX, LOCK), AS(EVENT_WAIT, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, LOCK), NOTHING },
		{ LIBRARY(EVENT_WOKEN, WHAT_MUTEX, LOCK), AS(EVENT_WOKEN, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_WOKEN, WHAT_FUTEX, LOCK), NOTHING },
		{ KERNEL(EVENT_PASS, WHAT_FUTEX, LOCK), AS(EVENT_RUN, WHAT_NONE, 0) },
		{ PASS_OF_LIBRARY, AS(EVENT_PASS, WHAT_MUTEX, LOCK) },
	};
	play(lines, ARRAY_SIZE(lines));
}

static void the_kernel_says_when_the_library_does_not(void **state)
{
	(void)state;
	static const struct line lines[] = {
		{ LIBRARY(EVENT_WAIT, WHAT_MUTEX, LOCK), AS(EVENT_WAIT, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, WORD), NOTHING },
		{ KERNEL(EVENT_WOKEN, WHAT_FUTEX, WORD), AS(EVENT_WOKEN, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_PASS, WHAT_FUTEX, WORD), AS(EVENT_RUN, WHAT_NONE, 0) },
		/* Another thread was faster. */
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, WORD), AS(EVENT_WAIT, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_WOKEN, WHAT_FUTEX, WORD), AS(EVENT_WOKEN, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_PASS, WHAT_FUTEX, WORD), AS(EVENT_RUN, WHAT_NONE, 0) },
		{ PASS_OF_LIBRARY, AS(EVENT_PASS, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_PREEMPT, WHAT_NONE, 0), AS(EVENT_PREEMPT, WHAT_NONE, 0) },
	};
	play(lines, ARRAY_SIZE(lines));
}

static void a_wait_that_the_library_does_not_know_stays(void **state)
{
	(void)state;
	static const struct line lines[] = {
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, WORD), AS(EVENT_WAIT, WHAT_FUTEX, WORD) },
		{ KERNEL(EVENT_WOKEN, WHAT_FUTEX, WORD), AS(EVENT_WOKEN, WHAT_FUTEX, WORD) },
		{ KERNEL(EVENT_PASS, WHAT_FUTEX, WORD), AS(EVENT_PASS, WHAT_FUTEX, WORD) },
		/* The clocks differ: the library's wait seems to begin within the kernel's. */
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, WORD), AS(EVENT_WAIT, WHAT_FUTEX, WORD) },
		{ LIBRARY(EVENT_WAIT, WHAT_MUTEX, LOCK), AS(EVENT_WAIT, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_WOKEN, WHAT_FUTEX, WORD), AS(EVENT_WOKEN, WHAT_MUTEX, LOCK) },
		{ KERNEL(EVENT_PASS, WHAT_FUTEX, WORD), AS(EVENT_RUN, WHAT_NONE, 0) },
		{ PASS_OF_LIBRARY, AS(EVENT_PASS, WHAT_MUTEX, LOCK) },
	};
	play(lines, ARRAY_SIZE(lines));
}

static void a_thread_starts_and_ends_once(void **state)
{
	(void)state;
	static const struct line lines[] = {
		{ KERNEL(EVENT_THREAD_START, WHAT_NONE, 0), AS(EVENT_THREAD_START, WHAT_NONE, 0) },
		{ LIBRARY(EVENT_THREAD_START, WHAT_NONE, 0), NOTHING },
		/* Its routine is news. */
		{ LIBRARY(EVENT_THREAD_START, WHAT_NONE, 9), AS(EVENT_THREAD_START, WHAT_NONE, 9) },
		{ LIBRARY(EVENT_THREAD_EXIT, WHAT_NONE, 0), AS(EVENT_THREAD_EXIT, WHAT_NONE, 0) },
		{ KERNEL(EVENT_PREEMPT, WHAT_NONE, 0), NOTHING },
		{ KERNEL(EVENT_WAIT, WHAT_FUTEX, WORD), NOTHING },
		{ KERNEL(EVENT_THREAD_EXIT, WHAT_NONE, 0), NOTHING },
		/* Its number is another thread's now. */
		{ LIBRARY(EVENT_THREAD_START, WHAT_NONE, 9), AS(EVENT_THREAD_START, WHAT_NONE, 9) },
		{ KERNEL(EVENT_THREAD_START, WHAT_NONE, 0), NOTHING },
		{ KERNEL(EVENT_THREAD_EXIT, WHAT_NONE, 0), AS(EVENT_THREAD_EXIT, WHAT_NONE, 0) },
	};
	play(lines, ARRAY_SIZE(lines));
}

static void what_is_seen_from_outside_stays(void **state)
{
	(void)state;
	static const struct line lines[] = {
		{ LIBRARY(EVENT_SAMPLE, WHAT_NONE, 3), AS(EVENT_SAMPLE, WHAT_NONE, 3) },
		{ LIBRARY(EVENT_THREAD_START, WHAT_NONE, 0), AS(EVENT_THREAD_START, WHAT_NONE, 0) },
		{ KERNEL(EVENT_DISK_QUEUE, WHAT_DISK, 1), AS(EVENT_DISK_QUEUE, WHAT_DISK, 1) },
	};
	play(lines, ARRAY_SIZE(lines));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_both_see_is_one),
		cmocka_unit_test(the_kernel_says_when_the_library_does_not),
		cmocka_unit_test(a_wait_that_the_library_does_not_know_stays),
		cmocka_unit_test(a_thread_starts_and_ends_once),
		cmocka_unit_test(what_is_seen_from_outside_stays),
	};
	return cmocka_run_group_tests_name("joint", tests, NULL, NULL);
}
