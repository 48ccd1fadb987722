/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the profiler: what runs the program. A backend is a row of the table in profiler_backend.c; all of them
 * fill the same raw file, from inside which the same plugin writes.
 */
#ifndef RECORD_PROFILER_BACKEND_H
#define RECORD_PROFILER_BACKEND_H

#include "base/err.h"
#include "record/profiler.h"

#include <sys/types.h>

/* What a run needs. Files have no names: others open them as /proc/PID/fd/N, as long as this process lives. */
struct profiler_parts {
	int raw, trace, page; /* descriptors */
	char *raw_name, *trace_name, *page_name;
	char *plugin, *library;
	char *assignments[6]; /* of the program's environment */
	char **argv; /* what is run, ended by NULL; its strings are in `strings` or borrowed */
	char *strings[8];
	size_t string_count;
	int stream[2]; /* a backend's own: a pipe */
	pid_t reader; /* of that pipe; 0: none */
};

struct profiler_backend {
	const char *name;
	/* 0, or -ENOENT: err says what is missing, and how to get it. */
	int (*check)(struct err *err);
	/* Makes `argv`; starts what has to run beside. `program` is the file's path, borrowed. */
	int (*begin)(const struct profiler_opts *opts, struct profiler_parts *parts, char *program,
		struct err *err);
	/* The program has ended: the raw file is whole after this. May be NULL. */
	int (*end)(struct profiler_parts *parts, struct err *err);
};

extern const struct profiler_backend profiler_qemu, profiler_valgrind;

/*
 * The backend that was asked for, or for "auto" QEMU, which is the faster, if it is there. *ret_why (borrowed, may be
 * NULL) says why.
 */
int profiler_choose(const struct profiler_opts *opts, const struct profiler_backend **ret,
	const char **ret_why, struct err *err);

/* Another string of the parts', formatted. NULL without memory. */
char *profiler_format(struct profiler_parts *parts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The program's own arguments behind `head`; makes parts->argv. 0 or -ENOMEM. */
int profiler_make_argv(struct profiler_parts *parts, char *const *head, size_t head_count,
	char *program, char *const *argv, struct err *err);

#endif
