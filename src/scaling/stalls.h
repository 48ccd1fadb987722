/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stall categories at counts that were not measured, each on its own, as ESTIMA extrapolates them
 * (its section 3.1 B): which of them will dominate is said with every method's forecast.
 */
#ifndef SCALING_STALLS_H
#define SCALING_STALLS_H

#include "scaling/forecast.h"

/*
 * Extrapolates one category, measured at ascending n (not negative), to ret[0 .. target) for 1 ..
 * target threads. 0, -EDOM without a realistic function, -ENOMEM.
 */
int stalls_extrapolate(
	const double *n, const double *stalls, size_t count, uint32_t target, double *ret);

/* Adds every category of the curve; a note for each that stalls_extrapolate() refused. 0 or -ENOMEM. */
int stalls_add_all(const struct curve *curve, struct forecast *forecast);

#endif
