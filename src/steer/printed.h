/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The numbers that a program prints while it runs, or how many lines of a kind. Its standard output is a terminal of ours, so that it
 * prints line by line, and what it prints is passed on to our standard output unchanged.
 */
#ifndef STEER_PRINTED_H
#define STEER_PRINTED_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/extract.h"

#include <stdint.h>

struct printed; /* opaque */

/*
 * An extended regular expression: REDUCE_AVERAGE, with one group around the number; REDUCE_COUNT, of the lines to be counted.
 * 0, -EINVAL (extract.h), -errno.
 */
int printed_new(
	const char *expression, enum reduction reduction, struct printed **ret, struct err *err);

/* For the program's standard output; ours until printed_start(). */
int printed_fd(const struct printed *printed);

/* The program has it now: a thread passes on what comes. 0 or -errno. */
int printed_start(struct printed *printed, struct err *err);

/* The mean of the numbers since the last call. 0; -EAGAIN: there was none; -EINVAL: what matched is no number. */
int printed_mean(struct printed *printed, double *ret, struct err *err);

/* Lines that have matched since the start. */
uint64_t printed_lines(struct printed *printed);

/* The program has ended: passes on what is still there. */
void printed_end(struct printed *printed);

/* Why there was no number above 0 so far, for a message: a static string; NULL: there was one. */
const char *printed_nothing(struct printed *printed);

/* Ends it, too. Accepts NULL. */
void printed_free(struct printed *printed);
CLEANUP_DEFINE(printed, printed_free)

#endif
