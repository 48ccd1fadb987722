/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was changed is put back, however the one who changed it ends. */
#include "victim.h"

#include "steer/favour.h"
#include "steer/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int set_up(void **state)
{
	struct victim *v = calloc(1, sizeof *v);
	assert_non_null(v);
	victim_begin(v, "undo-XXXXXX");
	*state = v;
	return 0;
}

static int tear_down(void **state)
{
	struct victim *v = *state;
	victim_end(v);
	assert_int_equal(rmdir(v->folder), 0); /* nothing is left in it */
	free(v);
	return 0;
}

static int nice_of(pid_t pid)
{
	errno = 0;
	return getpriority(PRIO_PROCESS, (id_t)pid);
}

static void skip_without_privilege(void)
{
	char reason[FAVOUR_REASON_BYTES];
	if (favour_method_by_name("nice")->check("", reason) < 0) {
		print_message("%s\n", reason);
		skip();
	}
}

static struct undo *open_undo(const struct victim *v)
{
	struct undo *undo = NULL;
	struct err err = { 0 };
	if (undo_open(v->folder, v->pid, &undo, &err) < 0)
		fail_msg("%s", err.text);
	return undo;
}

static struct favour favour_by(const char *method, struct undo *undo, const char *root)
{
	return (struct favour){ .method = favour_method_by_name(method),
		.opts = { .root = root, .nice_steps = 7 },
		.undo = undo };
}

static void a_favour_is_taken_back(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	int before = nice_of(v->pid);
	struct undo *undo = open_undo(v);
	struct favour favour = favour_by("nice", undo, "");
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	assert_int_equal(nice_of(v->pid), before - 7);
	assert_int_equal(favour_set(&favour, 0, 0, NULL), 0);
	assert_int_equal(nice_of(v->pid), before);
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	undo_close(undo);
	assert_int_equal(nice_of(v->pid), before);
}

/* Where RLIMIT_NICE allows some steps, those are taken. */
static void a_favour_keeps_within_the_limit(void **state)
{
	struct victim *v = *state;
	int before = nice_of(v->pid);
	struct alteration a;
	struct favour_opts opts = { .root = "", .nice_steps = 7, .nice_lowest = before - 2 };
	if (before != 0)
		skip();
	const struct favour_method *nice = favour_method_by_name("nice");
	assert_int_equal(nice->alteration(&opts, v->pid, v->pid, &a), 0);
	assert_int_equal(a.value, before - 2);
	opts.nice_lowest = before + 3;
	assert_int_equal(nice->alteration(&opts, v->pid, v->pid, &a), -EALREADY);
}

static void who_is_gone_is_no_failure(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	struct undo *undo = open_undo(v);
	struct favour favour = favour_by("nice", undo, "");
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	(void)kill(v->pid, SIGKILL);
	(void)waitpid(v->pid, NULL, 0);
	assert_int_equal(favour_set(&favour, 0, 0, NULL), 0);
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	assert_int_equal(favour.tid, 0);
	undo_close(undo);
}

static void one_at_a_time_changes_a_process(void **state)
{
	struct victim *v = *state;
	struct undo *undo = open_undo(v), *second = NULL;
	struct err err = { 0 };
	assert_int_equal(undo_open(v->folder, v->pid, &second, &err), -EBUSY);
	char owner[32];
	(void)snprintf(owner, sizeof owner, "(process %d)", getpid());
	assert_non_null(strstr(err.text, owner));
	undo_close(undo);
	undo_close(open_undo(v));
}

static void there_is_no_such_process(void **state)
{
	struct victim *v = *state;
	struct undo *undo = NULL;
	assert_int_equal(undo_open(v->folder, 0x7ffffff0, &undo, NULL), -ESRCH);
}

static void a_folder_of_others_is_refused(void **state)
{
	struct victim *v = *state;
	struct undo *undo = NULL;
	assert_int_equal(chmod(v->folder, 0777), 0);
	assert_int_equal(undo_open(v->folder, v->pid, &undo, NULL), -EPERM);
	assert_int_equal(chmod(v->folder, 0700), 0);
}

/* Another process that favours the victim and then waits; the pipe's end tells when it has. */
static pid_t start_owner(const struct victim *v, int *ret_fd)
{
	int ready[2];
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t owner = fork();
	assert_true(owner >= 0);
	if (owner == 0) {
		struct undo *undo = NULL;
		if (undo_open(v->folder, v->pid, &undo, NULL) < 0)
			_exit(1);
		struct favour favour = favour_by("nice", undo, "");
		bool is_set = favour_set(&favour, v->pid, v->pid, NULL) == 0;
		(void)!write(ready[1], &is_set, 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	*ret_fd = ready[0];
	return owner;
}

static bool has_files(const struct victim *v)
{
	char command[64];
	(void)snprintf(command, sizeof command, "test -n \"$(ls %s)\"", v->folder);
	return system(command) == 0;
}

static void a_killed_owner_leaves_nothing(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	int before = nice_of(v->pid), ready;
	pid_t owner = start_owner(v, &ready);
	char byte = 0;
	assert_int_equal(read(ready, &byte, 1), 1);
	assert_int_equal(nice_of(v->pid), before - 7);
	(void)kill(owner, SIGKILL);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	while (has_files(v)) /* the watchdog removes it when all is done */
		(void)poll(NULL, 0, 5);
	assert_int_equal(nice_of(v->pid), before);
	(void)close(ready);
}

/* The watchdog is the owner's only child. */
static pid_t watchdog_of(pid_t owner)
{
	char path[64];
	int child = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", owner, owner);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%d", &child) != 1)
		child = 0;
	if (file)
		(void)fclose(file);
	return child;
}

static void what_both_left_is_put_back_by_the_next(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	int before = nice_of(v->pid), ready;
	pid_t owner = start_owner(v, &ready);
	char byte = 0;
	assert_int_equal(read(ready, &byte, 1), 1);
	pid_t watchdog = watchdog_of(owner);
	if (watchdog == 0)
		skip(); /* a kernel without CONFIG_PROC_CHILDREN */
	(void)kill(watchdog, SIGKILL);
	(void)kill(owner, SIGKILL);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	struct undo *undo = NULL;
	while (undo_open(v->folder, v->pid, &undo, NULL) == -EBUSY)
		continue; /* until the watchdog is dead, which ends its lock */
	assert_non_null(undo);
	assert_int_equal(nice_of(v->pid), before);
	undo_close(undo);
	(void)close(ready);
}

static void the_owner_does_it_if_its_watchdog_was_killed(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	int before = nice_of(v->pid);
	struct undo *undo = open_undo(v);
	struct favour favour = favour_by("nice", undo, "");
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	char path[64];
	int child = 0;
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		if (child != v->pid)
			(void)kill(child, SIGKILL);
	if (file)
		(void)fclose(file);
	undo_close(undo);
	assert_int_equal(nice_of(v->pid), before);
}

static void a_stranger_with_the_same_number_is_left_alone(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	struct alteration a;
	int before = nice_of(v->pid);
	assert_int_equal(alteration_of_nice(v->pid, v->pid, before - 3, &a), 0);
	assert_int_equal(alteration_make(&a), 0);
	a.start_ticks++; /* as if the one whom we changed had been another */
	alteration_revert(&a);
	assert_int_equal(nice_of(v->pid), before - 3);
}

static void what_somebody_else_has_set_since_stays(void **state)
{
	struct victim *v = *state;
	skip_without_privilege();
	struct alteration a;
	int before = nice_of(v->pid);
	assert_int_equal(alteration_of_nice(v->pid, v->pid, before - 3, &a), 0);
	assert_int_equal(alteration_make(&a), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)v->pid, before + 1), 0);
	alteration_revert(&a);
	assert_int_equal(nice_of(v->pid), before + 1);
}

static void *report_nice(void *context)
{
	int *ret = context;
	*ret = nice_of(gettid());
	return NULL;
}

/* The value of a thread that we start while ours is altered, and ours after it was taken back. */
static int nice_of_new_thread(int own, int set)
{
	struct alteration a;
	pthread_t thread;
	int value = 0;
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), own), 0);
	assert_int_equal(alteration_of_nice(getpid(), gettid(), set, &a), 0);
	assert_int_equal(alteration_make(&a), 0);
	assert_int_equal(pthread_create(&thread, NULL, report_nice, &value), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	alteration_revert(&a);
	assert_int_equal(nice_of(gettid()), own);
	return value;
}

static pthread_barrier_t inside;

static void *stay(void *context)
{
	report_nice(context);
	(void)pthread_barrier_wait(&inside);
	(void)pthread_barrier_wait(&inside);
	report_nice((int *)context + 1);
	return NULL;
}

static void a_new_thread_does_not_inherit_it(void **state)
{
	(void)state;
	skip_without_privilege();
	if (geteuid() != 0)
		skip();
	int own = nice_of(gettid());
	assert_int_equal(nice_of_new_thread(0, -5), 0);
	/* Where the kernel cannot keep it away, it is found afterwards. */
	struct alteration a;
	pthread_t thread;
	int values[2] = { 0, 0 };
	assert_int_equal(pthread_barrier_init(&inside, NULL, 2), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), 3), 0);
	assert_int_equal(alteration_of_nice(getpid(), gettid(), -5, &a), 0);
	assert_int_equal(alteration_make(&a), 0);
	assert_int_equal(pthread_create(&thread, NULL, stay, values), 0);
	(void)pthread_barrier_wait(&inside);
	alteration_revert(&a);
	(void)pthread_barrier_wait(&inside);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(values[0], -5);
	assert_int_equal(values[1], 3);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), own), 0);
	(void)pthread_barrier_destroy(&inside);
}

static void put_text(const char *root, const char *path, const char *text)
{
	char name[512];
	(void)snprintf(name, sizeof name, "mkdir -p \"$(dirname %s%s)\" && echo '%s' >%s%s", root,
		path, text, root, path);
	assert_int_equal(system(name), 0);
}

static void expect_text(const char *root, const char *path, const char *expected)
{
	char name[256], line[256] = "";
	(void)snprintf(name, sizeof name, "%s%s", root, path);
	FILE *file = fopen(name, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	(void)fclose(file);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

#define FREQUENCY(cpu, file) "/sys/devices/system/cpu/cpu" #cpu "/cpufreq/scaling_" file

static void put_processor(const char *root, pid_t pid, int processor)
{
	char path[64], text[256];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, pid);
	(void)snprintf(text, sizeof text,
		"%d (a) b) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 "
		"29 30 "
		"31 32 33 34 35 36 37 38 %d 40",
		pid, processor);
	put_text(root, path, text);
}

static void the_clock_follows_the_thread_from_core_to_core(void **state)
{
	struct victim *v = *state;
	char root[] = "/tmp/undo-root-XXXXXX", reason[FAVOUR_REASON_BYTES];
	assert_non_null(mkdtemp(root));
	const struct favour_method *method = favour_method_by_name("frequency");
	assert_int_equal(method->check(root, reason), -EOPNOTSUPP);
	put_text(root, FREQUENCY(0, "min_freq"), "800000");
	put_text(root, FREQUENCY(0, "max_freq"), "2500000");
	put_text(root, FREQUENCY(1, "min_freq"), "900000");
	put_text(root, FREQUENCY(1, "max_freq"), "2400000");
	assert_int_equal(method->check(root, reason), 0);
	struct undo *undo = open_undo(v);
	struct favour favour = favour_by("frequency", undo, root);
	put_processor(root, v->pid, 1);
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	expect_text(root, FREQUENCY(1, "min_freq"), "2400000");
	expect_text(root, FREQUENCY(0, "min_freq"), "800000");
	put_processor(root, v->pid, 0);
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	assert_int_equal(favour_set(&favour, v->pid, v->pid, NULL), 0);
	expect_text(root, FREQUENCY(1, "min_freq"), "900000");
	expect_text(root, FREQUENCY(0, "min_freq"), "2500000");
	undo_close(undo);
	expect_text(root, FREQUENCY(0, "min_freq"), "800000");
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void what_is_missing_is_told(void **state)
{
	(void)state;
	char root[] = "/tmp/undo-root-XXXXXX", reason[FAVOUR_REASON_BYTES];
	assert_non_null(mkdtemp(root));
	put_text(root, "/proc/self/status", "CapEff: 0000000000000000");
	assert_int_equal(favour_method_by_name("nice")->check(root, reason), -EPERM);
	assert_non_null(strstr(reason, "CAP_SYS_NICE"));
	assert_int_equal(favour_method_by_name("clamp")->check(root, reason), -EOPNOTSUPP);
	assert_non_null(strstr(reason, "CONFIG_UCLAMP_TASK"));
	put_text(root, "/proc/sys/kernel/sched_util_clamp_min", "1024");
	assert_int_equal(favour_method_by_name("clamp")->check(root, reason), -EPERM);
	put_text(root, "/proc/self/limits",
		"Max nice priority         40                   40                   ");
	assert_int_equal(favour_method_by_name("nice")->check(root, reason), 0);
	assert_int_equal(favour_nice_lowest(root), -20);
	put_text(root, "/proc/self/limits", "Max nice priority         25                   25");
	assert_int_equal(favour_method_by_name("nice")->check(root, reason), 0);
	assert_int_equal(favour_nice_lowest(root), -5);
	put_text(root, "/proc/self/limits", "Max nice priority         20                   20");
	assert_int_equal(favour_method_by_name("nice")->check(root, reason), -EPERM);
	put_text(root, "/proc/self/limits", "");
	put_text(root, "/proc/self/status", "CapEff: 0000000000800000");
	assert_int_equal(favour_method_by_name("nice")->check(root, reason), 0);
	assert_int_equal(favour_method_by_name("clamp")->check(root, reason), 0);
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

#define WITH_VICTIM(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VICTIM(a_favour_is_taken_back),
		WITH_VICTIM(a_favour_keeps_within_the_limit),
		WITH_VICTIM(who_is_gone_is_no_failure),
		WITH_VICTIM(one_at_a_time_changes_a_process),
		WITH_VICTIM(there_is_no_such_process),
		WITH_VICTIM(a_folder_of_others_is_refused),
		WITH_VICTIM(a_killed_owner_leaves_nothing),
		WITH_VICTIM(what_both_left_is_put_back_by_the_next),
		WITH_VICTIM(the_owner_does_it_if_its_watchdog_was_killed),
		WITH_VICTIM(a_stranger_with_the_same_number_is_left_alone),
		WITH_VICTIM(what_somebody_else_has_set_since_stays),
		cmocka_unit_test(a_new_thread_does_not_inherit_it),
		WITH_VICTIM(the_clock_follows_the_thread_from_core_to_core),
		cmocka_unit_test(what_is_missing_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
