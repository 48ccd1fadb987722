/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Straight and damped lines in log-log. */
#include "baselines.h"

#include "base/cleanup.h"
#include "base/order.h"
#include "scaling/law.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static double log_x(const struct curve *curve, size_t i)
{
	return -log(curve_time(curve, i));
}

static double log_n(const struct curve *curve, size_t i)
{
	return log(curve->points[i].threads);
}

/* A line from (log n of the last point, level) with a slope and a damping rate (0: none). */
static void fill(
	const struct curve *curve, double level, double slope, double damping, struct forecast *ret)
{
	for (size_t i = 0; i < ret->point_count; i++) {
		struct forecast_point *p = &ret->points[i];
		double d = log(p->threads) - log_n(curve, curve->point_count - 1);
		double x = level + slope * (damping > 0 ? (1 - exp(-damping * d)) / damping : d);
		p->value = exp(ret->metric == METRIC_TIME ? -x : x);
		p->low = p->high = p->value;
	}
}

static int predict_line(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	(void)opts;
	(void)err;
	size_t b = curve->point_count - 1, a = b - 1;
	double slope = (log_x(curve, b) - log_x(curve, a)) / (log_n(curve, b) - log_n(curve, a));
	fill(curve, log_x(curve, b), slope, 0, ret);
	return 0;
}

static int predict_damped(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	(void)opts;
	size_t last = curve->point_count - 1, first = last - 1;
	while (first > 0 && log_n(curve, last) - log_n(curve, first - 1) <= log(1.5) + 1e-9)
		first--;
	size_t count = last - first + 1;
	AUTO_FREE double *values = calloc(count * count, sizeof *values);
	if (!values)
		return err_set(err, -ENOMEM, "out of memory");
	size_t pairs = 0;
	for (size_t i = first; i <= last; i++)
		for (size_t j = i + 1; j <= last; j++)
			values[pairs++] = (log_x(curve, j) - log_x(curve, i)) /
					  (log_n(curve, j) - log_n(curve, i));
	double slope = fmin(order_median(values, pairs), 1);
	for (size_t i = first; i <= last; i++)
		values[i - first] =
			log_x(curve, i) + slope * (log_n(curve, last) - log_n(curve, i));
	fill(curve, order_median(values, count), slope, 0.6, ret);
	return 0;
}

const struct forecast_method baseline_line = {
	.name = "line",
	.summary = "straight line in log-log through the last two points",
	.min_points = 2,
	.predict = predict_line,
};

const struct forecast_method baseline_damped = {
	.name = "damped",
	.summary = "damped median slope",
	.min_points = 2,
	.predict = predict_damped,
};
