/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "curve_rates.h"

#include <math.h>

enum { POINTS_MIN = 5, THREADS_MIN = 8 };

static double rate_of(const struct curve *curve, size_t i)
{
	double value = curve->points[i].value;
	return curve->metric == METRIC_TIME ? 1 / value : value;
}

bool curve_rates_make(const struct curve *curve, struct curve_rates *ret)
{
	if (curve->point_count < POINTS_MIN || curve->points[0].threads != 1)
		return false;
	ret->max = curve->points[curve->point_count - 1].threads;
	if (ret->max < THREADS_MIN || ret->max > CURVE_RATES_THREADS_MAX)
		return false;
	ret->best = 0;
	size_t at = 0;
	for (uint32_t n = 1; n <= ret->max; n++) {
		while (curve->points[at + 1].threads < n)
			at++;
		double low = log(curve->points[at].threads),
		       high = log(curve->points[at + 1].threads);
		double share = (log(n) - low) / (high - low);
		ret->rate[n] = exp(log(rate_of(curve, at)) * (1 - share) +
				   log(rate_of(curve, at + 1)) * share);
		ret->best = fmax(ret->best, ret->rate[n]);
	}
	return true;
}
