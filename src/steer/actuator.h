/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a running program is given another thread count:
 *
 *	openmp			parallel regions of OpenMP (libgomp, libomp) get so many threads when they begin
 *	pool			so many workers of a pool may go on (corecast/pool.h)
 *	affinity		the program and all that it started may use so many cores
 *	cpuset			the same by a control group of ours, which it cannot leave (cpuset_group.h)
 *	command:COMMAND		a shell command, with {n} for the count
 */
#ifndef STEER_ACTUATOR_H
#define STEER_ACTUATOR_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tune_share; /* steer/tune_share.h */
struct actuator; /* opaque */

/* Whether it tells the program by the page that they share (preload/tune_page.h). */
bool actuator_needs_page(const char *spec);

/* `pid` 0: of a program that we start. `share` is borrowed, NULL if none is needed. 0, -EINVAL (no such actuator, a command without {n}), -ENOMEM. */
int actuator_new(const char *spec, pid_t pid, struct tune_share *share, struct actuator **ret,
	struct err *err);

/*
 * The process is there, and this one has one thread: starts the watchdog that restores what is set (undo.h).
 * 0, -EBUSY (under another's control) or a negative errno.
 */
int actuator_begin(struct actuator *actuator, pid_t pid, struct err *err);

/* From now on. 0 or a negative errno; a process that is gone is not an error. */
int actuator_set(struct actuator *actuator, pid_t pid, uint32_t threads, struct err *err);

/* Whether it can give back what was there before. A command knows no before. */
bool actuator_restores(const struct actuator *actuator);

/* What was there before: the program's own cores, its own choice. */
void actuator_restore(struct actuator *actuator);

/* The highest count that it can set; 0: any. */
uint32_t actuator_max(const struct actuator *actuator);

void actuator_free(struct actuator *actuator);

CLEANUP_DEFINE(actuator, actuator_free)

#endif
