/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast an unmodified program does its work, for whoever tunes it: a count that only grows, or a rate that
 * somebody else measures. By what is asked for:
 *
 *	regions			parallel regions of OpenMP that have ended (libgomp, libomp)
 *	iterations		of loops of OpenMP that the runtime hands out
 *	iterations		of loops of OpenMP that the runtime hands out
 *	ticks			units of corecast_tick() of probe.h
 *	uprobe:FILE:FUNCTION	calls of a function of a program or a library, by any process; as root
 *	usdt:FILE:PROVIDER:NAME	passes of a static probe (USDT); as root
 *	print:REGEX		the rate is what the program prints, in the group of an extended regular expression
 *	count:REGEX		lines that the program prints and that match
 *	switches		context switches: a last resort, for programs that wait for each unit of work
 *	syscalls		system calls: another, for programs that make some for each unit of work; as root
 *	command:COMMAND		the rate is the last number that a shell command prints
 */
#ifndef STEER_RATE_H
#define STEER_RATE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tune_page; /* preload/tune_page.h */
struct rate; /* opaque */

/* Whether a metric needs the preload library, and so has to start the program. */
bool rate_needs_page(const char *spec);

/* Whether it needs the program's output, and so has to start it. */
bool rate_needs_output(const char *spec);

/* Before the program starts. 0, -EINVAL (no such metric, no such function), -ENOMEM. */
int rate_new(const char *spec, struct tune_page *page, struct rate **ret, struct err *err);

/* For the program's standard output; 0: its own. Ours, until rate_start(). */
int rate_output(const struct rate *rate);

/* Begins with this process and what it will start. 0, or a negative errno with what to do. */
int rate_start(struct rate *rate, pid_t pid, struct err *err);

/* Whether it counts units of work, so that also a part of an interval says something. */
bool rate_counts(const struct rate *rate);

/* What was done until now does not count. 0 or a negative errno. */
int rate_begin(struct rate *rate, struct err *err);

/*
 * Whether it counts so few units that when each ends matters (units.h): then rate_look() should be called often.
 */
bool rate_wants_looks(const struct rate *rate);
void rate_look(struct rate *rate);

/*
 * Work per second since rate_begin() or the last call that told it, and over how many seconds. 0; -EAGAIN: nothing is told
 * yet (of what counts: few units, and `is_whole`, the end of an interval, is false; or less than one); or a negative errno.
 */
int rate_read(struct rate *rate, bool is_whole, double *ret_per_s, double *ret_s, struct err *err);

/* The program has ended: what it did last counts for rate_nothing(). */
void rate_end(struct rate *rate);

/* Why nothing could be told since the start, for a message: a static string. NULL: something could, or nobody asked yet. */
const char *rate_nothing(const struct rate *rate);

void rate_free(struct rate *rate);

CLEANUP_DEFINE(rate, rate_free)

#endif
