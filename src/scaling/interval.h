/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The 90% prediction interval of the published methods, which give none of their own.
 *
 * A method shows how wrong it was: residuals where it was fitted, and residuals at measured counts
 * that were held out, each with its distance d = ln(n / last fitted count). The spread of
 * ln(measured / predicted) is taken to be sqrt(noise^2 + (rate * d)^2), so the interval is a factor
 * around the prediction and never reaches zero.
 */
#ifndef SCALING_INTERVAL_H
#define SCALING_INTERVAL_H

#include "scaling/forecast.h"

struct interval {
	/*
	 * The rate to assume before the held-out points show one: how far the method drifts on
	 * programs that were measured (docs/models).
	 */
	double prior_rate;
	double noise_square, noise_count; /* sums over fitted points */
	double held_square, held_distance, held_count; /* sums over held-out points */
};

/* ln(measured / predicted) at a fitted point; anything that is not finite is left out. */
void interval_add_fitted(struct interval *interval, double log_ratio);

/* The same at a held-out point, at distance d = ln(n / last fitted count) > 0. */
void interval_add_held_out(struct interval *interval, double distance, double log_ratio);

/*
 * Sets low and high around the value of every point; `param_count` is the number of fitted
 * coefficients, which the residuals of the fitted points pay for.
 */
void interval_fill(const struct interval *interval, unsigned param_count, const struct curve *curve,
	struct forecast *ret);

#endif
