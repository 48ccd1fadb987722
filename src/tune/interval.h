/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An interval as it is measured, part by part, and how far parts scatter: so that it can end as soon as it says
 * enough. Noise is taken for independent from part to part: the variance of the logarithm of performance over a
 * share w of an interval is sigma^2 / w. sigma is estimated from the parts of intervals that have ended, whatever
 * their level was.
 */
#ifndef TUNE_INTERVAL_H
#define TUNE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

enum { INTERVAL_PARTS_MAX = 16 };

struct interval_part {
	double performance;
	double share; /* of a whole interval */
};

struct interval {
	struct interval_part parts[INTERVAL_PARTS_MAX];
	size_t count;
	double square, degrees; /* sigma^2 = square / degrees */
};

/* A part of the interval at hand: work per second over it. More than fit are left out. */
void interval_add(struct interval *interval, double performance, double share);

/* As long as it should be, or there is no room for more. */
bool interval_is_whole(const struct interval *interval);

/* Mean performance of the parts from `from` on; and of how many intervals that is. */
double interval_mean(const struct interval *interval, size_t from, double *ret_share);

/*
 * Whether the parts from `from` on are of another performance than this, which is the mean of so many intervals:
 * Student's t, two-sided, at the level `false_alarm`. False where there is no knowledge of the noise.
 */
bool interval_differs(const struct interval *interval, size_t from, double performance,
	double intervals, double false_alarm);

/* Relative standard deviation of a whole interval; 0: not known. */
double interval_noise(const struct interval *interval);

/* Ends with its parts from `from` on; the next begins. */
void interval_end(struct interval *interval, size_t from);

/* Another workload may have other noise: what is known of it counts little from here on. */
void interval_doubt(struct interval *interval);

#endif
