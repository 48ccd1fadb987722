/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many processors other work keeps busy, before a measurement starts. */
#ifndef MACHINE_BUSY_H
#define MACHINE_BUSY_H

#include <stdint.h>

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

/* Watches for so long (sleeping). NAN if /proc/stat does not tell. */
double busy_measure(unsigned milliseconds, uint32_t online);

#endif
