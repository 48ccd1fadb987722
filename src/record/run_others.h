/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What other programs take of a program's cores while it runs: all the time in which these are not idle, but for the program's own.
 * The recorder's own time is others' time.
 */
#ifndef RECORD_RUN_OTHERS_H
#define RECORD_RUN_OTHERS_H

#include "preload/trace_record.h"

#include <sched.h>
#include <sys/types.h>

struct run_others {
	pid_t pid; /* of a process that ran already; 0: a child, which we have waited for at the end */
	cpu_set_t cores;
	uint64_t time_ns, idle_ns, own_ns; /* at the beginning; time_ns 0: nothing is known */
};

/* Where a quota leaves less than the process's mask, what others take does not matter, and is not told. */
void run_others_begin(struct run_others *others, pid_t pid);

/* Since then; 0 where it is not known. */
struct trace_others run_others_end(const struct run_others *others);

/* Writes it into the header of a raw file; failure leaves it unknown. */
void run_others_write(const struct run_others *others, const char *path);

#endif
