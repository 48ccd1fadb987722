/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches programs whose threads' criticality has bounds by construction. */
#include "bpf_watching.h"
#include "cmocka_all.h"

#include "base/datadir.h"
#include "record/bpf_timeline.h"
#include "criticality/analysis.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A thread that is seen asleep may still be on its way out of its core. */
#define TOLERANCE 0.98

struct player {
	char name[16];
	unsigned tid;
	unsigned long alone_ns;
};

/* tests/programs/turns, asleep until our word to start. */
struct program {
	pid_t pid;
	int word_fd, output_fd;
};

static void await_sleep(pid_t pid)
{
	char path[64], state = 'R';
	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	while (state != 'S') {
		AUTO_FILE FILE *file = fopen(path, "re");
		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
		(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static struct program start_turns(const char *first_ms, const char *second_ms)
{
	AUTO_FREE char *path = NULL;
	struct err err = { 0 };
	if (datadir_find("tests/programs/turns", &path, &err) < 0)
		fail_msg("%s", err.text);
	int in[2], out[2];
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execl(path, "turns", "4", first_ms, second_ms, "wait", NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	await_sleep(pid);
	return (struct program){ .pid = pid, .word_fd = in[1], .output_fd = out[0] };
}

static void finish_turns(const struct program *program, struct player ret[2])
{
	assert_int_equal(write(program->word_fd, "x", 1), 1);
	AUTO_FILE FILE *output = fdopen(program->output_fd, "r");
	assert_non_null(output);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			fscanf(output, "%15s %u %lu", ret[i].name, &ret[i].tid, &ret[i].alone_ns),
			3);
	int status = -1;
	assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
	assert_int_equal(status, 0);
	(void)close(program->word_fd);
}

static void read_stopped(struct bpf_watch *watch, struct bpf_snapshot *ret)
{
	struct err err = { 0 };
	bpf_watch_stop(watch);
	if (bpf_watch_read(watch, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct watch_thread *thread_of(const struct bpf_snapshot *snapshot, unsigned tid)
{
	for (size_t i = 0; i < snapshot->count; i++)
		if (snapshot->threads[i].tid == tid)
			return &snapshot->threads[i];
	fail_msg("thread %u was not seen", tid);
	return NULL;
}

static uint64_t sum_of(const struct bpf_snapshot *snapshot)
{
	uint64_t sum = snapshot->total.forgotten;
	for (size_t i = 0; i < snapshot->count; i++)
		sum += snapshot->threads[i].criticality;
	return sum;
}

static void assert_adds_up(const struct bpf_snapshot *snapshot)
{
	const struct watch_total *total = &snapshot->total;
	uint64_t busy_ns = total->now_ns - total->start_ns - total->idle_ns;
	assert_int_equal(busy_ns << WATCH_FRACTION_BITS, sum_of(snapshot) + total->remainder);
	for (size_t i = 0; i < WATCH_LOSSES; i++)
		assert_int_equal(snapshot->losses[i], 0);
}

static void assert_bound(const struct bpf_snapshot *snapshot, const struct player *player)
{
	const struct watch_thread *thread = thread_of(snapshot, player->tid);
	double criticality_ns = (double)(thread->criticality >> WATCH_FRACTION_BITS);
	assert_true(criticality_ns >= TOLERANCE * (double)player->alone_ns);
	assert_true(thread->has_ended);
	assert_string_equal(thread->name, player->name);
}

static void a_thread_alone_is_as_critical_as_its_time(void **state)
{
	(void)state;
	skip_without_bpf();
	struct program program = start_turns("60", "20");
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = program.pid });
	struct player players[2];
	finish_turns(&program, players);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	for (int i = 0; i < 2; i++)
		assert_bound(&snapshot, &players[i]);
}

/* What the events of the watch say, by the account of src/criticality. */
static struct results *analyse_events(struct bpf_watch *watch, uint64_t end_ns)
{
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	AUTO(analysis) struct analysis *analysis = NULL;
	AUTO_RELEASE(bpf_timeline) struct bpf_timeline timeline = { 0 };
	struct results *results = NULL;
	struct err err = { 0 };
	int fd = memfd_create("events", MFD_CLOEXEC);
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	const struct trace_create_opts opts = { .sources = TRACE_BY_BPF };
	assert_int_equal(trace_writer_new_fd(copy, "events", &opts, &writer, &err), 0);
	timeline.sink = trace_writer_sink(writer);
	assert_int_equal(bpf_watch_drain(watch, bpf_timeline_take, &timeline), 0);
	assert_int_equal(bpf_timeline_finish(&timeline, end_ns, 0), 0);
	assert_int_equal(trace_reader_open_fd(fd, "events", &reader, &err), 0);
	assert_int_equal(analysis_new(&(struct analysis_opts){ 0 }, &analysis, &err), 0);
	struct event_sink sink = analysis_sink(analysis);
	assert_int_equal(trace_reader_replay(reader, &sink, &err), 0);
	assert_int_equal(analysis_results(analysis, &results, &err), 0);
	return results;
}

static uint64_t criticality_of(const struct results *results, unsigned tid)
{
	for (size_t i = 0; i < results->thread_count; i++)
		if (results->threads[i].tid == tid)
			return results->threads[i].criticality_ns;
	fail_msg("thread %u has no events", tid);
	return 0;
}

/* `corecast top` shows the kernel's account, `corecast criticality` that of the events. */
static void the_account_of_the_events_is_the_kernels(void **state)
{
	(void)state;
	skip_without_bpf();
	struct program program = start_turns("60", "20");
	const struct bpf_watch_opts account = { .pid = program.pid };
	const struct bpf_watch_opts events = { .pid = program.pid, .event_bytes = 1 << 20 };
	AUTO(bpf_watch) struct bpf_watch *watch = open_watch(&account);
	AUTO(bpf_watch) struct bpf_watch *teller = open_watch(&events);
	struct player players[2];
	finish_turns(&program, players);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	bpf_watch_stop(teller);
	AUTO(results) struct results *results = analyse_events(teller, snapshot.total.now_ns);
	/*
	 * Of the threads that began under both watches. Each change comes to the one some microseconds
	 * after the other, and there are a few dozen.
	 */
	double tolerance_ns = 0.01 * (double)(snapshot.total.now_ns - snapshot.total.start_ns);
	for (int i = 0; i < 2; i++) {
		double kernels_ns = (double)(thread_of(&snapshot, players[i].tid)->criticality >>
					     WATCH_FRACTION_BITS);
		double events_ns = (double)criticality_of(results, players[i].tid);
		if (fabs(kernels_ns - events_ns) > tolerance_ns)
			fail_msg("%s: %.0f ns in the kernel, %.0f by its events", players[i].name,
				kernels_ns, events_ns);
	}
}

static void an_account_stands_still_once_stopped(void **state)
{
	(void)state;
	skip_without_bpf();
	struct program program = start_turns("10", "10");
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = program.pid });
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	assert_int_equal(snapshot.count, 1);
	assert_false(snapshot.threads[0].has_ended);
	struct player players[2];
	finish_turns(&program, players);
	uint64_t before = sum_of(&snapshot);
	read_stopped(watch, &snapshot);
	assert_int_equal(sum_of(&snapshot), before);
}

static void an_active_thread_stands_still_too(void **state)
{
	(void)state;
	skip_without_bpf();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		(void)alarm(60);
	while (pid == 0)
		(void)getppid(); /* until it is killed */
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = pid });
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	struct err err = { 0 };
	do
		assert_int_equal(bpf_watch_read(watch, &snapshot, &err), 0);
	while (sum_of(&snapshot) == 0);
	read_stopped(watch, &snapshot);
	struct watch_total total = snapshot.total;
	uint64_t before = sum_of(&snapshot);
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	read_stopped(watch, &snapshot);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_adds_up(&snapshot);
	assert_int_equal(snapshot.total.now_ns, total.now_ns);
	assert_int_equal(sum_of(&snapshot), before);
}

static void a_thread_that_ended_is_told_once(void **state)
{
	(void)state;
	skip_without_bpf();
	struct program program = start_turns("1", "1");
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = program.pid });
	struct player players[2];
	finish_turns(&program, players);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_int_equal(snapshot.count, 3);
	read_stopped(watch, &snapshot);
	assert_int_equal(snapshot.count, 0);
}

/* A child that goes on when *ret_go is closed. */
static pid_t fork_to_go(int *ret_go)
{
	int go[2];
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;
		(void)close(go[1]);
		(void)!read(go[0], &byte, 1);
	}
	(void)close(go[0]);
	*ret_go = go[1];
	return pid;
}

/* A process that forks one child after the other, all with threads of their own. */
static void children_are_watched_too(void **state)
{
	(void)state;
	skip_without_bpf();
	enum { CHILDREN = 20 };
	int go = -1;
	pid_t pid = fork_to_go(&go);
	if (pid == 0) {
		for (int i = 0; i < CHILDREN; i++) {
			if (fork() == 0)
				execlp("true", "true", NULL);
			(void)wait(NULL);
		}
		_exit(0);
	}
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = pid });
	(void)close(go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	assert_int_equal(snapshot.count, CHILDREN + 1);
	size_t named = 0;
	for (size_t i = 0; i < snapshot.count; i++)
		named += strcmp(snapshot.threads[i].name, "true") == 0;
	assert_int_equal(named, CHILDREN);
}

enum { SLEEPERS = 6, SLEEPS = 500 };

static void sleep_on_all_cores(void)
{
	for (int i = 0; i < SLEEPERS; i++)
		if (fork() == 0) {
			for (int k = 0; k < SLEEPS; k++)
				(void)nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	_exit(0);
}

/* Changes on all cores, and a reader between them, which has those that ended once. */
static void an_account_that_is_read_as_it_changes_adds_up(void **state)
{
	(void)state;
	skip_without_bpf();
	int go = -1;
	pid_t pid = fork_to_go(&go);
	if (pid == 0)
		sleep_on_all_cores();
	AUTO(bpf_watch)
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = pid });
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	struct err err = { 0 };
	(void)close(go);
	uint64_t ended = 0, waits = 0;
	struct rusage usage = { 0 };
	for (bool is_over = false; !is_over;) {
		is_over = wait4(pid, NULL, WNOHANG, &usage) == pid;
		if (is_over)
			read_stopped(watch, &snapshot);
		else
			assert_int_equal(bpf_watch_read(watch, &snapshot, &err), 0);
		for (size_t i = 0; i < snapshot.count; i++)
			if (snapshot.threads[i].has_ended) {
				ended += snapshot.threads[i].criticality;
				waits += snapshot.threads[i].waits;
			}
	}
	snapshot.count = 0; /* all have ended */
	snapshot.total.forgotten += ended;
	assert_adds_up(&snapshot);
	/* A sleep that is over before its thread leaves the core is none; one that ends as it leaves may be none. */
	assert_true(usage.ru_nvcsw > SLEEPS);
	assert_true(waits >= (uint64_t)usage.ru_nvcsw / 2);
}

/* Shared by one that goes to sleep again and again and one that wakes it meanwhile. */
struct sleeps {
	_Atomic unsigned word, is_about_to, is_over;
	long waits; /* as the kernel counted them */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long waits_so_far(void)
{
	struct rusage usage;
	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static void go_to_sleep(struct sleeps *sleeps)
{
	long before = waits_so_far();
	while (!sleeps->is_over) {
		sleeps->word = 0;
		sleeps->is_about_to = 1;
		while (!sleeps->word)
			(void)syscall(SYS_futex, &sleeps->word, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	sleeps->waits = waits_so_far() - before;
}

/* Wakes it 0 to 6 us after it said that it will sleep: often as it leaves its core, if there are two. */
static void wake_for_ms(struct sleeps *sleeps, unsigned ms)
{
	uint64_t end_ns = now_ns() + ms * UINT64_C(1000000);
	for (unsigned delay_ns = 0; !sleeps->is_over; delay_ns = (delay_ns + 37) % 6000) {
		while (!sleeps->is_about_to)
			(void)sched_yield();
		uint64_t then_ns = now_ns() + delay_ns;
		while (now_ns() < then_ns)
			continue;
		sleeps->is_about_to = 0;
		sleeps->is_over = then_ns > end_ns;
		sleeps->word = 1;
		(void)syscall(SYS_futex, &sleeps->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

/* A watch of a thread that is woken again and again as it leaves its core, until it ended; how often it waited. */
static struct bpf_watch *watch_a_sleeper(struct bpf_watch_opts opts, uint64_t *ret_waits)
{
	struct sleeps *sleeps = mmap(
		NULL, sizeof *sleeps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(sleeps != MAP_FAILED);
	int go = -1;
	pid_t pid = fork_to_go(&go);
	if (pid == 0) {
		go_to_sleep(sleeps);
		_exit(0);
	}
	await_sleep(pid);
	opts.pid = pid;
	struct bpf_watch *watch = open_watch(&opts);
	(void)close(go);
	wake_for_ms(sleeps, 150);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	*ret_waits = (uint64_t)sleeps->waits;
	(void)munmap(sleeps, sizeof *sleeps);
	return watch;
}

/* Else the account would have it wait until it next does. */
static void a_thread_that_is_woken_as_it_leaves_its_core_is_active(void **state)
{
	(void)state;
	skip_without_bpf();
	uint64_t waits = 0;
	AUTO(bpf_watch)
	struct bpf_watch *watch = watch_a_sleeper((struct bpf_watch_opts){ 0 }, &waits);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	assert_int_equal(snapshot.count, 1);
	assert_true(snapshot.threads[0].waits > waits); /* its end counts as one, too */
}

struct woken {
	bool waits;
	uint64_t ended, unexplained;
};

static int note_woken(void *context, const struct watch_event *event)
{
	struct woken *woken = context;
	if (event->kind == WATCH_RUN && woken->waits) {
		woken->ended++;
		woken->unexplained += event->woken_ns == 0;
	}
	if (event->kind == WATCH_BLOCK || event->kind == WATCH_RUN)
		woken->waits = event->kind == WATCH_BLOCK;
	return 0;
}

static void who_is_woken_as_it_leaves_its_core_has_an_end_of_its_wait(void **state)
{
	(void)state;
	skip_without_bpf();
	uint64_t waits = 0;
	const struct bpf_watch_opts opts = { .event_bytes = 1 << 23 };
	AUTO(bpf_watch) struct bpf_watch *watch = watch_a_sleeper(opts, &waits);
	bpf_watch_stop(watch);
	struct woken woken = { 0 };
	assert_int_equal(bpf_watch_drain(watch, note_woken, &woken), 0);
	assert_true(woken.ended > 0 && waits > 0);
	assert_int_equal(woken.unexplained, 0);
}

/* With room for four records there is one slot: the first thread of three has it. */
static void threads_with_one_slot_have_an_account_each(void **state)
{
	(void)state;
	skip_without_bpf();
	struct program program = start_turns("20", "40");
	struct bpf_watch_opts opts = { .pid = program.pid, .threads_max = 4 };
	AUTO(bpf_watch) struct bpf_watch *watch = open_watch(&opts);
	struct player players[2];
	finish_turns(&program, players);
	AUTO_RELEASE(bpf_snapshot) struct bpf_snapshot snapshot = { 0 };
	read_stopped(watch, &snapshot);
	assert_adds_up(&snapshot);
	for (int i = 0; i < 2; i++)
		assert_bound(&snapshot, &players[i]);
}

static int count_waits(void *context, const struct event *event, struct err *err)
{
	(void)err;
	unsigned *waits = context;
	*waits += event->kind == EVENT_WAIT;
	return 0;
}

static void a_thread_found_as_it_goes_to_sleep_waits_once(void **state)
{
	(void)state;
	unsigned waits = 0;
	AUTO_RELEASE(bpf_timeline)
	struct bpf_timeline timeline = { .sink = { &waits, count_waits, NULL } };
	/* A process that is not there: no files of it are read. */
	struct watch_event event = { .time_ns = 1, .kind = WATCH_FOUND, .name = "found" };
	event.tid = event.pid = INT32_MAX;
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	assert_int_equal(waits, 1);
	event = (struct watch_event){ .time_ns = 2, .kind = WATCH_BLOCK, .syscall = -1 };
	event.tid = event.pid = INT32_MAX;
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	assert_int_equal(waits, 1);
	event.time_ns = 3;
	event.kind = WATCH_RUN;
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	event.time_ns = 4;
	event.kind = WATCH_BLOCK;
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	assert_int_equal(waits, 2);
}

static void no_such_process_is_said(void **state)
{
	(void)state;
	skip_without_bpf();
	struct bpf_watch *watch = NULL;
	struct err err = { 0 };
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(
		bpf_watch_open(&(struct bpf_watch_opts){ .pid = pid }, &watch, &err), -ESRCH);
	assert_null(watch);
	assert_non_null(strstr(err.text, "no process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_alone_is_as_critical_as_its_time),
		cmocka_unit_test(the_account_of_the_events_is_the_kernels),
		cmocka_unit_test(an_account_stands_still_once_stopped),
		cmocka_unit_test(an_active_thread_stands_still_too),
		cmocka_unit_test(a_thread_that_ended_is_told_once),
		cmocka_unit_test(children_are_watched_too),
		cmocka_unit_test(an_account_that_is_read_as_it_changes_adds_up),
		cmocka_unit_test(a_thread_that_is_woken_as_it_leaves_its_core_is_active),
		cmocka_unit_test(who_is_woken_as_it_leaves_its_core_has_an_end_of_its_wait),
		cmocka_unit_test(threads_with_one_slot_have_an_account_each),
		cmocka_unit_test(a_thread_found_as_it_goes_to_sleep_waits_once),
		cmocka_unit_test(no_such_process_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
