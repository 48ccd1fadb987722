/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spread of repeats from the median absolute deviation, steadied across thread counts. */
#include "collect/noise.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weight of what other counts show, in runs: as much as the fewest runs that show a spread. */
static const double PRIOR_RUNS = 2;
/* Standard error of a median over that of a mean, for normal noise: sqrt(pi / 2). */
static const double MEDIAN_COST = 1.2533141373155003;
/* Standard deviation over median absolute deviation, for normal noise. */
static const double MAD_TO_SIGMA = 1.4826;

static int by_threads_and_value(const void *a, const void *b)
{
	const struct noise_sample *x = a, *y = b;
	if (x->threads != y->threads)
		return x->threads < y->threads ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* Croux and Rousseeuw's factor for the deviation of `runs` values, from 2. */
static double small_sample_factor(size_t runs)
{
	static const double factors[] = { 0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129,
		1.107 };
	return runs < ARRAY_SIZE(factors) ? factors[runs] : (double)runs / ((double)runs - 0.8);
}

/* The samples of one count, sorted by value; `scratch` holds as many. */
static struct noise_point point_of(const struct noise_sample *samples, size_t runs, double *scratch)
{
	struct noise_point point = { .threads = samples->threads,
		.runs = (uint32_t)runs,
		.median = (samples[(runs - 1) / 2].value + samples[runs / 2].value) / 2,
		.spread = NAN,
		.median_error = NAN };
	if (runs < 2)
		return point;
	for (size_t i = 0; i < runs; i++)
		scratch[i] = fabs(samples[i].value - point.median);
	point.spread = MAD_TO_SIGMA * small_sample_factor(runs) * order_median(scratch, runs) /
		       point.median;
	return point;
}

/* The median variance over the counts that were repeated; NAN if none was. */
static double typical_variance(const struct noise_point *points, size_t count, double *scratch)
{
	size_t repeated = 0;
	for (size_t i = 0; i < count; i++)
		if (!isnan(points[i].spread))
			scratch[repeated++] = points[i].spread * points[i].spread;
	return repeated ? order_median(scratch, repeated) : NAN;
}

static void steady(struct noise_point *point, double typical)
{
	if (isnan(typical)) {
		point->wanted_runs = NOISE_MIN_RUNS;
		return;
	}
	double own_weight = point->runs >= 2 ? point->runs : 0;
	double own = own_weight > 0 ? point->spread * point->spread : 0;
	point->spread = sqrt((own_weight * own + PRIOR_RUNS * typical) / (own_weight + PRIOR_RUNS));
	point->median_error = MEDIAN_COST * point->spread / sqrt(point->runs);
	double wanted = ceil(pow(MEDIAN_COST * point->spread / NOISE_TARGET, 2));
	wanted = fmin(fmax(wanted, 1), NOISE_MAX_RUNS);
	point->wanted_runs = wanted > point->runs ? (uint32_t)wanted : point->runs;
}

int noise_estimate(
	struct noise_sample *samples, size_t count, struct noise_point **ret, size_t *ret_count)
{
	size_t room = count ? count : 1;
	AUTO_FREE struct noise_point *points = calloc(room, sizeof *points);
	AUTO_FREE double *scratch = calloc(room, sizeof *scratch);
	if (!points || !scratch)
		return -ENOMEM;
	qsort(samples, count, sizeof *samples, by_threads_and_value);
	size_t point_count = 0;
	for (size_t i = 0; i < count;) {
		size_t runs = 1;
		while (i + runs < count && samples[i + runs].threads == samples[i].threads)
			runs++;
		points[point_count++] = point_of(samples + i, runs, scratch);
		i += runs;
	}
	double typical = typical_variance(points, point_count, scratch);
	for (size_t i = 0; i < point_count; i++)
		steady(&points[i], typical);
	*ret = TAKE(points);
	*ret_count = point_count;
	return 0;
}
