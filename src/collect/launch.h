/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of a program: started, timed, watched, and cleared away with everything it started.
 *
 *	fork -> child waits -> at_start() -> clock starts, child execs -> at_tick()... ->
 *	child ends, clock stops -> at_end() while it is still a zombie -> reaped, leftovers killed
 *
 * The caller's process becomes a child subreaper. It must have no other thread that waits for
 * children.
 */
#ifndef COLLECT_LAUNCH_H
#define COLLECT_LAUNCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct launch_hooks {
	/* The child exists and has not run any of the program. A negative errno ends the launch. */
	int (*at_start)(void *context, pid_t pid, struct err *err);
	/* From time to time, every LAUNCH_TICK_MS at most. */
	void (*at_tick)(void *context, pid_t pid);
	/* The program has ended and its /proc entry is still there. */
	void (*at_end)(void *context, pid_t pid);
	void *context;
};

enum { LAUNCH_TICK_MS = 100 };

struct launch_opts {
	char *const *argv; /* NULL-terminated; argv[0] as the program sees it */
	const char *path; /* the file to execute */
	const char *environment[8]; /* "NAME=value", set on top of ours */
	size_t environment_count;
	int stdout_fd, stderr_fd; /* where its output goes; stdin is /dev/null */
	double timeout_s; /* 0: none */
	int cancel_fd; /* readable: stop the program (a signalfd); -1: none */
	struct launch_hooks hooks[6];
	size_t hook_count;
};

enum launch_ending {
	LAUNCH_EXITED, /* status is the exit status */
	LAUNCH_SIGNALLED, /* status is the signal */
	LAUNCH_TIMED_OUT,
	LAUNCH_CANCELLED,
};

struct launch_result {
	enum launch_ending ending;
	int status;
	double wall_s; /* CLOCK_MONOTONIC, from exec to exit */
	double user_s, system_s; /* of the program and the children that it waited for */
	double rss_bytes; /* peak resident set of its largest process, or ours if that is larger */
	uint64_t voluntary_switches, involuntary_switches;
	size_t left_behind; /* processes still running when the program ended; they were killed */
};

/*
 * 0 when the program ran, however it ended; -ENOENT and the like when it could not be started (the
 * text says why), or a hook's failure.
 */
int launch_run(const struct launch_opts *opts, struct launch_result *ret, struct err *err);

#endif
