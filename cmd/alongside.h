/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Something of ours that runs beside a program: one that we start, which has the terminal, or one that runs already. */
#ifndef CMD_ALONGSIDE_H
#define CMD_ALONGSIDE_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct alongside {
	const char *doing; /* "tuning": for the message when that ends before the program does */
	/* The process is there and, if it is ours, has not run yet; this process has one thread. A negative
	   errno ends it. */
	int (*begin)(void *context, pid_t pid, struct err *err);
	/* Until stop_fd can be read. 0 or a negative errno; a program that we started goes on all the same. */
	int (*run)(void *context, pid_t pid, int stop_fd, struct err *err);
	void *context;
	const char *environment[8]; /* "NAME=value" for the program */
	size_t environment_count;
	int stdout_fd; /* the program's standard output; 0: ours */
};

/* Starts the program and returns when it has ended; *ret_status is as waitpid() gives it. 0 or -errno. */
int alongside_program(
	const struct alongside *alongside, char **program, int *ret_status, struct err *err);

/* Until the process ends, or after `seconds` (0: no matter how long), or with SIGINT, SIGTERM or SIGHUP. */
int alongside_process(
	const struct alongside *alongside, pid_t pid, double seconds, struct err *err);

#endif
