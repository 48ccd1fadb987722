/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting programs, watching them, and clearing away what they leave. */
#include "cmocka_all.h"

#include "collect/capture.h"
#include "collect/launch.h"
#include "collect/periodic.h"
#include "collect/sched_wait.h"
#include "collect/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fixture {
	struct capture capture;
	struct launch_opts opts;
	const char *argv[4];
};

/* A shell command line, its output captured. */
static void prepare(struct fixture *f, const char *script)
{
	*f = (struct fixture){ .argv = { "sh", "-c", script, NULL } };
	assert_int_equal(capture_init(&f->capture, CAPTURE_TAIL, CAPTURE_TAIL, NULL), 0);
	f->opts = (struct launch_opts){ .argv = (char *const *)f->argv,
		.path = "/bin/sh",
		.stdout_fd = f->capture.fds[CAPTURE_STDOUT],
		.stderr_fd = f->capture.fds[CAPTURE_STDERR],
		.cancel_fd = -1 };
}

static struct launch_result run(struct fixture *f)
{
	struct launch_result result;
	struct err err;
	if (launch_run(&f->opts, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static size_t descendants(void)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	assert_int_equal(tree_read(&tree, getpid()), 0);
	return tree.count;
}

static void expect_tail(const struct fixture *f, const char *expected)
{
	AUTO_RELEASE(strbuf) struct strbuf tail = { 0 };
	capture_add_tail(&f->capture, 3, "> ", &tail);
	assert_string_equal(tail.text ? tail.text : "", expected);
}

static void exit_status_and_signal_are_told_apart(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "exit 3");
	struct launch_result result = run(&f);
	assert_int_equal(result.ending, LAUNCH_EXITED);
	assert_int_equal(result.status, 3);
	assert_true(result.wall_s > 0 && result.rss_bytes > 0);
	capture_release(&f.capture);
	prepare(&f, "kill -SEGV $$");
	result = run(&f);
	assert_int_equal(result.ending, LAUNCH_SIGNALLED);
	assert_int_equal(result.status, 11);
	capture_release(&f.capture);
}

static void a_file_that_cannot_run_is_an_error_with_its_name(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "");
	f.opts.path = "/etc/passwd";
	struct launch_result result;
	struct err err;
	assert_int_equal(launch_run(&f.opts, &result, &err), -EACCES);
	assert_non_null(strstr(err.text, "/etc/passwd"));
	assert_int_equal(descendants(), 0);
	capture_release(&f.capture);
}

static void environment_and_empty_input_reach_the_program(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "cat; echo \"$CORECAST_TEST\" >&2");
	f.opts.environment[f.opts.environment_count++] = "CORECAST_TEST=seen";
	assert_int_equal(run(&f).status, 0);
	expect_tail(&f, "> seen\n");
	assert_null(getenv("CORECAST_TEST"));
	capture_release(&f.capture);
}

static void time_up_kills_grandchildren_too(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "trap '' TERM; setsid sleep 77 & sleep 77 & echo waiting; wait");
	f.opts.timeout_s = 0.3;
	struct launch_result result = run(&f);
	assert_int_equal(result.ending, LAUNCH_TIMED_OUT);
	assert_true(result.wall_s >= 0.3 && result.wall_s < 30);
	assert_int_equal(descendants(), 0);
	expect_tail(&f, "> waiting\n");
	capture_release(&f.capture);
}

static void what_is_left_running_is_counted_and_killed(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "(setsid sleep 77 & setsid sleep 77 &) >/dev/null 2>&1 </dev/null");
	struct launch_result result = run(&f);
	assert_int_equal(result.ending, LAUNCH_EXITED);
	assert_int_equal(result.left_behind, 2);
	assert_int_equal(descendants(), 0);
	capture_release(&f.capture);
}

static void children_from_before_are_spared(void **state)
{
	(void)state;
	pid_t before = fork();
	if (before == 0) {
		(void)sleep(77);
		_exit(0);
	}
	struct fixture f;
	prepare(&f, "exit 0");
	assert_int_equal(run(&f).left_behind, 0);
	assert_int_equal(kill(before, 0), 0);
	assert_int_equal(kill(before, SIGKILL), 0);
	while (descendants() > 0)
		;
	capture_release(&f.capture);
}

static void a_request_to_stop_stops(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "sleep 77");
	AUTO_FD int cancel = eventfd(1, EFD_CLOEXEC);
	f.opts.cancel_fd = cancel;
	assert_int_equal(run(&f).ending, LAUNCH_CANCELLED);
	assert_int_equal(descendants(), 0);
	capture_release(&f.capture);
}

struct hook_log {
	pid_t pid;
	bool was_stopped;
	unsigned ends;
};

static int log_start(void *context, pid_t pid, struct err *err)
{
	(void)err;
	struct hook_log *log = context;
	char path[64], target[64] = "";
	(void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	log->pid = pid;
	/* Still this test, not yet the shell. */
	log->was_stopped = readlink(path, target, sizeof target - 1) > 0 &&
			   !strstr(target, "/dash") && !strstr(target, "/bash") &&
			   !strstr(target, "/sh");
	return 0;
}

static void log_end(void *context, pid_t pid)
{
	struct hook_log *log = context;
	log->ends += pid == log->pid && kill(pid, 0) == 0; /* a zombie can still be signalled */
}

static int refuse(void *context, pid_t pid, struct err *err)
{
	(void)context;
	(void)pid;
	return err_set(err, -EPERM, "refused");
}

static void hooks_run_before_exec_and_before_reaping(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "exit 0");
	struct hook_log log = { 0 };
	f.opts.hooks[f.opts.hook_count++] =
		(struct launch_hooks){ .at_start = log_start, .at_end = log_end, .context = &log };
	(void)run(&f);
	assert_true(log.was_stopped);
	assert_int_equal(log.ends, 1);
	f.opts.hooks[f.opts.hook_count++] = (struct launch_hooks){ .at_start = refuse };
	struct launch_result result;
	struct err err;
	assert_int_equal(launch_run(&f.opts, &result, &err), -EPERM);
	assert_string_equal(err.text, "refused");
	assert_int_equal(descendants(), 0);
	capture_release(&f.capture);
}

static void only_the_end_of_much_output_is_kept(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "head -c 40000000 /dev/zero | tr '\\0' 'x'; echo; echo last");
	assert_int_equal(run(&f).status, 0);
	struct stat before, after;
	assert_int_equal(fstat(f.capture.fds[CAPTURE_STDOUT], &before), 0);
	capture_trim(&f.capture);
	assert_int_equal(fstat(f.capture.fds[CAPTURE_STDOUT], &after), 0);
	assert_true(after.st_size == before.st_size);
	if (after.st_blocks == before.st_blocks) {
		print_message("this file system has no holes\n");
		skip();
	}
	assert_true(after.st_blocks * 512 < 4 << 20);
	AUTO_RELEASE(strbuf) struct strbuf tail = { 0 };
	capture_add_tail(&f.capture, 1, "", &tail);
	assert_string_equal(tail.text, "last\n");
	capture_release(&f.capture);
}

static void discarded_output_leaves_no_trace(void **state)
{
	(void)state;
	struct fixture f;
	prepare(&f, "echo out; echo err >&2");
	capture_release(&f.capture);
	assert_int_equal(capture_init(&f.capture, CAPTURE_NOTHING, CAPTURE_TAIL, NULL), 0);
	f.opts.stdout_fd = f.capture.fds[CAPTURE_STDOUT];
	f.opts.stderr_fd = f.capture.fds[CAPTURE_STDERR];
	assert_int_equal(run(&f).status, 0);
	expect_tail(&f, "> err\n");
	assert_true(capture_written_bytes(&f.capture, CAPTURE_STDOUT) == 0);
	assert_true(capture_written_bytes(&f.capture, CAPTURE_STDERR) == 4);
	assert_int_equal(capture_reset(&f.capture, NULL), 0);
	expect_tail(&f, "");
	capture_release(&f.capture);
}

static cpu_set_t first_processor(void)
{
	cpu_set_t all, one;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	return one;
}

/* Two busy loops that share one processor wait for each other about as long as they run. */
static void check_waiting(enum sched_wait_source best)
{
	struct sched_wait *wait = sched_wait_new(best);
	assert_non_null(wait);
	if (sched_wait_source(wait) != best) {
		print_message("%s\n", sched_wait_caveat(wait));
		sched_wait_free(wait);
		skip();
	}
	cpu_set_t all, one = first_processor();
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	struct fixture f;
	prepare(&f,
		"spin() { i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; }; spin & spin; wait");
	f.opts.hooks[f.opts.hook_count++] = sched_wait_hooks(wait);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	struct launch_result result = run(&f);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
	double cpu_s = result.user_s + result.system_s;
	/* Two processes over the whole time either ran or waited, up to starting and ending; the
	   polled figure misses what follows the last look, and other work only adds to it. */
	double floor = best == SCHED_WAIT_EXACT ? 0.6 : 0.2;
	assert_true(sched_wait_s(wait) > floor * cpu_s * 0.5);
	if (best == SCHED_WAIT_EXACT)
		assert_true(sched_wait_s(wait) + cpu_s < 2.2 * result.wall_s);
	capture_release(&f.capture);
	sched_wait_free(wait);
}

static void waiting_for_a_core_is_found_exactly(void **state)
{
	(void)state;
	check_waiting(SCHED_WAIT_EXACT);
}

static void waiting_for_a_core_is_found_by_polling(void **state)
{
	(void)state;
	check_waiting(SCHED_WAIT_POLLED);
}

static void what_a_process_waits_for_a_core_is_known_while_it_runs(void **state)
{
	(void)state;
	AUTO(sched_wait) struct sched_wait *wait = sched_wait_new(SCHED_WAIT_POLLED);
	assert_non_null(wait);
	if (sched_wait_source(wait) == SCHED_WAIT_NONE) {
		print_message("%s\n", sched_wait_caveat(wait));
		skip();
	}
	cpu_set_t one = first_processor();
	pid_t pids[2];
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		while (pids[i] == 0) /* to be killed; with us, too */
			(void)(prctl(PR_SET_PDEATHSIG, SIGKILL) +
				sched_setaffinity(0, sizeof one, &one));
	}
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct tree_busy busy = { 0 };
	while (busy.run_ns < 10000000 ||
		busy.wait_ns < 10000000) { /* as they share it, that comes */
		(void)nanosleep(&pause, NULL); /* shorter is no harm */
		assert_int_equal(tree_busy(pids[0], &busy), 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

static int count_step(void *context)
{
	(void)__atomic_add_fetch((int *)context, 1, __ATOMIC_RELAXED);
	return 0;
}

/* With pauses of six weeks this ends by being stopped only. */
static void what_is_done_again_and_again_is_stopped_at_once(void **state)
{
	(void)state;
	int steps = 0;
	struct periodic periodic;
	assert_int_equal(periodic_start(&periodic, count_step, &steps, UINT32_MAX, NULL), 0);
	while (__atomic_load_n(&steps, __ATOMIC_RELAXED) == 0)
		(void)sched_yield(); /* it cannot fail */
	assert_int_equal(periodic_stop(&periodic), 0);
	assert_int_equal(steps, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_status_and_signal_are_told_apart),
		cmocka_unit_test(a_file_that_cannot_run_is_an_error_with_its_name),
		cmocka_unit_test(environment_and_empty_input_reach_the_program),
		cmocka_unit_test(time_up_kills_grandchildren_too),
		cmocka_unit_test(what_is_left_running_is_counted_and_killed),
		cmocka_unit_test(children_from_before_are_spared),
		cmocka_unit_test(a_request_to_stop_stops),
		cmocka_unit_test(hooks_run_before_exec_and_before_reaping),
		cmocka_unit_test(only_the_end_of_much_output_is_kept),
		cmocka_unit_test(discarded_output_leaves_no_trace),
		cmocka_unit_test(waiting_for_a_core_is_found_exactly),
		cmocka_unit_test(waiting_for_a_core_is_found_by_polling),
		cmocka_unit_test(what_a_process_waits_for_a_core_is_known_while_it_runs),
		cmocka_unit_test(what_is_done_again_and_again_is_stopped_at_once),
	};
	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
