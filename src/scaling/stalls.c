/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/stalls.h"

#include "base/cleanup.h"
#include "scaling/candidates.h"
#include "scaling/realism.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A category may dip this far below zero, as a share of its largest value; it counts as zero. */
static const double DIP_MAX = 0.01;

/*
 * A category is realistic without poles, without values well below zero, and if past the measured
 * counts its stalls per core change no faster than a time may.
 */
static bool category_is_realistic(
	const struct fit *fit, uint32_t last, uint32_t target, double largest)
{
	double previous = 0;
	for (uint32_t n = 1; n <= target; n++) {
		double value = fit_value(fit, n), per_core = value / n;
		if (!(fit_divisor(fit, n) > 0) || !isfinite(value) || value < -DIP_MAX * largest)
			return false;
		if (n > last && previous > DIP_MAX * largest / n &&
			realism_is_abrupt(METRIC_TIME, n - 1, previous, per_core))
			return false;
		previous = per_core;
	}
	return true;
}

int stalls_extrapolate(
	const double *n, const double *stalls, size_t count, uint32_t target, double *ret)
{
	double largest = 0;
	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, stalls[i]);
	if (largest == 0) {
		memset(ret, 0, target * sizeof *ret);
		return 0;
	}
	AUTO_RELEASE(candidates) struct candidates candidates = { 0 };
	int code = candidates_make(n, stalls, count, &candidates);
	if (code < 0)
		return code;
	for (size_t i = 0; i < candidates.count; i++) {
		const struct fit *fit = &candidates.all[i].fit;
		if (!category_is_realistic(fit, (uint32_t)n[count - 1], target, largest))
			continue;
		for (uint32_t k = 1; k <= target; k++)
			ret[k - 1] = fmax(fit_value(fit, k), 0);
		return 0;
	}
	return -EDOM;
}

/*
 * At the measured counts what was measured, and past the last as much more or less than the function has as there: the
 * function is chosen for where it goes, and has not seen the last counts.
 */
static void anchor(
	const double *n, const double *stalls, size_t count, double *values, size_t value_count)
{
	size_t last = (size_t)n[count - 1];
	double beyond = last <= value_count ? stalls[count - 1] - values[last - 1] : 0;
	for (size_t i = last; i < value_count; i++)
		values[i] = fmax(values[i] + beyond, 0);
	for (size_t i = 0; i < count && n[i] <= (double)value_count; i++)
		values[(size_t)n[i] - 1] = stalls[i];
}

int stalls_add_all(const struct curve *curve, struct forecast *forecast)
{
	size_t count = curve->point_count;
	AUTO_FREE double *block = calloc(2 * count + forecast->point_count, sizeof *block);
	if (!block)
		return -ENOMEM;
	double *n = block, *stalls = n + count, *values = stalls + count;
	for (size_t i = 0; i < count; i++)
		n[i] = curve->points[i].threads;
	for (size_t k = 0; k < curve->stall_count; k++) {
		const char *name = curve->stall_names[k];
		for (size_t i = 0; i < count; i++)
			stalls[i] = curve->points[i].stalls[k];
		int code = stalls_extrapolate(
			n, stalls, count, (uint32_t)forecast->point_count, values);
		if (code == 0) {
			anchor(n, stalls, count, values, forecast->point_count);
			code = forecast_add_stall(forecast, name, values);
		} else if (code == -EDOM) {
			code = forecast_add_note(forecast,
				"the stalls '%s' cannot be continued to %zu threads and are left "
				"out of the shares",
				name, forecast->point_count);
		}
		if (code < 0)
			return code;
	}
	return 0;
}
