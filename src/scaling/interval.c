/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/interval.h"

#include <math.h>

/* Two-sided 90% of a normal distribution. */
static const double Z90 = 1.645;

/* Held-out residuals that the prior rate counts as. */
static const double PRIOR_WEIGHT = 4;

/* A program's time is not repeatable to better than this. */
static const double NOISE_MIN = 0.01;

/* A factor of e^5 = 148 either way says "unknown" and is still a finite number. */
static const double LOG_WIDTH_MAX = 5;

void interval_add_fitted(struct interval *interval, double log_ratio)
{
	if (!isfinite(log_ratio))
		return;
	interval->noise_square += log_ratio * log_ratio;
	interval->noise_count += 1;
}

void interval_add_held_out(struct interval *interval, double distance, double log_ratio)
{
	if (!isfinite(log_ratio) || !(distance > 0))
		return;
	interval->held_square += log_ratio * log_ratio;
	interval->held_distance += distance * distance;
	interval->held_count += 1;
}

/* Relative variance of one measurement: that of the fit, or of repeats where that is larger. */
static double noise_variance(
	const struct interval *interval, unsigned param_count, const struct curve *curve)
{
	double freedom = fmax(interval->noise_count - param_count, 1);
	double variance = fmax(interval->noise_square / freedom, NOISE_MIN * NOISE_MIN);
	double repeats = 0, repeated = 0;
	for (size_t i = 0; i < curve->point_count; i++) {
		const struct curve_point *p = &curve->points[i];
		if (!isfinite(p->spread))
			continue;
		repeats += p->spread * p->spread * p->repeats;
		repeated += 1;
	}
	return repeated > 0 ? fmax(variance, repeats / repeated) : variance;
}

/* Variance per squared distance, beyond what noise explains. */
static double drift_variance(const struct interval *interval, double noise)
{
	double prior = interval->prior_rate * interval->prior_rate;
	if (!(interval->held_distance > 0))
		return prior;
	double beyond = fmax(interval->held_square - interval->held_count * noise, 0);
	double shown = beyond / interval->held_distance;
	return (PRIOR_WEIGHT * prior + interval->held_count * shown) /
	       (PRIOR_WEIGHT + interval->held_count);
}

void interval_fill(const struct interval *interval, unsigned param_count, const struct curve *curve,
	struct forecast *ret)
{
	double noise = noise_variance(interval, param_count, curve);
	double drift = drift_variance(interval, noise);
	double first = curve->points[0].threads;
	double last = curve->points[curve->point_count - 1].threads;
	for (size_t i = 0; i < ret->point_count; i++) {
		struct forecast_point *p = &ret->points[i];
		double distance = fmax(log(p->threads / last), log(first / p->threads));
		double d = fmax(distance, 0);
		double width = fmin(Z90 * sqrt(noise + drift * d * d), LOG_WIDTH_MAX);
		p->low = p->value * exp(-width);
		p->high = p->value * exp(width);
	}
}
