/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/change.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* One value beside many may be an outlier of its own; two are a level. */
enum {
	SEGMENT_MIN = 2,
	AFTER_ONE = 4, /* so many show that the one before them is of another level */
};

/* Clocks and counters have steps: what scatters less than this, relatively, does not scatter less. */
static const double SCATTER_MIN = 1e-3;

void change_reset(struct change *change)
{
	change->count = 0;
}

struct moments {
	double sum, square;
	size_t count;
};

static double scatter_of(const struct moments *m)
{
	return fmax(m->square - m->sum * m->sum / (double)m->count, 0);
}

/* |t| of the two means. */
static double statistic(const struct moments *before, const struct moments *after)
{
	double n = (double)before->count, m = (double)after->count;
	double variance = (scatter_of(before) + scatter_of(after)) / (n + m - 2);
	variance = fmax(variance, SCATTER_MIN * SCATTER_MIN);
	return fabs(before->sum / n - after->sum / m) / sqrt(variance * (1 / n + 1 / m));
}

static void take(struct moments *m, double value, double sign)
{
	m->sum += sign * value;
	m->square += sign * value * value;
	m->count += sign > 0 ? 1 : -1UL;
}

/* Most values of either part are on its own side of the middle: outliers make no level. */
static bool are_levels(const struct change *change, size_t split)
{
	double before = 0, after = 0;
	for (size_t i = 0; i < change->count; i++)
		*(i < split ? &before : &after) += change->values[i];
	before /= (double)split;
	after /= (double)(change->count - split);
	double middle = (before + after) / 2;
	size_t own_before = 0, own_after = 0;
	for (size_t i = 0; i < change->count; i++) {
		bool is_as_before = (change->values[i] > middle) == (before > after);
		own_before += i < split && is_as_before;
		own_after += i >= split && !is_as_before;
	}
	return 2 * own_before > split && 2 * own_after > change->count - split;
}

enum change_verdict change_add(
	struct change *change, double value, double false_alarm, size_t *ret_first)
{
	if (change->count == CHANGE_WINDOW) {
		memmove(change->values, change->values + 1,
			(CHANGE_WINDOW - 1) * sizeof change->values[0]);
		change->count--;
	}
	change->values[change->count++] = value;
	if (change->count < 2 * SEGMENT_MIN)
		return CHANGE_NONE;

	/* Sums of deviations from the first value: no digits are lost to a large level. */
	double origin = change->values[0], highest = 0;
	struct moments before = { 0 }, after = { 0 };
	for (size_t i = 0; i < change->count; i++)
		take(&after, change->values[i] - origin, 1);
	size_t split = 0;
	for (size_t i = 0; i + 1 < change->count; i++) {
		take(&before, change->values[i] - origin, 1);
		take(&after, change->values[i] - origin, -1);
		double t = statistic(&before, &after);
		if (t > highest) {
			highest = t;
			split = i + 1;
		}
	}
	double tail = false_alarm / (2 * ((double)change->count - 1));
	if (highest <= gsl_cdf_tdist_Qinv(tail, (double)change->count - 2))
		return CHANGE_NONE;
	if (split < SEGMENT_MIN && change->count - split < AFTER_ONE)
		return CHANGE_NONE;
	if (change->count - split < SEGMENT_MIN)
		return CHANGE_SUSPECTED;
	if (!are_levels(change, split))
		return CHANGE_NONE;
	*ret_first = split;
	return CHANGE_SEEN;
}
