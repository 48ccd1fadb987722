/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What to measure next: every candidate is added to the curve at its forecast value and the
 * forecast made again, so any method can be asked. What is expected is no news about the value,
 * only about how sure one can be.
 */
#include "scaling/advice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More than this many candidates are thinned: neighbours tell nearly the same. */
enum { CANDIDATES_MAX = 64 };

static double factor_at_target(const struct forecast *f)
{
	const struct forecast_point *p = &f->points[f->point_count - 1];
	return p->high / p->low;
}

/* The curve with one more point; points are borrowed except for the array. */
static void insert(
	const struct curve *curve, const struct forecast_point *added, struct curve_point *points)
{
	size_t at = 0;
	while (at < curve->point_count && curve->points[at].threads < added->threads)
		at++;
	memcpy(points, curve->points, at * sizeof *points);
	memcpy(points + at + 1, curve->points + at, (curve->point_count - at) * sizeof *points);
	points[at] = (struct curve_point){
		.threads = added->threads,
		.repeats = 1,
		.value = added->value,
		.spread = NAN,
		.rss_bytes = NAN,
	};
}

static int factor_with(const struct curve *curve, const struct forecast_point *added,
	const struct forecast_method *method, const struct forecast_opts *opts,
	struct curve_point *points, double *ret, struct err *err)
{
	insert(curve, added, points);
	struct curve more = *curve;
	more.points = points;
	more.point_count++;
	more.stall_count = 0; /* what the stalls would be is not known */
	AUTO(forecast) struct forecast *f = NULL;
	int code = forecast_run(&more, method, opts, &f, err);
	if (code == 0)
		*ret = factor_at_target(f);
	return code;
}

int advice_what_next(const struct curve *curve, const struct forecast *forecast,
	const struct forecast_method *method, const struct forecast_opts *opts,
	uint32_t candidate_max, struct advice *ret, struct err *err)
{
	if (method && method->needs_stalls)
		return err_set(err, -EINVAL,
			"%s cannot say what to measure next: use --method auto", method->name);
	AUTO_FREE struct curve_point *points = calloc(curve->point_count + 1, sizeof *points);
	if (!points)
		return err_set(err, -ENOMEM, "out of memory");
	struct advice best = { .factor_now = factor_at_target(forecast) };
	best.factor_then = best.factor_now;
	if (candidate_max > forecast->point_count)
		candidate_max = (uint32_t)forecast->point_count;
	uint32_t step = 1 + candidate_max / CANDIDATES_MAX;
	for (uint32_t n = candidate_max; n >= 1; n = n > step ? n - step : 0) {
		const struct forecast_point *p = &forecast->points[n - 1];
		if (!isnan(p->measured))
			continue;
		double factor = 0;
		int code = factor_with(curve, p, method, opts, points, &factor, err);
		if (code < 0)
			return code;
		if (factor < best.factor_then) {
			best.threads = n;
			best.factor_then = factor;
		}
	}
	*ret = best;
	return 0;
}

int forecast_crossing(
	const struct forecast *a, const struct forecast *b, uint32_t *ret, struct err *err)
{
	if (a->metric != b->metric)
		return err_set(err, -EINVAL,
			"one file has times and the other throughputs: they cannot be compared");
	size_t count = a->point_count < b->point_count ? a->point_count : b->point_count;
	bool first = a->points[0].value < b->points[0].value;
	*ret = 0;
	for (size_t i = 1; i < count && *ret == 0; i++)
		if ((a->points[i].value < b->points[i].value) != first)
			*ret = (uint32_t)(i + 1);
	return 0;
}
