/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that wait and lock a known number of times, recorded by the preload library, read back. */
#include "recorded.h"

#include <sys/prctl.h>

#define HOLD_NS 50000000u /* the programs hold a waiter so long */

static const struct {
	const char *name;
	enum event_what what;
} wait_cases[] = {
	{ "lock", WHAT_MUTEX },
	{ "timedlock", WHAT_MUTEX },
	{ "clocklock", WHAT_MUTEX },
	{ "read", WHAT_RWLOCK },
	{ "timed_read", WHAT_RWLOCK },
	{ "write", WHAT_RWLOCK },
	{ "spin", WHAT_SPIN },
	{ "barrier", WHAT_BARRIER },
	{ "cond", WHAT_COND },
	{ "cond_timed", WHAT_COND },
	{ "cond_clock", WHAT_COND },
	{ "sem", WHAT_SEM },
	{ "sem_timed", WHAT_SEM },
	{ "join", WHAT_JOIN },
	{ "join_timed", WHAT_JOIN },
	{ "mtx", WHAT_MUTEX },
	{ "cnd", WHAT_COND },
};

static void each_wait_ends_with_its_pass_and_says_since_when(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wait_cases); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		record("tests/programs/waits", wait_cases[i].name, &trace);
		const struct event *wait = first_of(&trace, EVENT_WAIT, wait_cases[i].what);
		const struct event *woken = after(&trace, wait);
		if (woken->kind != EVENT_WOKEN)
			fail_msg("%s: woken by nobody", wait_cases[i].name);
		const struct event *pass = after(&trace, woken);
		assert_int_equal(pass->kind, EVENT_PASS);
		assert_int_equal(pass->what, wait_cases[i].what);
		assert_int_equal(pass->flags & (EVENT_WAITED | EVENT_TIMED_OUT), EVENT_WAITED);
		assert_true(pass->object == wait->object);
		assert_true(pass->site == wait->site);
		assert_true(woken->value != 0 && woken->value != wait->tid);
		if (wait_cases[i].what != WHAT_SPIN)
			assert_true(woken->time_ns - wait->time_ns >= HOLD_NS);
	}
}

/* Each time that another program takes the core, a loop may be cut in two. */
static uint64_t waited_in_a_loop(const struct trace *trace, enum event_what what)
{
	uint64_t waited_ns = 0;
	for (size_t i = 0; i < trace->count; i++)
		if (trace->events[i].kind == EVENT_WAIT && trace->events[i].what == what)
			waited_ns +=
				after(trace, &trace->events[i])->time_ns - trace->events[i].time_ns;
	return waited_ns;
}

static void tries_in_a_loop_are_waits(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/waits", "trylock", &trace);
	assert_true(waited_in_a_loop(&trace, WHAT_MUTEX) >= HOLD_NS / 2);
	assert_true(count_of(&trace, EVENT_PASS, WHAT_MUTEX, EVENT_TRIED) > 0);
}

static void yields_in_a_loop_are_waits_at_a_place(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/waits", "yield", &trace);
	assert_true(event_is_at_place(first_of(&trace, EVENT_WAIT, WHAT_SPIN)));
	assert_true(waited_in_a_loop(&trace, WHAT_SPIN) >= HOLD_NS / 2);
}

static void each_lock_is_acquired_and_released(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "locks", &trace);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 4000);
	assert_int_equal(count_of(&trace, EVENT_RELEASE, WHAT_MUTEX, 0), 4000);
	assert_int_equal(count_of(&trace, EVENT_WAIT, WHAT_MUTEX, 0),
		count_of(&trace, EVENT_PASS, WHAT_MUTEX, EVENT_WAITED));
	assert_int_equal(count_of(&trace, EVENT_THREAD_START, WHAT_NONE, 0), 5);
	assert_int_equal(count_of(&trace, EVENT_THREAD_EXIT, WHAT_NONE, 0), 5);
	assert_int_equal(trace.header.processes, 1);
}

/* How many mutexes were taken at the same site as the k-th. */
static size_t count_at_site_of(const struct trace *trace, size_t k)
{
	uint64_t site = 0;
	size_t count = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0, seen = 0; i < trace->count; i++) {
			const struct event *event = &trace->events[i];
			if (event->kind != EVENT_PASS || event->what != WHAT_MUTEX)
				continue;
			if (pass == 0 && seen++ == k)
				site = event->site;
			count += pass == 1 && event->site == site;
		}
	return count;
}

/* Four loops of 1000 each; the first time that a function locks for another it is not yet known to do so. */
static void a_lock_is_taken_where_the_function_that_takes_it_is_called(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "wrapped", &trace);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 4000);
	for (size_t loop = 0; loop < 4; loop++)
		assert_in_range(count_at_site_of(&trace, 1000 * loop + 500), 990, 1000);
}

static void a_function_that_gives_its_lock_back_by_a_jump_took_it_itself(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "jumped", &trace);
	assert_int_equal(count_at_site_of(&trace, 500), 2000);
}

/* A call that did not block leaves no row, and no time may be counted from what it had. */
static void locks_are_as_far_apart_as_they_were(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "io_between_locks", &trace);
	const struct event *first = first_of(&trace, EVENT_PASS, WHAT_MUTEX), *last = first;
	for (size_t i = 0; i < trace.count; i++)
		if (trace.events[i].kind == EVENT_PASS && trace.events[i].what == WHAT_MUTEX)
			last = &trace.events[i];
	double least_ns = strtod(trace.run.output, NULL);
	assert_true(least_ns > 0);
	/* The recorder reads the processor's counter: off by a millionth. */
	assert_true((double)(last->time_ns - first->time_ns) >= 0.999 * least_ns);
}

/* Of a program that does nothing else than lock. */
static void what_recording_takes_is_told(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/free_locks", "100000", &trace);
	const struct trace_own *own = &trace.quality.own;
	uint64_t cpu_ns = 0;
	for (size_t i = 0; i < trace.count; i++)
		if (trace.events[i].kind == EVENT_RELEASE)
			cpu_ns = trace.events[i].cpu_ns;
	assert_true(own->locks_ns > 100000 && own->locks_ns + own->rest_ns < cpu_ns);
}

static void a_recursive_mutex_is_held_once(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "recursive", &trace);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 1);
	assert_int_equal(count_of(&trace, EVENT_RELEASE, WHAT_MUTEX, 0), 1);
}

/* Nobody leaves a round before the last one has come to it. */
static void who_leaves_a_barrier_is_woken_by_the_last_to_arrive(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "barriers", &trace);
	assert_int_equal(count_of(&trace, EVENT_WAIT, WHAT_BARRIER, 0), 400);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_BARRIER, EVENT_WAITED), 400);
	size_t arrived = 0;
	size_t left = 0;
	for (size_t i = 0; i < trace.count; i++) {
		const struct event *event = &trace.events[i];
		arrived += event->kind == EVENT_WAIT && event->what == WHAT_BARRIER;
		if (event->kind == EVENT_PASS && event->what == WHAT_BARRIER)
			assert_true(arrived / 4 > left++ / 4);
	}
}

static void a_condition_wait_releases_and_takes_its_mutex(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "cond", &trace);
	const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_COND);
	const struct event *release = wait - 1;
	while (release->tid != wait->tid)
		release--;
	assert_int_equal(release->kind, EVENT_RELEASE);
	assert_int_equal(release->flags, EVENT_IMPLICIT);
	assert_true(release->object == wait->value);
	const struct event *pass = after(&trace, after(&trace, wait));
	assert_int_equal(pass->kind, EVENT_PASS);
	assert_int_equal(pass->what, WHAT_COND);
	const struct event *taken = after(&trace, pass);
	while (taken->kind != EVENT_PASS)
		taken = after(&trace, taken);
	assert_int_equal(taken->what, WHAT_MUTEX);
	assert_true(taken->flags & EVENT_IMPLICIT);
	assert_true(taken->object == wait->value);
	assert_int_equal(after(&trace, taken)->kind, EVENT_RELEASE);
	assert_int_equal(count_of(&trace, EVENT_RELEASE, WHAT_COND, 0), 1);
}

/* `spins`: EVENT_SPINS, or 0: the user wants it to sleep. */
static void check_openmp(const char *program, unsigned spins)
{
	static const struct {
		const char *name;
		enum event_what what;
	} cases[] = {
		{ "barrier", WHAT_BARRIER },
		{ "region", WHAT_BARRIER },
		{ "loop", WHAT_BARRIER },
		{ "critical", WHAT_MUTEX },
		{ "lock", WHAT_MUTEX },
		{ "late_task", WHAT_BARRIER },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		record(program, cases[i].name, &trace);
		uint64_t longest_ns = 0;
		for (const struct event *e = trace.events; e < trace.events + trace.count; e++) {
			if (e->kind != EVENT_WAIT || e->what != cases[i].what)
				continue;
			assert_int_equal(e->flags & EVENT_SPINS, spins);
			const struct event *next = after(&trace, e);
			/*
			 * After the last region nobody wakes those who wait for another one. LLVM's
			 * runtime tells of a release when the next holder may have passed: then
			 * nobody is known to have woken it.
			 */
			bool is_over = cases[i].what == WHAT_MUTEX ||
				       next->kind == EVENT_THREAD_EXIT ||
				       (next->kind == EVENT_WOKEN && next->value != 0);
			uint64_t wait_ns = next->time_ns - e->time_ns;
			if (is_over && wait_ns > longest_ns)
				longest_ns = wait_ns;
		}
		if (longest_ns < HOLD_NS)
			fail_msg("%s: %lu ns", cases[i].name, (unsigned long)longest_ns);
	}
}

static void openmp_threads_wait_for_one_another(void **state)
{
	(void)state;
	skip_without("tests/programs/omp", "this compiler does not build for GCC's OpenMP runtime");
	check_openmp("tests/programs/omp", EVENT_SPINS);
}

/* Two loops of 20 pieces, between two threads: each thread tells how many it had, plus one, when it comes to the end. */
static void openmp_threads_tell_what_they_were_handed_out(void **state)
{
	(void)state;
	skip_without("tests/programs/omp", "this compiler does not build for GCC's OpenMP runtime");
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/omp", "handed_out", &trace);
	uint64_t pieces = 0, tellers = 0;
	for (const struct event *e = trace.events; e < trace.events + trace.count; e++) {
		if (e->kind != EVENT_WAIT || e->what != WHAT_BARRIER || e->value == 0)
			continue;
		pieces += e->value - 1;
		tellers++;
	}
	assert_int_equal(tellers, 4);
	assert_int_equal(pieces, 40);
}

static void so_they_do_in_the_runtime_of_llvm(void **state)
{
	(void)state;
	skip_without("tests/programs/omp_llvm", "no clang with libomp here");
	setenv("OMP_WAIT_POLICY", "passive", 1); /* the program looks for who sleeps */
	check_openmp("tests/programs/omp_llvm", 0);
	unsetenv("OMP_WAIT_POLICY");
}

static void a_signal_tells_who_sent_it(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "signal", &trace);
	const struct event *woken = NULL;
	for (size_t i = 0; i < trace.count; i++)
		if (trace.events[i].kind == EVENT_WOKEN && trace.events[i].what == WHAT_IO)
			woken = &trace.events[i];
	assert_non_null(woken);
	assert_int_equal(woken->value, trace.events[0].tid);
	assert_int_not_equal(woken->tid, trace.events[0].tid);
}

static void a_poll_that_a_signal_ends_is_a_wait_for_it(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "interrupted", &trace);
	const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_IO);
	assert_int_equal(wait->value, EVENT_IO_SIGNAL);
}

static void a_sleep_ends_when_its_time_is_over(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	int slack_ns = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 7);
	record("tests/programs/events", "io", &trace);
	prctl(PR_SET_TIMERSLACK, slack_ns);
	const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_SLEEP);
	const struct event *woken = after(&trace, wait);
	assert_int_equal(woken->kind, EVENT_WOKEN);
	assert_true(woken->time_ns == wait->time_ns + HOLD_NS + 7);
}

static void only_input_that_blocks_is_a_wait(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "io", &trace);
	const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_IO);
	const struct event *pass = after(&trace, wait);
	assert_int_equal(pass->kind, EVENT_PASS);
	assert_true(pass->time_ns - wait->time_ns >= HOLD_NS / 2);
	/* A busy machine may take the core away inside a few of the others. */
	assert_in_range(count_of(&trace, EVENT_WAIT, WHAT_IO, 0), 1, 50);
	assert_int_equal(
		count_of(&trace, EVENT_WAIT, WHAT_IO, 0), count_of(&trace, EVENT_PASS, WHAT_IO, 0));
}

/* On one core, where at least one of two threads that take turns has to wait for each. */
static void a_poll_that_lasts_for_a_short_turn_is_a_wait(void **state)
{
	enum { TURNS = 20000 };
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "polls", &trace);
	assert_true(count_of(&trace, EVENT_WAIT, WHAT_IO, 0) >= TURNS / 2);
}

static void what_goes_through_a_pipe_is_told(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "io", &trace);
	assert_int_equal(count_of(&trace, EVENT_RELEASE, WHAT_QUEUE, 0), 1);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_QUEUE, 0), 1);
	const struct event *put = first_of(&trace, EVENT_RELEASE, WHAT_QUEUE);
	const struct event *got = first_of(&trace, EVENT_PASS, WHAT_QUEUE);
	assert_int_equal(put->value, 1);
	assert_int_equal(got->value, 1);
	assert_true(put->object == got->object && put->tid != got->tid);
}

static const struct event *transfer(const struct trace *trace, enum event_kind kind, uint64_t bytes)
{
	for (const struct event *e = trace->events; e < trace->events + trace->count; e++)
		if (e->kind == kind && e->what == WHAT_QUEUE && e->value == bytes)
			return e;
	fail_msg("no transfer of %llu bytes", (unsigned long long)bytes);
	return NULL;
}

static void each_direction_of_a_pair_of_sockets_is_a_queue(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "pair", &trace);
	const struct event *question = transfer(&trace, EVENT_RELEASE, 8);
	const struct event *answer = transfer(&trace, EVENT_RELEASE, 4);
	assert_true(question->object == transfer(&trace, EVENT_PASS, 8)->object);
	assert_true(answer->object == transfer(&trace, EVENT_PASS, 4)->object);
	assert_true(question->object != answer->object && question->tid != answer->tid);
}

static void so_are_other_calls_that_block(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "blocked", &trace);
	size_t blocked = 0;
	for (const struct event *e = trace.events; e < trace.events + trace.count; e++)
		if (e->kind == EVENT_WAIT && e->what == WHAT_IO && e->tid == trace.events[0].tid)
			blocked += after(&trace, e)->time_ns - e->time_ns >= HOLD_NS;
	assert_true(blocked >= 5); /* a busy machine may take the core away inside another */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_ends_with_its_pass_and_says_since_when),
		cmocka_unit_test(tries_in_a_loop_are_waits),
		cmocka_unit_test(yields_in_a_loop_are_waits_at_a_place),
		cmocka_unit_test(each_lock_is_acquired_and_released),
		cmocka_unit_test(a_lock_is_taken_where_the_function_that_takes_it_is_called),
		cmocka_unit_test(a_function_that_gives_its_lock_back_by_a_jump_took_it_itself),
		cmocka_unit_test(a_recursive_mutex_is_held_once),
		cmocka_unit_test(who_leaves_a_barrier_is_woken_by_the_last_to_arrive),
		cmocka_unit_test(a_condition_wait_releases_and_takes_its_mutex),
		cmocka_unit_test(openmp_threads_wait_for_one_another),
		cmocka_unit_test(openmp_threads_tell_what_they_were_handed_out),
		cmocka_unit_test(so_they_do_in_the_runtime_of_llvm),
		cmocka_unit_test(a_signal_tells_who_sent_it),
		cmocka_unit_test(locks_are_as_far_apart_as_they_were),
		cmocka_unit_test(a_sleep_ends_when_its_time_is_over),
		cmocka_unit_test(a_poll_that_a_signal_ends_is_a_wait_for_it),
		cmocka_unit_test(only_input_that_blocks_is_a_wait),
		cmocka_unit_test(a_poll_that_lasts_for_a_short_turn_is_a_wait),
		cmocka_unit_test(what_recording_takes_is_told),
		cmocka_unit_test(what_goes_through_a_pipe_is_told),
		cmocka_unit_test(each_direction_of_a_pair_of_sockets_is_a_queue),
		cmocka_unit_test(so_are_other_calls_that_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
