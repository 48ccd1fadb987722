/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/realism.h"

#include <math.h>

static double to_the_eighth(double x)
{
	double square = x * x, fourth = square * square;
	return fourth * fourth;
}

bool realism_is_abrupt(enum metric metric, uint32_t n, double value, double next)
{
	double growth = (n + 1.) / n;
	double gain = metric == METRIC_TIME ? value / next : next / value;
	return !(gain <= 1.5 * growth && gain >= to_the_eighth(1 / growth));
}

enum realism realism_of(const struct fit *fit, enum metric metric, uint32_t from, uint32_t to)
{
	double previous = 0;
	for (uint32_t n = from; n <= to; n++) {
		double value = fit_value(fit, n);
		if (!(fit_divisor(fit, n) > 0) || !isfinite(value))
			return REALISM_POLE;
		if (!(value > 0))
			return REALISM_NEGATIVE;
		if (n > from && realism_is_abrupt(metric, n - 1, previous, value))
			return REALISM_ABRUPT;
		previous = value;
	}
	return REALISM_OK;
}
