/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the programs of tests/programs with the preload library and reads what it recorded. */
#include "program_run.h"

#include "base/mem.h"
#include "code/preloadable.h"

#include <errno.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/stat.h>

#define HOLD_S 0.050 /* the programs hold a waiter so long */
#define SPIN_S 0.040 /* a spinner: by processor time, of which a little is outside the wait */

static const struct sync_category *category(const struct run *run, const char *name)
{
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		if (strcmp(run->stalls->categories[i].name, name) == 0)
			return &run->stalls->categories[i];
	fail_msg("no category '%s'", name);
	return NULL;
}

static const struct {
	const char *name;
	const char *category;
	bool is_spinning;
} wait_cases[] = {
	{ "lock", "lock", false },
	{ "timedlock", "lock", false },
	{ "clocklock", "lock", false },
	{ "trylock", "lock", true },
	{ "read", "rwlock", false },
	{ "timed_read", "rwlock", false },
	{ "write", "rwlock", false },
	{ "spin", "spin", true },
	{ "barrier", "barrier", false },
	{ "cond", "cond", false },
	{ "cond_timed", "cond", false },
	{ "cond_clock", "cond", false },
	{ "sem", "sem", false },
	{ "sem_timed", "sem", false },
	{ "join", "join", false },
	{ "join_timed", "join", false },
	{ "mtx", "lock", false },
	{ "cnd", "cond", false },
};

static void each_wait_is_counted_once_in_its_category(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wait_cases); i++) {
		AUTO_RELEASE(run) struct run run = { 0 };
		measure("tests/programs/waits", wait_cases[i].name, &run);
		char expected[64];
		snprintf(expected, sizeof(expected), "%s done\n", wait_cases[i].name);
		assert_string_equal(run.output, expected);
		assert_int_equal(run.status, 0);
		assert_int_equal(run.stalls->processes, 1);
		assert_int_equal(run.stalls->unfinished_waits, 0);
		const struct sync_category *found = category(&run, wait_cases[i].category);
		if (found->waits != 1)
			fail_msg("%s: %lu waits", wait_cases[i].name, (unsigned long)found->waits);
		assert_true(found->total_s >= (wait_cases[i].is_spinning ? SPIN_S : HOLD_S));
		assert_true(found->total_s < 60);
		uint64_t all = 0;
		for (size_t j = 0; j < SYNC_STALLS_CATEGORIES; j++)
			all += run.stalls->categories[j].waits;
		assert_int_equal(all, 1);
	}
}

static void the_site_is_the_caller_in_the_program(void **state)
{
	(void)state;
	AUTO_RELEASE(run) struct run run = { 0 };
	measure("tests/programs/waits", "lock", &run);
	AUTO_FREE char *path = NULL;
	find("tests/programs/waits", &path);
	assert_int_equal(run.stalls->site_count, 1);
	const struct sync_site_stalls *site = &run.stalls->sites[0];
	assert_in_range(site->frame_count, 1, SYNC_STALLS_FRAMES);
	assert_string_equal(site->frames[0].module, path);
	assert_true(site->frames[0].offset > 0);
}

static const char gcc[] = "tests/programs/omp";
static const char llvm[] = "tests/programs/omp_llvm";
static const char no_gcc[] = "this compiler does not build for GCC's OpenMP runtime";
static const char no_llvm[] = "no clang with libomp here";

static void check_openmp(const char *program)
{
	static const char *const cases[] = { "barrier", "region", "loop", "critical", "lock" };
	setenv("OMP_WAIT_POLICY", "passive", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(run) struct run run = { 0 };
		measure(program, cases[i], &run);
		assert_int_equal(run.status, 0);
		const struct sync_category *omp = category(&run, "omp");
		if (omp->waits < 1 || omp->total_s < HOLD_S)
			fail_msg("%s: %g s", cases[i], omp->total_s);
		AUTO_FREE char *path = NULL;
		find(program, &path);
		for (size_t j = 0; j < run.stalls->site_count; j++) {
			const struct sync_site_stalls *site = &run.stalls->sites[j];
			if (&run.stalls->categories[site->category] == omp)
				assert_string_equal(site->frames[0].module, path);
		}
	}
}

static void waits_in_openmp_are_counted(void **state)
{
	(void)state;
	skip_without(gcc, no_gcc);
	check_openmp(gcc);
}

static void waits_in_the_openmp_of_llvm_are_counted(void **state)
{
	(void)state;
	skip_without(llvm, no_llvm);
	check_openmp(llvm);
}

static void tasks_that_run_in_a_barrier_are_not_waits(void **state)
{
	(void)state;
	const char *const programs[] = { gcc, llvm };
	if (!has_program(gcc))
		skip_without(llvm, no_llvm);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		AUTO_RELEASE(run) struct run run = { 0 };
		if (!has_program(programs[i]))
			continue;
		measure(programs[i], "tasks", &run);
		assert_int_equal(run.status, 0);
		assert_true(category(&run, "omp")->total_s <= strtod(run.output, NULL));
	}
}

static const struct {
	const char *name;
	uint64_t waits;
	double total_s;
	uint64_t processes;
	uint64_t unfinished;
	int signal;
} endings[] = {
	{ "exit", 1, HOLD_S, 1, 0, 0 },
	{ "kill", 1, HOLD_S, 1, 1, SIGKILL },
	{ "fork", 2, 2 * HOLD_S, 1, 0, 0 },
	{ "exec", 2, 2 * HOLD_S, 2, 0, 0 },
	{ "cancel", 1, HOLD_S, 1, 0, 0 },
	{ "jump", 1, HOLD_S, 1, 0, 0 },
};

static void waits_survive_how_threads_and_processes_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		AUTO_RELEASE(run) struct run run = { 0 };
		measure("tests/programs/endings", endings[i].name, &run);
		assert_int_equal(
			WIFSIGNALED(run.status) ? WTERMSIG(run.status) : 0, endings[i].signal);
		assert_int_equal(WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 0, 0);
		const struct sync_category *sem = category(&run, "sem");
		if (sem->waits != endings[i].waits || sem->total_s < endings[i].total_s)
			fail_msg("%s: %lu waits, %g s", endings[i].name, (unsigned long)sem->waits,
				sem->total_s);
		assert_int_equal(run.stalls->processes, endings[i].processes);
		assert_int_equal(run.stalls->unfinished_waits, endings[i].unfinished);
	}
}

static void programs_behave_as_without_the_library(void **state)
{
	(void)state;
	AUTO_RELEASE(run) struct run measured = { 0 };
	measure("tests/programs/behaviour", NULL, &measured);
	assert_as_without_library("tests/programs/behaviour", NULL, &measured);
	assert_int_equal(WEXITSTATUS(measured.status), 7);
	assert_int_equal(measured.stalls->unfinished_waits, 0);
}

static void so_do_those_that_signals_interrupt(void **state)
{
	(void)state;
	static const char *const programs[] = { "tests/programs/errnos", "tests/programs/signals",
		"tests/programs/variants" };
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		AUTO_RELEASE(run) struct run measured = { 0 };
		measure(programs[i], NULL, &measured);
		assert_as_without_library(programs[i], NULL, &measured);
	}
}

static void a_library_that_cannot_record_changes_nothing(void **state)
{
	(void)state;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *library = NULL;
	AUTO_FREE char *preload = NULL;
	find("tests/programs/behaviour", &path);
	find("preload/libcorecast-sync.so", &library);
	assert_true(asprintf(&preload, "LD_PRELOAD=%s", library) > 0);
	char wrong[] = "CORECAST_SYNC=/dev/null";
	struct sync_env env = { { preload, wrong } };
	char *argv[] = { path, NULL };
	AUTO_RELEASE(run) struct run plain = { 0 };
	AUTO_RELEASE(run) struct run measured = { 0 };
	run_program(argv, NULL, &plain);
	run_program(argv, &env, &measured);
	assert_string_equal(measured.output, plain.output);
	assert_int_equal(measured.status, plain.status);
}

static void assert_refused(const char *program, int code, const char *words)
{
	struct err err = { 0 };
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	assert_int_equal(sync_stalls_prepare(program, "/dev/full", &env, &err), code);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
	assert_null(env.assignments[0]);
}

static void programs_that_ignore_a_preload_are_refused(void **state)
{
	(void)state;
	AUTO_FREE char *path = NULL;
	find("tests/programs/static", &path);
	assert_refused(path, -EOPNOTSUPP, "statically linked");
	assert_refused("/no/such/program", -ENOENT, "cannot run");
	assert_refused("no-such-program", -ENOENT, "in PATH");
	assert_refused("/proc/self/cmdline", -ENOENT, "cannot run");
}

/* Writes `text` to a new executable file; the caller removes it. */
static void write_program(const char *text, char ret_path[], mode_t mode)
{
	AUTO_FD int fd = mkstemp(ret_path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static void a_script_is_judged_by_its_interpreter(void **state)
{
	(void)state;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *text = NULL;
	find("tests/programs/static", &path);
	assert_true(asprintf(&text, "#! %s -x\n", path) > 0);
	char refused[] = "/tmp/script.XXXXXX";
	char accepted[] = "/tmp/script.XXXXXX";
	char words[] = "/tmp/script.XXXXXX";
	write_program(text, refused, 0700);
	write_program("#!/bin/sh\n", accepted, 0700);
	write_program("no program\n", words, 0700);
	struct err err = { 0 };
	int r_refused = preloadable_check(refused, &err);
	int r_accepted = preloadable_check(accepted, &err);
	int r_words = preloadable_check(words, &err);
	unlink(words);
	unlink(refused);
	unlink(accepted);
	assert_int_equal(r_refused, -EOPNOTSUPP);
	assert_int_equal(r_accepted, 0);
	assert_int_equal(r_words, -ENOEXEC);
}

static void set_user_id_programs_are_refused(void **state)
{
	(void)state;
	if (getuid() != 0) {
		print_message("skipped: only root can make a program of another user\n");
		skip();
	}
	char path[] = "/tmp/setuid.XXXXXX";
	write_program("\177ELF", path, 0700);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(chmod(path, 04700), 0);
	struct err err = { 0 };
	int r = preloadable_check(path, &err);
	unlink(path);
	assert_int_equal(r, -EACCES);
	assert_non_null(strstr(err.text, "privileges"));
}

static void an_existing_preload_is_kept(void **state)
{
	(void)state;
	char file[] = "/tmp/sync_stalls.XXXXXX";
	AUTO_FD int fd = mkstemp(file);
	assert_true(fd >= 0);
	struct err err = { 0 };
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	setenv("LD_PRELOAD", "first.so", 1);
	int r = sync_stalls_prepare(NULL, file, &env, &err);
	unsetenv("LD_PRELOAD");
	unlink(file);
	assert_int_equal(r, 0);
	assert_memory_equal(env.assignments[0], "LD_PRELOAD=first.so:/", 21);
}

static void other_files_are_not_read(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct sync_stalls *stalls = NULL;
	assert_int_equal(sync_stalls_read("/dev/null", &stalls, &err), -EINVAL);
	assert_int_equal(sync_stalls_read("/dev/zero", &stalls, &err), -EINVAL);
	assert_int_equal(sync_stalls_read("/no/such/file", &stalls, &err), -ENOENT);
	assert_null(stalls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_is_counted_once_in_its_category),
		cmocka_unit_test(the_site_is_the_caller_in_the_program),
		cmocka_unit_test(waits_in_openmp_are_counted),
		cmocka_unit_test(waits_in_the_openmp_of_llvm_are_counted),
		cmocka_unit_test(tasks_that_run_in_a_barrier_are_not_waits),
		cmocka_unit_test(waits_survive_how_threads_and_processes_end),
		cmocka_unit_test(programs_behave_as_without_the_library),
		cmocka_unit_test(so_do_those_that_signals_interrupt),
		cmocka_unit_test(a_library_that_cannot_record_changes_nothing),
		cmocka_unit_test(programs_that_ignore_a_preload_are_refused),
		cmocka_unit_test(a_script_is_judged_by_its_interpreter),
		cmocka_unit_test(set_user_id_programs_are_refused),
		cmocka_unit_test(an_existing_preload_is_kept),
		cmocka_unit_test(other_files_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
