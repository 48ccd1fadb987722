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

/* Threads that all wait for one another for all of a time that grows as their number: none of their waiting grows faster. */
static const double SLOPE_MAX = 2;

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

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median slope in log-log from counts of the last factor of two to the last; 1 (each thread has its part) without any. */
static double last_slope(const double *n, const double *stalls, size_t count, double *scratch)
{
	size_t last = count - 1, slopes = 0;
	for (size_t i = last; i-- > 0 && (2 * n[i] >= n[last] || slopes == 0);)
		if (stalls[i] > 0)
			scratch[slopes++] = log(stalls[last] / stalls[i]) / log(n[last] / n[i]);
	if (slopes == 0)
		return 1;
	qsort(scratch, slopes, sizeof *scratch, ascending);
	double median = (scratch[(slopes - 1) / 2] + scratch[slopes / 2]) / 2;
	return fmin(fmax(median, 0), SLOPE_MAX);
}

/*
 * Where no function is realistic, or there are too few counts: as measured, straight lines between, and past the last count on in
 * log-log by the slope there.
 */
static void continue_straight(
	const double *n, const double *stalls, size_t count, uint32_t target, double *ret)
{
	AUTO_FREE double *scratch = calloc(count, sizeof *scratch);
	size_t last = count - 1;
	double slope = stalls[last] > 0 && scratch ? last_slope(n, stalls, count, scratch) : 1;
	size_t next = 0; /* the first measured count from k on */
	for (uint32_t k = 1; k <= target; k++) {
		while (next < count && n[next] < k)
			next++;
		if (next == count)
			ret[k - 1] = stalls[last] * pow(k / n[last], slope);
		else if (next == 0)
			ret[k - 1] = stalls[0] * k / n[0];
		else
			ret[k - 1] = stalls[next - 1] + (stalls[next] - stalls[next - 1]) *
								(k - n[next - 1]) /
								(n[next] - n[next - 1]);
	}
}

/*
 * At the measured counts what was measured, and past the last as much more or less than the function has as there: the
 * function is chosen for where it goes, and has not seen the last counts. Time and threads bound how fast it grows.
 */
static void anchor(
	const double *n, const double *stalls, size_t count, double *values, size_t value_count)
{
	size_t last = (size_t)n[count - 1];
	double beyond = last <= value_count ? stalls[count - 1] - values[last - 1] : 0;
	for (size_t i = last; i < value_count; i++)
		values[i] = fmin(fmax(values[i] + beyond, 0),
			stalls[count - 1] * pow((double)(i + 1) / n[count - 1], SLOPE_MAX));
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
		} else if (code == -EDOM) {
			continue_straight(
				n, stalls, count, (uint32_t)forecast->point_count, values);
			code = forecast_add_note(forecast,
				"the stalls '%s' follow no function that is known of stalls: "
				"beyond the "
				"measured counts they go on as from the last ones",
				name);
		}
		if (code == 0)
			code = forecast_add_stall(forecast, name, values);
		if (code < 0)
			return code;
	}
	return 0;
}
