/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast tune at work: a metric, an actuator and a controller around one program. */
#ifndef CMD_TUNE_SESSION_H
#define CMD_TUNE_SESSION_H

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/tuner.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct tune_session_opts {
	const char *metric, *actuator; /* steer/rate.h, steer/actuator.h */
	bool may_set_cores; /* instead of openmp, where a program's regions keep their counts */
	pid_t pid; /* that runs already; 0: the program is started */
	uint32_t min, max; /* max 0: what the machine, its cpuset and its quota allow */
	double interval_s, settle_s; /* settle: after a change, before an interval counts */
	const struct tune_policy *policy;
	FILE *log; /* CSV, a line for each interval; NULL: none */
	FILE *messages; /* for a person: a line for each change */
};

/* Over the whole run, whatever the workload did. */
struct tune_total {
	uint32_t threads;
	uint32_t intervals;
	double seconds, work;
};

struct tune_session_result {
	const char *actuator; /* in the end: a static string, or that of the options */
	struct tuner_decision last;
	struct tune_total *totals; /* ascending counts; the session's */
	size_t total_count;
	uint32_t intervals, restarts;
	uint32_t max; /* the bound that was used */
	const char *nothing; /* why there was nothing to measure; NULL: there was something */
};

struct tune_session;

/* Before the program. 0 or a negative errno. */
int tune_session_new(
	const struct tune_session_opts *opts, struct tune_session **ret, struct err *err);

/* "NAME=value" for the program's environment, and how many; none if nothing needs to be in it. */
size_t tune_session_environment(const struct tune_session *session, const char **ret);

/* For the program's standard output; 0: ours. */
int tune_session_output(const struct tune_session *session);

/* The process is there, and this one has one thread. Where a page is shared, it begins with the first count. */
int tune_session_begin(struct tune_session *session, pid_t pid, struct err *err);

/*
 * Holds the best count of the process until stop_fd is readable, then gives it back what it had. 0; or a
 * negative errno when the metric or the actuator fails, and then too.
 */
int tune_session_run(struct tune_session *session, pid_t pid, int stop_fd, struct err *err);

/* The program has ended, or is left to itself. */
struct tune_session_result tune_session_result(struct tune_session *session);

/* The program has a parallel region or a pool that asks how many threads to have. */
bool tune_session_is_tunable(const struct tune_session *session);

void tune_session_free(struct tune_session *session);

CLEANUP_DEFINE(tune_session, tune_session_free)

#endif
