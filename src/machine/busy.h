/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many processors other work keeps busy, before a measurement starts. */
#ifndef MACHINE_BUSY_H
#define MACHINE_BUSY_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>

/* The first line of /proc/stat, all processors together, in clock ticks. */
struct busy_ticks {
	uint64_t busy;
	uint64_t total;
};

/* 0, or -EINVAL if it is not such a line. */
int busy_parse(const char *line, struct busy_ticks *ret);

/* Busy processors between two readings, 0 .. online. */
double busy_between(
	const struct busy_ticks *before, const struct busy_ticks *after, uint32_t online);

/* Since the machine's start. 0, or a negative errno where /proc/stat does not tell. */
int busy_read(struct busy_ticks *ret);

/*
 * How long processors have idled since the machine's start, all of `set` together, ns, from the open /proc/stat; exact to a
 * clock tick (10 ms) of each. Time that a hypervisor gave to others is not idle. 0; -EINVAL: it does not tell of all of them.
 */
int busy_idle_ns(FILE *stat, const cpu_set_t *set, uint64_t *ret);

/* Watches for so long (sleeping). NAN if /proc/stat does not tell. */
double busy_measure(unsigned milliseconds, uint32_t online);

#endif
