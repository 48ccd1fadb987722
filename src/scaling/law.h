/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the closed-form laws (USL, Amdahl, PMNF) share. A law describes the time of one unit of
 * work at n threads; a throughput is its inverse. Fits are relative: they minimise the sum of
 * (predicted / measured - 1)^2 of the time.
 */
#ifndef SCALING_LAW_H
#define SCALING_LAW_H

#include "scaling/forecast.h"

enum { LAW_PARAMS_MAX = 6 };

struct law {
	unsigned param_count; /* fitted coefficients */
	unsigned points_min;
	double prior_rate; /* of its interval */
	/* Times at ascending n; must be positive up to `target`. 0, -EDOM, -ENOMEM. */
	int (*fit)(const double *n, const double *time, size_t count, uint32_t target,
		double params[LAW_PARAMS_MAX]);
	double (*time)(const double params[LAW_PARAMS_MAX], double n);
};

/*
 * Fits the law to all points and fills values and intervals; the coefficients go to params. The
 * held-out errors of the interval come from fits without the last one, two, ... counts.
 * 0, -EDOM (no fit), -ENOMEM.
 */
int law_predict(const struct law *law, const struct curve *curve, struct forecast *ret,
	double params[LAW_PARAMS_MAX], struct err *err);

/* The time of one unit of work: the value, or its inverse for a throughput. */
double curve_time(const struct curve *curve, size_t i);

#endif
