/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output analysis of simulations: where warming up ends, and intervals from independent replications.
 * Only + - * / and square roots: the same bytes on every machine.
 */
#ifndef MODEL_STEADY_H
#define MODEL_STEADY_H

#include <stddef.h>

/*
 * MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
 * 69(6), 1997): how many of the first values are warming up. Of means of 5, the truncation that
 * minimises the squared standard error of the rest, at most half. A result of half: it was not over.
 */
size_t steady_warm_up(const double *values, size_t count);

/* Two-sided 95% point of Student's t. df >= 1. */
double steady_t95(size_t df);

/* A mean over replications with its 95% confidence interval; NaN where there is nothing. */
struct estimate {
	double mean, low, high;
};

/* Of the finite values among `count`; one alone has no interval (low and high NaN). */
struct estimate estimate_of(const double *values, size_t count);

#endif
