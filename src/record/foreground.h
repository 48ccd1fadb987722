/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program as if it had been started directly: it has our terminal, input and output, and
 * signals that ask us to stop go to it. Contrast collect/launch.h, for programs that are measured
 * in the background and cleared away.
 */
#ifndef RECORD_FOREGROUND_H
#define RECORD_FOREGROUND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct foreground_opts {
	char *const *argv; /* argv[0] is looked up as execvp() does */
	const char *environment[8]; /* "NAME=value", set on top of ours */
	size_t environment_count;
	int stdout_fd; /* the program's standard output; 0: ours */
	/* May be NULL. The process exists and waits to become the program; a negative errno ends it. */
	int (*at_start)(void *context, pid_t pid, struct err *err);
	/* May be NULL. Called every FOREGROUND_TICK_NS while the program runs. */
	void (*at_tick)(void *context, uint64_t elapsed_ns);
	void *context;
	bool ends_with_us; /* the program gets SIGTERM if we are killed */
};

enum { FOREGROUND_TICK_NS = 500000000 };

struct foreground_result {
	int status; /* as waitpid() gives it */
	int stop_signal; /* the last SIGINT, SIGTERM or SIGHUP that came meanwhile, for the program or us; 0: none */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
};

/*
 * Returns when the program has ended; what it left running goes on. 0 however it ended; -ENOENT and
 * the like when it could not be started, or what at_start returned. No other thread of the caller
 * may wait for children meanwhile.
 */
int foreground_run(
	const struct foreground_opts *opts, struct foreground_result *ret, struct err *err);

#endif
