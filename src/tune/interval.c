/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/interval.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Degrees of freedom: the estimate follows noise that changes; of another workload, it is worth an interval or so. */
static const double DEGREES_MAX = 64, DEGREES_IN_DOUBT = 8;

/* One part may be a stutter. */
enum { PARTS_MIN = 2 };

/* Relative: what scatters less does not scatter less in truth. */
static const double SCATTER_MIN = 1e-3;

/* Parts are as long as clocks make them: this near to a whole interval is whole. */
static const double WHOLE = 0.99;

void interval_add(struct interval *interval, double performance, double share)
{
	if (interval->count < INTERVAL_PARTS_MAX)
		interval->parts[interval->count++] = (struct interval_part){ performance, share };
}

double interval_mean(const struct interval *interval, size_t from, double *ret_share)
{
	double work = 0, share = 0;
	for (size_t i = from; i < interval->count; i++) {
		work += interval->parts[i].performance * interval->parts[i].share;
		share += interval->parts[i].share;
	}
	*ret_share = share;
	return work / share;
}

bool interval_is_whole(const struct interval *interval)
{
	double share;
	(void)interval_mean(interval, 0, &share); /* only its length is asked for */
	return share >= WHOLE || interval->count == INTERVAL_PARTS_MAX;
}

/* Of logarithms, each with the weight of its part. */
static double square_of(const struct interval *interval, size_t from)
{
	double share, mean = log(interval_mean(interval, from, &share)), square = 0;
	for (size_t i = from; i < interval->count; i++) {
		double deviation = log(interval->parts[i].performance) - mean;
		square += interval->parts[i].share * deviation * deviation;
	}
	return square;
}

bool interval_differs(const struct interval *interval, size_t from, double performance,
	double intervals, double false_alarm)
{
	if (interval->count < from + PARTS_MIN || interval->degrees <= 0)
		return false;
	double degrees = interval->degrees + (double)(interval->count - from - 1), share;
	double mean = interval_mean(interval, from, &share);
	double variance = (interval->square + square_of(interval, from)) / degrees;
	variance = fmax(variance, SCATTER_MIN * SCATTER_MIN);
	double t = fabs(log(mean / performance)) / sqrt(variance * (1 / share + 1 / intervals));
	return t > gsl_cdf_tdist_Qinv(false_alarm / 2, degrees);
}

static void keep_degrees(struct interval *interval, double most)
{
	if (interval->degrees <= most)
		return;
	interval->square *= most / interval->degrees;
	interval->degrees = most;
}

void interval_end(struct interval *interval, size_t from)
{
	if (interval->count > from + 1) {
		interval->square += square_of(interval, from);
		interval->degrees += (double)(interval->count - from - 1);
		keep_degrees(interval, DEGREES_MAX);
	}
	interval->count = 0;
}

void interval_doubt(struct interval *interval)
{
	keep_degrees(interval, DEGREES_IN_DOUBT);
}

double interval_noise(const struct interval *interval)
{
	return interval->degrees > 0 ? fmax(sqrt(interval->square / interval->degrees), SCATTER_MIN)
				     : 0;
}
