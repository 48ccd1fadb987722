/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A figure as the mean of independent replications with fixed seeds. The closed form must lie within 4
 * standard errors of it, which a right engine misses once in 5,000 figures (Student, 19 degrees of
 * freedom: 0.08%; and, the seeds being fixed, never again once it passed), and the standard error must
 * be small enough for that to mean something.
 */
#ifndef TESTS_SIM_REPLICATIONS_H
#define TESTS_SIM_REPLICATIONS_H

#include <math.h>

enum { REPLICATIONS = 20 };

struct replications {
	double sum, sum2;
	int count;
};

static inline void replications_add(struct replications *r, double value)
{
	r->sum += value;
	r->sum2 += value * value;
	r->count++;
}

/* All absolute: the greatest standard error, and how far off the figure may be for known reasons. */
static inline void assert_near(
	const struct replications *r, double expected, double resolution, double bias)
{
	double mean = r->sum / r->count;
	double error = sqrt(fmax(0, r->sum2 / r->count - mean * mean) / (r->count - 1));
	if (!(error <= resolution))
		fail_msg("standard error %g of %g: too coarse a test", error, expected);
	if (!(fabs(mean - expected) <= 4 * error + bias))
		fail_msg("mean %g, standard error %g, expected %g", mean, error, expected);
}

/* resolution: a share of what is expected. */
static inline void assert_mean(const struct replications *r, double expected, double resolution)
{
	assert_near(r, expected, resolution * expected, 0);
}

#endif
