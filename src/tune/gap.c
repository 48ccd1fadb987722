/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The logarithm of the performance as a random walk over the logarithm of the count, with a jump somewhere in each gap. In its
 * middle the walk has the mean of both ends and the variance S^2 ln(b / a) / 4 of a Brownian bridge; the jump, from one end to
 * the other, has come by then or has not: half their difference is its deviation. Beside the fewest or the most that were measured the
 * walk is free, and half of what threads add at the next two counts is presumed. Nothing else is said of the shape.
 */
#include "tune/gap.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* For e times as many threads. Set before it was measured: what cliffs of a third need. */
static const double WALK_SD = 0.3;

/* Below that a look costs more than it finds. */
static const double GAIN_MIN = 0.02;

/* What would be tried there, 0: nothing is left; and the logarithm of its performance. */
struct gap {
	uint32_t threads;
	double mean, sd;
};

/* As counts of cores and sockets are: by ratio. low + 1 < high. */
static uint32_t middle_of(uint32_t low, uint32_t high)
{
	uint32_t middle = (uint32_t)lround(sqrt((double)low * high));
	return middle <= low ? low + 1 : middle >= high ? high - 1 : middle;
}

static double log_of(const struct tune_point *point)
{
	return log(point->performance);
}

/* The fewest threads that were measured add so much each, as an exponent: 0 nothing, 1 all of it. */
static double slope_of(const struct tune_set *set)
{
	if (set->count < 2)
		return 1;
	const struct tune_point *p = set->points;
	double slope = (log_of(&p[1]) - log_of(&p[0])) / log((double)p[1].threads / p[0].threads);
	return fmin(fmax(slope, 0), 1);
}

static double log_ratio(uint32_t low, uint32_t high)
{
	return low < high ? log((double)high / low) : 0;
}

/* Below the first point, between two, or above the last; `i`: the point that it ends with. */
static struct gap look_into(const struct tune_space *space, const struct tune_set *set, size_t i)
{
	const struct tune_point *low = i > 0 ? &set->points[i - 1] : NULL;
	const struct tune_point *high = i < set->count ? &set->points[i] : NULL;
	if (!low && !high) /* nothing was measured */
		return (struct gap){ 0 };
	if (!low) {
		double ratio = log_ratio(space->min, high->threads);
		return (struct gap){ space->min < high->threads ? space->min : 0,
			log_of(high) - slope_of(set) * ratio / 2, WALK_SD * sqrt(ratio) };
	}
	if (!high)
		return (struct gap){ low->threads < space->max ? space->max : 0, log_of(low),
			WALK_SD * sqrt(log_ratio(low->threads, space->max)) };
	double jump = (log_of(high) - log_of(low)) / 2;
	double walk = WALK_SD * sqrt(log_ratio(low->threads, high->threads)) / 2;
	bool is_open = high->threads - low->threads > 1;
	return (struct gap){ is_open ? middle_of(low->threads, high->threads) : 0,
		log_of(low) + jump, hypot(walk, jump) };
}

uint32_t gap_choose(const struct tune_space *space, const struct tune_set *set, uint32_t held,
	double cost, double noise)
{
	const struct tune_point *at = tune_set_find(set, held);
	double best = at ? log_of(at) : INFINITY, highest = 0;
	uint32_t choice = 0;
	for (size_t i = 0; i <= set->count; i++) {
		struct gap gap = look_into(space, set, i);
		double seen = gap.sd > 0 ? gap.sd * gap.sd / hypot(gap.sd, noise) : 0;
		double gain = tune_expected_excess(gap.mean - best, seen);
		double worth = gain / (cost + tune_expected_excess(best - gap.mean, gap.sd));
		if (gap.threads == 0 || gain < GAIN_MIN || worth <= highest)
			continue;
		highest = worth;
		choice = gap.threads;
	}
	return choice;
}
