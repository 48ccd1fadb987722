/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Valgrind with a tool of our own (plugin/valgrind): one guest thread at a time; what it executes goes through a
 * pipe to a process that has the plugin, on another core.
 */
#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/mem.h"
#include "record/profiler_backend.h"
#include "code/static_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 };

static int find_part(const char *name, char **ret, struct err *err)
{
	char relative[64];
	(void)snprintf(relative, sizeof relative, "plugin/valgrind/%s", name);
	int code = datadir_find(relative, ret, NULL);
	return code == 0 ? 0
			 : err_set(err, code,
				   "this corecast was built without the tool for Valgrind: sudo "
				   "apt-get install valgrind libzydis-dev, then build it again");
}

static int check(struct err *err)
{
	AUTO_FREE char *tool = NULL;
	AUTO_FREE char *core = NULL;
	AUTO_FREE char *plugin = NULL;
	int code = find_part("corecast-amd64-linux", &tool, err);
	if (code == 0)
		code = find_part("vgpreload_core-amd64-linux.so", &core, err);
	if (code == 0 && access(core, R_OK) != 0)
		code = err_set(err, -ENOENT,
			"Valgrind is not there any more: sudo apt-get install valgrind");
	return code < 0 ? code : profiler_find_plugin(&plugin, err);
}

/* Ends when the pipe does. It goes on when a terminal interrupts the program. */
static int start_reader(struct profiler_parts *parts, char *const *argv, struct err *err)
{
	if (pipe2(parts->stream, O_CLOEXEC) < 0) {
		parts->stream[0] = parts->stream[1] = -1;
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	(void)fcntl(parts->stream[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "cannot start '%s': %s", argv[0], strerror(errno));
	if (pid == 0) {
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGQUIT, SIG_IGN);
		if (dup2(parts->stream[0], STDIN_FILENO) >= 0)
			(void)execv(argv[0], argv);
		_exit(127);
	}
	parts->reader = pid;
	(void)close(parts->stream[0]); /* the reader has it */
	parts->stream[0] = -1;
	return 0;
}

/* env A=B ... TOOL --stream=... PATH ARGS: the tool is Valgrind itself, without its launcher, which would be recorded. */
static int make_argv(const struct profiler_opts *opts, struct profiler_parts *parts, char *tool,
	char *program, struct err *err)
{
	static char env[] = "/usr/bin/env", launcher[] = "VALGRIND_LAUNCHER=/usr/bin/valgrind",
		    quiet[] = "--quiet", name[] = "--tool=corecast", fair[] = "--fair-sched=try",
		    blocks[] = "--vex-guest-chase=no", loops[] = "--vex-iropt-unroll-thresh=0",
		    end[] = "--";
	char *library =
		profiler_format(parts, "VALGRIND_LIB=%.*s", (int)(strrchr(tool, '/') - tool), tool);
	char *stream =
		profiler_format(parts, "--stream=/proc/%d/fd/%d", (int)getpid(), parts->stream[1]);
	if (!library || !stream)
		return err_set(err, -ENOMEM, "out of memory");
	char *head[11 + ARRAY_SIZE(parts->assignments)] = { env };
	size_t at = 1;
	for (size_t i = 0; i < ARRAY_SIZE(parts->assignments); i++)
		head[at++] = parts->assignments[i];
	char *const rest[] = { launcher, library, tool, name, quiet, stream, fair, blocks, loops,
		end };
	memcpy(head + at, rest, sizeof rest);
	return profiler_make_argv(parts, head, at + ARRAY_SIZE(rest), program, opts->argv, err);
}

static int begin(const struct profiler_opts *opts, struct profiler_parts *parts, char *program,
	struct err *err)
{
	static char backend[] = "backend=valgrind";
	AUTO_FREE char *found_tool = NULL;
	AUTO_FREE char *feed = NULL;
	if (static_program_is(program))
		return err_set(err, -EOPNOTSUPP,
			"'%s' is statically linked: only QEMU can profile it (--backend qemu)",
			program);
	int code = find_part("corecast-amd64-linux", &found_tool, err);
	if (code == 0)
		code = find_part("corecast-feed", &feed, err);
	if (code < 0)
		return code;
	char *tool = profiler_format(parts, "%s", found_tool);
	char *out = profiler_format(parts, "out=%s", parts->raw_name);
	if (!tool || !out)
		return err_set(err, -ENOMEM, "out of memory");
	static char trace[] = "trace=on";
	char *const reader[] = { feed, parts->plugin, backend, out,
		opts->instructions ? trace : NULL, NULL };
	code = start_reader(parts, reader, err);
	return code < 0 ? code : make_argv(opts, parts, tool, program, err);
}

static int end(struct profiler_parts *parts, struct err *err)
{
	int status = 0;
	(void)close(parts->stream
			    [1]); /* so that the reader sees the end of a program that was killed */
	parts->stream[1] = -1;
	while (waitpid(parts->reader, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "cannot wait: %s", strerror(errno));
	parts->reader = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, -EIO, "what Valgrind told could not be read to its end");
}

const struct profiler_backend profiler_valgrind = {
	.name = "valgrind", .check = check, .begin = begin, .end = end
};
