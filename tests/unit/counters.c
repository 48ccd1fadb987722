/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect/counters: against a recorded source, and against the kernel's software events. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "collect/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *nested[] = { "inner" };

/* Codes that no libpfm4 name goes with, so that the test is the same on every processor. */
static struct event_spec stall_events[] = {
	{ .name = "outer", .config = 0x14a3, .minus = nested, .minus_count = 1 },
	{ .name = "inner", .config = 0x0ca3 },
	{ .name = "store", .config = 0x40a6 },
};

static const struct event_set stalls = {
	.name = "recorded",
	.events = stall_events,
	.events_count = ARRAY_SIZE(stall_events),
};

/* What a processor answered: the source replays it. Descriptors are indices + 100. */
struct recording {
	struct counter_reading readings[3]; /* by event: outer, inner, store */
	int refuse_kernel; /* answer to an event that counts the kernel too; 0: allowed */
	int refuse_config_code; /* answer to one code */
	uint64_t refuse_config;
	int refuse_all;
	size_t group_size; /* counters of the processor */
	size_t in_group;
	int opened;
	pid_t last_pid;
	struct perf_event_attr last_attr;
};

static int recorded_open(void *context, const struct perf_event_attr *attr, pid_t pid, int group)
{
	struct recording *recording = context;
	if (recording->refuse_all)
		return recording->refuse_all;
	if (recording->refuse_kernel && !attr->exclude_kernel)
		return recording->refuse_kernel;
	if (attr->type == PERF_TYPE_RAW && attr->config == recording->refuse_config)
		return recording->refuse_config_code;
	if (group < 0)
		recording->in_group = 0;
	if (++recording->in_group > recording->group_size)
		return -EINVAL;
	recording->opened++;
	recording->last_pid = pid;
	recording->last_attr = *attr;
	for (size_t i = 0; i < ARRAY_SIZE(stall_events); i++)
		if (stall_events[i].config == attr->config)
			return 100 + (int)i;
	return 200;
}

static int recorded_read(void *context, int fd, struct counter_reading *ret)
{
	const struct recording *recording = context;
	*ret = recording->readings[fd - 100];
	return 0;
}

static void recorded_close(void *context, int fd)
{
	struct recording *recording = context;
	assert_true(fd >= 100);
	recording->opened--;
}

static struct counter_source replay(struct recording *recording)
{
	if (recording->group_size == 0)
		recording->group_size = 4;
	return (struct counter_source){ recorded_open, recorded_read, recorded_close, recording };
}

static void nested_events_are_taken_off(void **state)
{
	(void)state;
	struct recording recording = {
		.readings = { { 900, 1000, 1000 }, { 600, 1000, 1000 }, { 50, 1000, 1000 } },
	};
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	assert_int_equal(recording.opened, 0);
	assert_int_equal(counters_attach(counters, 4711, NULL), 0);
	assert_int_equal(recording.opened, 3);
	assert_int_equal(recording.last_pid, 4711);
	assert_true(recording.last_attr.inherit && recording.last_attr.enable_on_exec &&
		    recording.last_attr.disabled && !recording.last_attr.exclude_kernel);
	double values[3], shares[3];
	assert_int_equal(counters_read(counters, values, shares, NULL), 0);
	assert_true(values[0] == 300 && values[1] == 600 && values[2] == 50);
	assert_true(shares[0] == 1 && shares[1] == 1 && shares[2] == 1);
	assert_int_equal(recording.opened, 0);
}

static void multiplexed_events_are_scaled_and_their_share_told(void **state)
{
	(void)state;
	struct recording recording = {
		.readings = { { 100, 4000, 1000 }, { 300, 4000, 2000 }, { 7, 4000, 0 } },
	};
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	assert_int_equal(counters_attach(counters, 1, NULL), 0);
	double values[3], shares[3];
	assert_int_equal(counters_read(counters, values, shares, NULL), 0);
	/* 100 * 4 - 300 * 2 is below zero by noise: never a negative count. */
	assert_true(values[0] == 0);
	assert_true(values[1] == 600);
	assert_true(isnan(values[2]));
	assert_true(shares[0] == 0.25 && shares[1] == 0.5 && shares[2] == 0);
}

static void a_program_that_never_started_counts_nothing(void **state)
{
	(void)state;
	struct recording recording = { 0 };
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	double values[3] = { 1, 1, 1 };
	assert_int_equal(counters_read(counters, values, NULL, NULL), -EINVAL);
	assert_int_equal(counters_attach(counters, 1, NULL), 0);
	assert_int_equal(counters_read(counters, values, NULL, NULL), 0);
	assert_true(values[0] == 0 && values[1] == 0 && values[2] == 0);
}

static void without_the_right_to_the_kernels_part_the_users_is_counted(void **state)
{
	(void)state;
	struct recording recording = { .refuse_kernel = -EACCES };
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	assert_true(counters_user_only(counters));
	assert_int_equal(counters_attach(counters, 1, NULL), 0);
	assert_true(recording.last_attr.exclude_kernel);
}

static void expect_failure(struct recording *recording, int code, const char *words)
{
	struct counter_source source = replay(recording);
	struct counters *counters = NULL;
	struct err err;
	assert_int_equal(counters_new(&stalls, &source, &counters, &err), code);
	assert_null(counters);
	assert_int_equal(recording->opened, 0);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

static void failures_say_what_to_do(void **state)
{
	(void)state;
	expect_failure(&(struct recording){ .refuse_all = -EACCES }, -EACCES,
		"sudo sysctl kernel.perf_event_paranoid=");
	expect_failure(&(struct recording){ .refuse_all = -EPERM }, -EACCES,
		"sudo sysctl kernel.perf_event_paranoid=");
	expect_failure(
		&(struct recording){ .refuse_all = -ENOENT }, -ENODEV, "no hardware counters");
	expect_failure(&(struct recording){ .refuse_all = -ENOSYS }, -ENODEV, "perf_event_open");
	expect_failure(&(struct recording){ .refuse_all = -EMFILE }, -EMFILE, "ulimit -n");
	expect_failure(
		&(struct recording){ .refuse_config = 0x40a6, .refuse_config_code = -EINVAL },
		-EOPNOTSUPP, "event 'store'");
}

static void a_child_that_has_ended_leaves_nothing_open(void **state)
{
	(void)state;
	struct recording recording = { 0 };
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	recording.refuse_config = 0x0ca3;
	recording.refuse_config_code = -ESRCH;
	assert_int_equal(counters_attach(counters, 1, NULL), -ESRCH);
	assert_int_equal(recording.opened, 0);
}

static void how_many_count_at_once_is_found_by_groups(void **state)
{
	(void)state;
	struct recording recording = { .group_size = 2 };
	struct counter_source source = replay(&recording);
	AUTO(counters) struct counters *counters = NULL;
	assert_int_equal(counters_new(&stalls, &source, &counters, NULL), 0);
	assert_int_equal(counters_at_once(counters), 2);
	recording.group_size = 8;
	assert_int_equal(counters_at_once(counters), 3);
	assert_int_equal(recording.opened, 0);
}

static void a_set_without_events_is_refused_with_its_reason(void **state)
{
	(void)state;
	const struct event_set empty = { .name = "N1", .note = "aggregates only" };
	struct counters *counters = NULL;
	struct err err;
	assert_int_equal(counters_new(&empty, &counter_source_kernel, &counters, &err), -EINVAL);
	assert_non_null(strstr(err.text, "aggregates only"));
}

/* Waits for a byte, then becomes a shell that starts two more busy processes. */
static pid_t start_waiting_child(int *ret_go)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(126);
		execl("/bin/sh", "sh", "-c",
			"busy() { i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; }; busy & "
			"busy; wait",
			(char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_go = ends[1];
	return pid;
}

static void the_kernel_counts_a_child_and_its_children(void **state)
{
	(void)state;
	struct err err;
	AUTO(counters) struct counters *counters = NULL;
	int r = counters_new(event_set_software(), &counter_source_kernel, &counters, &err);
	if (r == -EACCES || r == -ENODEV) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_int_equal(r, 0);
	AUTO_FD int go = -1;
	pid_t pid = start_waiting_child(&go);
	assert_int_equal(counters_attach(counters, pid, NULL), 0);
	assert_int_equal(write(go, "g", 1), 1);
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	double values[4], shares[4];
	assert_int_equal(counters_count(counters), 4);
	assert_int_equal(counters_read(counters, values, shares, NULL), 0);
	assert_true(values[0] > 1e6); /* 60,000 rounds of a shell take more than a millisecond */
	assert_true(values[3] > 50); /* pages of a fresh process */
	for (int i = 0; i < 4; i++) {
		assert_true(values[i] >= 0);
		assert_true(shares[i] == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_events_are_taken_off),
		cmocka_unit_test(multiplexed_events_are_scaled_and_their_share_told),
		cmocka_unit_test(a_program_that_never_started_counts_nothing),
		cmocka_unit_test(without_the_right_to_the_kernels_part_the_users_is_counted),
		cmocka_unit_test(failures_say_what_to_do),
		cmocka_unit_test(a_child_that_has_ended_leaves_nothing_open),
		cmocka_unit_test(how_many_count_at_once_is_found_by_groups),
		cmocka_unit_test(a_set_without_events_is_refused_with_its_reason),
		cmocka_unit_test(the_kernel_counts_a_child_and_its_children),
	};
	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
