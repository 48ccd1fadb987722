/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that do a known number of things, recorded by the preload library, read back. */
#include "program_run.h"

#include "base/mem.h"
#include "preload/trace_record.h"
#include "trace/close.h"
#include "trace/create.h"
#include "trace/reader.h"

#include "record/run_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#define HOLD_NS 50000000u /* the programs hold a waiter so long */

struct trace {
	struct run run;
	struct trace_header header; /* as the program left it */
	struct event *events;
	size_t count, capacity;
	char *texts[256];
	size_t text_count;
	struct trace_quality quality;
};

static void trace_release(struct trace *trace)
{
	run_release(&trace->run);
	free(trace->events);
	for (size_t i = 0; i < trace->text_count; i++)
		free(trace->texts[i]);
	*trace = (struct trace){ 0 };
}

/* Names outlive the reader. */
static const char *kept_text(struct trace *trace, const char *text)
{
	if (!text || trace->text_count == ARRAY_SIZE(trace->texts))
		return NULL;
	trace->texts[trace->text_count] = strdup(text);
	return trace->texts[trace->text_count++];
}

static int keep(void *context, const struct event *event, struct err *err)
{
	struct trace *trace = context;
	if (mem_grow(&trace->events, &trace->capacity, trace->count + 1, sizeof *trace->events) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	trace->events[trace->count] = *event;
	trace->events[trace->count++].text = kept_text(trace, event->text);
	return 0;
}

static void read_trace(const char *file, struct trace *trace)
{
	struct err err = { 0 };
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	const struct event_sink sink = { .context = trace, .event = keep };
	if (trace_reader_open(file, &reader, &err) < 0 ||
		trace_reader_replay(reader, &sink, &err) < 0)
		fail_msg("%s", err.text);
	trace->quality = *trace_reader_quality(reader);
	assert_int_equal(trace->quality.lost, 0);
	assert_int_equal(trace->quality.torn_chunks, 0);
}

static void record_as(const char *program, const char *argument,
	const struct trace_create_opts *how, struct trace *trace)
{
	AUTO_FREE char *path = NULL;
	find(program, &path);
	char file[] = "/tmp/record_preload.XXXXXX";
	AUTO_FD int fd = mkstemp(file);
	assert_true(fd >= 0);
	struct err err = { 0 };
	trace_header_init(&trace->header, how);
	trace->header.sources = TRACE_BY_PRELOAD;
	run_clock_measure(&trace->header);
	assert_int_equal(trace_header_write(fd, file, &trace->header, &err), 0);
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	if (sync_env_make(TRACE_PATH_VARIABLE, file, &env, &err) < 0)
		fail_msg("%s", err.text);
	char *argv[] = { path, (char *)argument, NULL };
	run_program(argv, &env, &trace->run);
	assert_int_equal(pread(fd, &trace->header, sizeof trace->header, 0), sizeof trace->header);
	if (trace->header.events_lost == 0)
		read_trace(file, trace);
	unlink(file);
}

static void record(const char *program, const char *argument, struct trace *trace)
{
	record_as(program, argument, &(struct trace_create_opts){ 0 }, trace);
}

static size_t count_of(
	const struct trace *trace, enum event_kind kind, enum event_what what, uint16_t flags)
{
	size_t count = 0;
	for (size_t i = 0; i < trace->count; i++) {
		const struct event *event = &trace->events[i];
		count += event->kind == kind && event->what == what &&
			 (event->flags & flags) == flags;
	}
	return count;
}

static const struct event *first_of(
	const struct trace *trace, enum event_kind kind, enum event_what what)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->events[i].kind == kind && trace->events[i].what == what)
			return &trace->events[i];
	fail_msg("no event of kind %d, %d", kind, what);
	return NULL;
}

/* The next event of the same thread. */
static const struct event *after(const struct trace *trace, const struct event *event)
{
	for (const struct event *e = event + 1; e < trace->events + trace->count; e++)
		if (e->pid == event->pid && e->tid == event->tid)
			return e;
	fail_msg("the thread's last event");
	return NULL;
}

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
static void tries_in_a_loop_are_waits(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/waits", "trylock", &trace);
	uint64_t waited_ns = 0;
	for (size_t i = 0; i < trace.count; i++)
		if (trace.events[i].kind == EVENT_WAIT && trace.events[i].what == WHAT_MUTEX)
			waited_ns +=
				after(&trace, &trace.events[i])->time_ns - trace.events[i].time_ns;
	assert_true(waited_ns >= HOLD_NS / 2);
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

/* All of its sections do the same, also those at whose end a thread's clock is read and it loses its core. */
static void cpu_time_in_a_section_stays_there(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "one_core", &trace);
	uint64_t sum_ns = 0, count = 0, least_ns = UINT64_MAX;
	for (size_t i = 0; i + 1 < trace.count; i++) {
		const struct event *event = &trace.events[i];
		if (event->kind != EVENT_PASS || event->what != WHAT_MUTEX)
			continue;
		const struct event *release = after(&trace, event);
		assert_int_equal(release->kind, EVENT_RELEASE);
		uint64_t held_ns = release->cpu_ns - event->cpu_ns;
		sum_ns += held_ns;
		count++;
		least_ns = held_ns < least_ns ? held_ns : least_ns;
	}
	assert_true(count > 0);
	assert_true(
		least_ns > sum_ns / count / 4); /* cores change their speed, but not that much */
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

/* Not every build has the program. */
static void skip_without(const char *program, const char *reason)
{
	AUTO_FREE char *path = NULL;
	if (datadir_find(program, &path, NULL) == 0)
		return;
	print_message("skipped: %s\n", reason);
	skip();
}

static void check_openmp(const char *program)
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
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(trace) struct trace trace = { 0 };
		record(program, cases[i].name, &trace);
		uint64_t longest_ns = 0;
		for (const struct event *e = trace.events; e < trace.events + trace.count; e++) {
			if (e->kind != EVENT_WAIT || e->what != cases[i].what)
				continue;
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
	check_openmp("tests/programs/omp");
}

static void so_they_do_in_the_runtime_of_llvm(void **state)
{
	(void)state;
	skip_without("tests/programs/omp_llvm", "no clang with libomp here");
	setenv("OMP_WAIT_POLICY", "passive", 1); /* the program looks for who sleeps */
	check_openmp("tests/programs/omp_llvm");
	unsetenv("OMP_WAIT_POLICY");
}

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

static void threads_one_after_another_share_a_lane(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "one_by_one", &trace);
	assert_int_equal(count_of(&trace, EVENT_THREAD_START, WHAT_NONE, 0), 1001);
	assert_int_equal(count_of(&trace, EVENT_THREAD_EXIT, WHAT_NONE, 0), 1001);
	assert_int_equal(count_of(&trace, EVENT_PASS, WHAT_MUTEX, 0), 1000);
	assert_true(trace.header.lanes_taken <= 3);
	const struct event *second = after(&trace, &trace.events[0]);
	assert_true(second != NULL);
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

static void a_sleep_ends_when_its_time_is_over(void **state)
{
	(void)state;
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	record("tests/programs/events", "io", &trace);
	const struct event *wait = first_of(&trace, EVENT_WAIT, WHAT_SLEEP);
	const struct event *woken = after(&trace, wait);
	assert_int_equal(woken->kind, EVENT_WOKEN);
	assert_true(woken->time_ns == wait->time_ns + HOLD_NS);
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
	assert_true(trace.header.events_lost > 4000);
}

static void programs_behave_as_without_a_recorder(void **state)
{
	(void)state;
	AUTO_FREE char *path = NULL;
	find("tests/programs/behaviour", &path);
	char *argv[] = { path, NULL };
	AUTO_RELEASE(run) struct run plain = { 0 };
	AUTO_RELEASE(trace) struct trace trace = { 0 };
	run_program(argv, NULL, &plain);
	record("tests/programs/behaviour", NULL, &trace);
	assert_string_equal(trace.run.output, plain.output);
	assert_int_equal(trace.run.status, plain.status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_ends_with_its_pass_and_says_since_when),
		cmocka_unit_test(tries_in_a_loop_are_waits),
		cmocka_unit_test(each_lock_is_acquired_and_released),
		cmocka_unit_test(a_lock_is_taken_where_the_function_that_takes_it_is_called),
		cmocka_unit_test(a_recursive_mutex_is_held_once),
		cmocka_unit_test(who_leaves_a_barrier_is_woken_by_the_last_to_arrive),
		cmocka_unit_test(a_condition_wait_releases_and_takes_its_mutex),
		cmocka_unit_test(openmp_threads_wait_for_one_another),
		cmocka_unit_test(so_they_do_in_the_runtime_of_llvm),
		cmocka_unit_test(threads_have_the_names_that_their_creator_gave_them),
		cmocka_unit_test(threads_one_after_another_share_a_lane),
		cmocka_unit_test(each_forked_child_is_a_process_that_ends),
		cmocka_unit_test(cpu_time_is_that_of_getrusage),
		cmocka_unit_test(cpu_time_of_many_waits_is_that_of_getrusage),
		cmocka_unit_test(a_signal_tells_who_sent_it),
		cmocka_unit_test(within_a_budget_it_is_so_too),
		cmocka_unit_test(cpu_time_never_falls),
		cmocka_unit_test(cpu_time_passes_no_faster_than_time),
		cmocka_unit_test(cpu_time_in_a_section_stays_there),
		cmocka_unit_test(locks_are_as_far_apart_as_they_were),
		cmocka_unit_test(a_sleep_ends_when_its_time_is_over),
		cmocka_unit_test(only_input_that_blocks_is_a_wait),
		cmocka_unit_test(marks_and_names_are_there),
		cmocka_unit_test(what_a_killed_program_did_is_there),
		cmocka_unit_test(a_full_file_ends_the_recording_only),
		cmocka_unit_test(programs_behave_as_without_a_recorder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
