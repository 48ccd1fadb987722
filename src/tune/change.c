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

/* What is expected of the noise weighs as much as so many values: it is soon the values that tell. */
static const double EXPECTED_DEGREES = 4;

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

static void take(struct moments *m, double value, double sign)
{
	m->sum += sign * value;
	m->square += sign * value * value;
	m->count += sign > 0 ? 1 : -1UL;
}

/* Most values of either part are on its own side of the middle, and so are the two where they meet: outliers make no level. */
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
		bool is_own = ((change->values[i] > middle) == (before > after)) == (i < split);
		if (!is_own && (i + 1 == split || i == split))
			return false;
		*(i < split ? &own_before : &own_after) += is_own;
	}
	return 2 * own_before > split && 2 * own_after > change->count - split;
}

/* Chance of such a difference of the two means, to one side, if this sum of squares with so many degrees is the scatter. */
static double chance_of(
	const struct moments *before, const struct moments *after, double square, double degrees)
{
	if (degrees <= 0)
		return 1;
	double n = (double)before->count, m = (double)after->count;
	double variance = fmax(square / degrees, SCATTER_MIN * SCATTER_MIN);
	double difference = fabs(before->sum / n - after->sum / m);
	return gsl_cdf_tdist_Q(difference / sqrt(variance * (1 / n + 1 / m)), degrees);
}

/*
 * The first value behind the place where two levels differ most clearly, and the chance of that: as many tests as there are
 * places, two of each, to either side. Values that stand apart may make a part differ that is no level: elsewhere two may be.
 */
static size_t find_split(const struct change *change, double *ret_chance)
{
	/* Sums of deviations from the first value: no digits are lost to a large level. */
	double origin = change->values[0];
	double more = change->noise > 0 ? EXPECTED_DEGREES : 0;
	double expected = more * change->noise * change->noise;
	struct moments before = { 0 }, after = { 0 };
	for (size_t i = 0; i < change->count; i++)
		take(&after, change->values[i] - origin, 1);
	size_t first = 0;
	double least = 1;
	for (size_t i = 1; i < change->count; i++) {
		take(&before, change->values[i - 1] - origin, 1);
		take(&after, change->values[i - 1] - origin, -1);
		double own = scatter_of(&before) + expected, pooled = own + scatter_of(&after);
		double chance =
			fmin(chance_of(&before, &after, pooled, (double)change->count - 2 + more),
				chance_of(&before, &after, own, (double)i - 1 + more));
		if (chance < least && are_levels(change, i)) {
			least = chance;
			first = i;
		}
	}
	*ret_chance = 4 * ((double)change->count - 1) * least;
	return first;
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
	if (change->count < (change->noise > 0 ? 2 : 2 * SEGMENT_MIN))
		return CHANGE_NONE;
	double chance;
	size_t split = find_split(change, &chance), after = change->count - split;
	if (chance > false_alarm)
		return CHANGE_NONE;
	if (split < SEGMENT_MIN && change->noise <= 0 && after < AFTER_ONE)
		return CHANGE_NONE;
	if (after < SEGMENT_MIN)
		return CHANGE_SUSPECTED;
	*ret_first = split;
	return CHANGE_SEEN;
}
