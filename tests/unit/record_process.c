/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The preload library and what a process is made of: threads and their processor time, children, names,
 * its end.
 */
#include "preload/kernel_clock.h"
#include "recorded.h"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#include <inttypes.h>
#include <time.h>

/* The creator holds the lock that they need: none is gone when it is named. */
static void threads_have_the_names_that_their_creator_gave_them(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "names", &trace);
	uint32_t seen = 0;
	for (const struct event *e = trace.events; e < trace.events + trace.count; e++) {
		int number;
		if (e->kind == EVENT_NAME && e->what == WHAT_THREAD &&
			sscanf(e->text, "worker-%d", &number) == 1)
			seen |= 1u << number;
	}
	assert_int_equal(seen, (1u << 20) - 1);
}

/*
 * Handles are used again: none stands for the thread before, which was gone when the next one started. Just
 * after its exit was noted a thread may be waited for: it is not gone yet.
 */
static void assert_joins_wait_for_who_runs(const struct trace *trace)
{
	const struct event *started = NULL; /* the last thread */
	for (const struct event *e = trace->events; e < trace->events + trace->count; e++) {
		if (e->kind == EVENT_THREAD_START)
			started = e;
		if (e->kind == EVENT_WAIT && e->what == WHAT_JOIN)
			for (const struct event *before = trace->events; before < started; before++)
				assert_false(before->kind == EVENT_THREAD_EXIT &&
					     before->tid == e->value);
	}
}

static void threads_one_after_another_share_a_lane(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "one_by_one", &trace);
	assert_int_equal(count_of(&trace, EVENT_THREAD_START, WHAT_NONE, 0), 1001);
	assert_int_equal(count_of(&trace, EVENT_THREAD_EXIT, WHAT_NONE, 0), 1001);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 1000);
	assert_true(trace.header.lanes_taken <= 3);
	assert_joins_wait_for_who_runs(&trace);
}

static void each_forked_child_is_a_process_that_ends(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "forks", &trace);
	assert_int_equal(trace.header.processes, 21);
	assert_int_equal(count_of(&trace, EVENT_THREAD_START, WHAT_NONE, 0), 21);
	assert_int_equal(count_of(&trace, EVENT_THREAD_EXIT, WHAT_NONE, 0), 21);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 20);
	size_t with_parent = 0;
	for (size_t i = 0; i < trace.count; i++)
		if (trace.events[i].kind == EVENT_THREAD_START)
			with_parent += trace.events[i].value == trace.events[0].tid;
	assert_int_equal(with_parent, 20);
}

static void cpu_time_never_falls(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "locks", &trace);
	for (size_t i = 0; i + 1 < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind == EVENT_THREAD_EXIT || event->cpu_ns == 0)
			continue;
		const struct event *next = after(&trace, event);
		assert_true(next->cpu_ns == 0 || next->cpu_ns >= event->cpu_ns);
	}
}

/* The run's clock is read before the thread's, so that their difference is off by what lies between. */
static void cpu_time_passes_no_faster_than_time(void **state)
{
	enum { OFF_NS = 1000000 };
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "one_core", &trace);
	for (size_t i = 0; i + 1 < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind == EVENT_THREAD_EXIT || event->cpu_ns == 0)
			continue;
		const struct event *next = after(&trace, event);
		uint64_t time_ns = next->time_ns - event->time_ns;
		if (next->cpu_ns > event->cpu_ns + time_ns + OFF_NS)
			fail_msg("%" PRIu64 " ns of CPU time in %" PRIu64 " ns",
				next->cpu_ns - event->cpu_ns, time_ns);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Where sleeps are shown by rseq; sanitizers make each call slower. */
static bool knows_who_kept_its_core(void)
{
#if __has_include(<sys/rseq.h>) && !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
	return __rseq_size > 0;
#else
	return false;
#endif
}

/* The least that asking the kernel for CPU time takes. */
static uint64_t asking_ns(void)
{
	uint64_t least_ns = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		struct timespec from, cpu, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		clock_gettime(CLOCK_MONOTONIC, &to);
		uint64_t took_ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 +
				   (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	return least_ns;
}

/* What another machine on this one's cores does can spoil a recording, or two; a recorder that is wrong is so in all. */
enum { RECORDINGS = 6 };

/* The shortest time for which a lock was held in one recording. */
static uint64_t least_held_ns(void)
{
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "brief", &trace);
	uint64_t least_ns = UINT64_MAX;
	for (size_t i = 0; i + 1 < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind != EVENT_PASS || event->what != WHAT_MUTEX ||
			event->flags & EVENT_WAITED)
			continue;
		uint64_t held_ns = after(&trace, event)->time_ns - event->time_ns;
		least_ns = held_ns < least_ns ? held_ns : least_ns;
	}
	return least_ns;
}

/* The kernel likes to give the core away when it is asked, and then nobody gets the lock. */
static void who_kept_its_core_asks_for_no_time_in_a_lock(void **state)
{
	(void)state;
	if (!knows_who_kept_its_core())
		skip();
	for (unsigned i = 0; i < RECORDINGS; i++)
		if (least_held_ns() < asking_ns())
			return;
	fail_msg("held for %" PRIu64 " ns, asking takes %" PRIu64, least_held_ns(), asking_ns());
}

/* Of the CPU times in the sections of one recording the least, and the lower quartile. */
static void measure_sections(uint64_t *ret_least_ns, uint64_t *ret_quartile_ns)
{
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "one_core", &trace);
	AUTO_FREE uint64_t *held_ns = calloc(trace.count, sizeof *held_ns);
	size_t count = 0;
	assert_non_null(held_ns);
	for (size_t i = 0; i + 1 < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind != EVENT_PASS || event->what != WHAT_MUTEX)
			continue;
		const struct event *release = after(&trace, event);
		assert_int_equal(release->kind, EVENT_RELEASE);
		held_ns[count++] = release->cpu_ns - event->cpu_ns;
	}
	assert_true(count > 0);
	qsort(held_ns, count, sizeof *held_ns, by_size);
	*ret_least_ns = held_ns[0];
	*ret_quartile_ns = held_ns[count / 4];
}

/*
 * All of its sections do the same, also those at whose end a thread's clock is read and it loses its core. Cores change
 * their speed, also as machines beside this one do, but not that much.
 */
static void cpu_time_in_a_section_stays_there(void **state)
{
	(void)state;
	uint64_t least_ns = 0, quartile_ns = 0;
	for (unsigned i = 0; i < RECORDINGS; i++) {
		measure_sections(&least_ns, &quartile_ns);
		if (least_ns > quartile_ns / 4)
			return;
	}
	fail_msg("%" PRIu64 " ns of %" PRIu64 " ns", least_ns, quartile_ns);
}

static uint64_t last_cpu_ns(const struct trace *trace, uint32_t tid)
{
	uint64_t cpu_ns = 0;
	for (size_t i = 0; i < trace->count; i++)
		if (trace->events[i].tid == tid && trace->events[i].cpu_ns)
			cpu_ns = trace->events[i].cpu_ns;
	return cpu_ns;
}

static void cpu_time_is_that_of_getrusage(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "cpu", &trace);
	char *line = trace.run.output;
	for (int i = 0; i < 4; i++) {
		uint32_t tid = (uint32_t)strtoul(line, &line, 10);
		double used_us = strtod(line, &line);
		double recorded_us = (double)last_cpu_ns(&trace, tid) * 1e-3;
		if (recorded_us < used_us * 0.98 || recorded_us > used_us * 1.02)
			fail_msg("%u: %g us recorded, %g us used", tid, recorded_us, used_us);
	}
}

/* Switches of a few microseconds each. Up to the last post: the exit reads the clock in any case. */
static void check_cpu_of_turns(struct trace *trace)
{
	char *line = trace->run.output;
	for (int i = 0; i < 2; i++) {
		uint32_t tid = (uint32_t)strtoul(line, &line, 10);
		double used_us = strtod(line, &line), recorded_us = 0;
		for (const struct event *e = trace->events; e < trace->events + trace->count; e++)
			if (e->tid == tid && e->kind == EVENT_RELEASE && e->what == WHAT_SEM)
				recorded_us = (double)e->cpu_ns * 1e-3;
		if (recorded_us < used_us * 0.98 || recorded_us > used_us * 1.02)
			fail_msg("%u: %g us recorded, %g us used", tid, recorded_us, used_us);
	}
}

static void cpu_time_of_many_waits_is_that_of_getrusage(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "turns", &trace);
	check_cpu_of_turns(&trace);
}

/* That of most waits is then estimated. */
static void within_a_budget_it_is_so_too(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record_as("tests/programs/events", "turns",
		&(struct trace_create_opts){ .budget_ppm = 50000 }, &trace);
	check_cpu_of_turns(&trace);
}

/* Where only the readings of the clock take much of it, estimates are made up for. */
static void within_a_large_budget_it_is_so_too(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record_as("tests/programs/events", "turns",
		&(struct trace_create_opts){ .budget_ppm = 500000 }, &trace);
	check_cpu_of_turns(&trace);
}

static const struct event *named(const struct trace *trace, enum event_what what, const char *text)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->events[i].kind == EVENT_NAME && trace->events[i].what == what &&
			trace->events[i].text && strcmp(trace->events[i].text, text) == 0)
			return &trace->events[i];
	fail_msg("nothing is called '%s'", text);
	return NULL;
}

static void marks_and_names_are_there(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "marks", &trace);
	const struct event *begin = first_of(&trace, EVENT_REGION_BEGIN, WHAT_REGION);
	assert_true(begin->object == named(&trace, WHAT_REGION, "outer")->object);
	assert_int_equal(count_of(&trace, EVENT_REGION_BEGIN, WHAT_REGION, 0), 2);
	assert_int_equal(count_of(&trace, EVENT_REGION_END, WHAT_REGION, 0), 2);
	assert_int_equal(first_of(&trace, EVENT_TICK, WHAT_NONE)->value, 7);
	assert_int_equal(first_of(&trace, EVENT_REQUEST_BEGIN, WHAT_NONE)->value, 42);
	assert_int_equal(first_of(&trace, EVENT_REQUEST_END, WHAT_NONE)->value, 42);
	assert_int_equal(named(&trace, WHAT_THREAD, "marker")->object, begin->tid);
	AUTO_FREE char *path = NULL;
	find("tests/programs/events", &path);
	const struct event *module = named(&trace, WHAT_MODULE, path);
	assert_in_range(begin->site, module->object, module->value - 1);
}

static void what_a_killed_program_did_is_there(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "kill", &trace);
	assert_true(WIFSIGNALED(trace.run.status));
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 4000);
	assert_int_equal(count_of(&trace, EVENT_RELEASE, WHAT_MUTEX, 0), 4000);
}

static void a_full_file_ends_the_recording_only(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record_as("tests/programs/events", "locks",
		&(struct trace_create_opts){ .bytes_max = 3 << 16 }, &trace);
	assert_int_equal(trace.run.status, 0);
	assert_int_equal(trace.header.is_full, 1);
	assert_true(trace.header.events_lost > 0);
	/* Four threads take and give back a lock a thousand times: what is not in the file is counted. */
	assert_true(trace.count + trace.header.events_lost >= 2 * 4 * 1000);
}

static void check_behaviour(const char *program, const char *argument, struct trace *ret)
{
	record(program, argument, ret);
	assert_as_without_library(program, argument, &ret->run);
}

static void programs_behave_as_without_a_recorder(void **state)
{
	(void)state;
	static const char *const programs[] = { "tests/programs/behaviour", "tests/programs/errnos",
		"tests/programs/signals", "tests/programs/variants" };
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		check_behaviour(programs[i], NULL, &trace);
	}
}

/* What would kill it under its own filter the recorder leaves, and only that. */
static void programs_that_confine_themselves_behave_so_too(void **state)
{
	(void)state;
	static const struct {
		const char *how;
		uint64_t sections;
	} confined[] = { { "strict", 10000 }, { "killed", 10000 }, { "refused", 10000 },
		{ "no counter", 10000 }, { "nearly all", 20000 }, { "descriptors", 30000 } };
	for (size_t i = 0; i < ARRAY_SIZE(confined); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		check_behaviour("tests/programs/confined", confined[i].how, &trace);
		if (WEXITSTATUS(trace.run.status) == 77)
			skip();
		assert_int_equal(
			count_of(&trace, EVENT_RELEASE, WHAT_MUTEX, 0), confined[i].sections);
	}
}

/* Its library wants to come first, with GCC. */
static void programs_with_address_sanitizer_can_be_recorded(void **state)
{
	(void)state;
	skip_without("tests/programs/sanitized", "no AddressSanitizer here");
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	check_behaviour("tests/programs/sanitized", "100", &trace);
	assert_int_equal(trace.run.status, 0);
	assert_true(count_of(&trace, EVENT_RELEASE, WHAT_MUTEX, 0) >= 100);
}

/* However it ends, what its objects did before main() and after it is recorded. */
static void objects_live_before_and_after_main(void **state)
{
	(void)state;
	static const char *const ends[] = { "return", "exit", "quick", "threads", "abort",
		"_exit" };
	skip_without("tests/programs/statics", "no C++ compiler here");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		check_behaviour("tests/programs/statics", ends[i], &trace);
		const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_COND);
		assert_true(wait->object != 0);
		/* The two that destroy an object of their own: for writing, as they end. */
		assert_true(count_of(&trace, EVENT_RELEASE, WHAT_RWLOCK, 0) >= 4);
	}
}

/* What a handler does while its thread is in the recorder is lost, and nothing else. */
static void a_handler_costs_few_events(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/signals", NULL, &trace);
	/* Some 220 signals, each a post, what it tells a pipe, and perhaps a lock. */
	assert_in_range(trace.header.events_lost, 0, 2000);
	/* A wait in a handler is part of the one that it interrupted, and has no time of its own. */
	assert_true(count_of(&trace, EVENT_RELEASE, WHAT_QUEUE, 0) > 0);
	uint64_t now_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < trace.count; i++)
		assert_in_range(trace.events[i].time_ns, trace.header.start_ns, now_ns);
}

/* An address is a place in one library, though others were loaded before and after it. */
static void unloaded_libraries_have_names(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	check_behaviour("tests/programs/loaded", NULL, &trace);
	unsigned loads[2] = { 0 };
	for (size_t i = 0; i < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind != EVENT_WAIT || event->what != WHAT_MUTEX)
			continue;
		const struct event *library = module_of(&trace, event->object);
		assert_ptr_equal(library, module_of(&trace, event->site));
		loads[0] += strstr(library->text, "/first_plugin.so") != NULL;
		loads[1] += strstr(library->text, "/second_plugin.so") != NULL;
	}
	assert_int_equal(loads[0], 2);
	assert_int_equal(loads[1], 2);
}

static void a_cancelled_wait_was_ended_by_nobody(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/behaviour", NULL, &trace);
	const struct event *pass = after(&trace, first_of(&trace, EVENT_RELEASE, WHAT_COND));
	while (pass->kind != EVENT_PASS)
		pass = after(&trace, pass);
	assert_int_equal(pass->what, WHAT_COND);
	assert_int_equal(pass->flags & EVENT_TIMED_OUT, EVENT_TIMED_OUT);
	assert_int_equal(pass->value, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_the_names_that_their_creator_gave_them),
		cmocka_unit_test(threads_one_after_another_share_a_lane),
		cmocka_unit_test(each_forked_child_is_a_process_that_ends),
		cmocka_unit_test(cpu_time_is_that_of_getrusage),
		cmocka_unit_test(cpu_time_of_many_waits_is_that_of_getrusage),
		cmocka_unit_test(within_a_budget_it_is_so_too),
		cmocka_unit_test(within_a_large_budget_it_is_so_too),
		cmocka_unit_test(cpu_time_never_falls),
		cmocka_unit_test(cpu_time_passes_no_faster_than_time),
		cmocka_unit_test(cpu_time_in_a_section_stays_there),
		cmocka_unit_test(who_kept_its_core_asks_for_no_time_in_a_lock),
		cmocka_unit_test(marks_and_names_are_there),
		cmocka_unit_test(what_a_killed_program_did_is_there),
		cmocka_unit_test(a_full_file_ends_the_recording_only),
		cmocka_unit_test(programs_behave_as_without_a_recorder),
		cmocka_unit_test(programs_that_confine_themselves_behave_so_too),
		cmocka_unit_test(programs_with_address_sanitizer_can_be_recorded),
		cmocka_unit_test(objects_live_before_and_after_main),
		cmocka_unit_test(a_handler_costs_few_events),
		cmocka_unit_test(unloaded_libraries_have_names),
		cmocka_unit_test(a_cancelled_wait_was_ended_by_nobody),
	};
	return cmocka_run_group_tests_name("record_process", tests, NULL, NULL);
}
