/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a program of tests/programs and keeps its output; measure() with the preload library. */
#ifndef TESTS_PROGRAM_RUN_H
#define TESTS_PROGRAM_RUN_H

#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "collect/sync_stalls.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum {
	OUTPUT_BYTES = 16384,
	ENVIRONMENT_MAX = 512,
};

struct run {
	int status; /* as of waitpid() */
	char output[OUTPUT_BYTES];
	struct sync_stalls *stalls;
};

static inline void run_release(struct run *run)
{
	sync_stalls_free(run->stalls);
	run->stalls = NULL;
}

static inline void read_output(int fd, char ret[OUTPUT_BYTES])
{
	size_t length = 0;
	ssize_t n;
	while (length < OUTPUT_BYTES - 1 &&
		(n = read(fd, ret + length, OUTPUT_BYTES - 1 - length)) > 0)
		length += (size_t)n;
	ret[length] = '\0';
}

/* The environment of this process with the assignments first: the first of two wins. */
static inline void fill_environment(char *ret[ENVIRONMENT_MAX], const struct sync_env *env)
{
	size_t count = 0;
	for (size_t i = 0; env && i < SYNC_ENV_ASSIGNMENTS; i++)
		ret[count++] = env->assignments[i];
	for (char **e = environ; *e && count < ENVIRONMENT_MAX - 1; e++)
		if (!env || strncmp(*e, "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
			ret[count++] = *e;
	ret[count] = NULL;
}

static inline void run_program(char *const argv[], const struct sync_env *env, struct run *run)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	AUTO_FD int out = ends[0];
	posix_spawn_file_actions_t actions;
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
	char *environment[ENVIRONMENT_MAX];
	fill_environment(environment, env);
	pid_t pid = 0;
	assert_int_equal(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environment), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	read_output(out, run->output);
	assert_int_equal(waitpid(pid, &run->status, 0), pid);
}

static inline void find(const char *name, char **ret)
{
	struct err err = { 0 };
	if (datadir_find(name, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* Not every build has every program. */
static inline bool has_program(const char *name)
{
	AUTO_FREE char *path = NULL;
	return datadir_find(name, &path, NULL) == 0;
}

static inline void skip_without(const char *program, const char *reason)
{
	if (has_program(program))
		return;
	print_message("skipped: %s\n", reason);
	skip();
}

/* The run is like one without the library: the same text, the same end. */
static inline void assert_as_without_library(
	const char *program, const char *argument, const struct run *run)
{
	AUTO_FREE char *path = NULL;
	find(program, &path);
	char *argv[] = { path, (char *)argument, NULL };
	AUTO_RELEASE(run) struct run plain = { 0 };
	run_program(argv, NULL, &plain);
	assert_string_equal(run->output, plain.output);
	assert_int_equal(run->status, plain.status);
}

static inline void measure(const char *program, const char *argument, struct run *run)
{
	AUTO_FREE char *path = NULL;
	find(program, &path);
	char file[] = "/tmp/sync_stalls.XXXXXX";
	AUTO_FD int fd = mkostemp(file, O_CLOEXEC);
	assert_true(fd >= 0);
	struct err err = { 0 };
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	if (sync_stalls_prepare(path, file, &env, &err) < 0)
		fail_msg("%s", err.text);
	char *argv[] = { path, (char *)argument, NULL };
	run_program(argv, &env, run);
	int r = sync_stalls_read(file, &run->stalls, &err);
	unlink(file);
	if (r < 0)
		fail_msg("%s", err.text);
}

#endif
