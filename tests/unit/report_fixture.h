/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forecasts made by hand, for the tests of the reports. */
#ifndef TESTS_REPORT_FIXTURE_H
#define TESTS_REPORT_FIXTURE_H

#include "cmocka_all.h"

#include "base/strbuf.h"
#include "scaling/forecast.h"

#include <math.h>
#include <stdlib.h>

/* Everything that must be escaped somewhere: markup, quotes, controls, bytes that are not UTF-8. */
#define HOSTILE "</script><b a='\"&\x1b[31m\xff\xfe\n]]>-->"

/*
 * value = scale * (0.05 + 0.95 / n + 0.002 (n - 1)), or its inverse; 10% to each side; the counts up
 * to measured_max that are powers of two were measured, exactly.
 */
static inline struct forecast *fixture_forecast(
	enum metric metric, uint32_t target, uint32_t measured_max, double scale)
{
	struct forecast *f = calloc(1, sizeof *f);
	assert_non_null(f);
	*f = (struct forecast){ .method = "auto",
		.metric = metric,
		.point_count = target,
		.measured_max = measured_max,
		.best_threads = target < 22 ? target : 22,
		.stops_scaling_at = target <= 22 ? 0 : 22 };
	f->points = calloc(target, sizeof *f->points);
	assert_non_null(f->points);
	for (uint32_t n = 1; n <= target; n++) {
		double time = 0.05 + 0.95 / n + 0.002 * (n - 1);
		double value = scale * (metric == METRIC_TIME ? time : 1 / time);
		bool is_measured = n <= measured_max && (n & (n - 1)) == 0;
		f->points[n - 1] = (struct forecast_point){ .threads = n,
			.value = value,
			.low = 0.9 * value,
			.high = 1.1 * value,
			.measured = is_measured ? value : (double)NAN };
	}
	return f;
}

/* Two categories: `first` grows with the count, `second` with its square and leads at the end. */
static inline void fixture_add_stalls(struct forecast *f, const char *first, const char *second)
{
	double *values = calloc(2 * f->point_count, sizeof *values);
	assert_non_null(values);
	for (size_t i = 0; i < f->point_count; i++) {
		double n = (double)(i + 1);
		values[i] = 10 * n;
		values[f->point_count + i] = n * n;
	}
	assert_int_equal(forecast_add_stall(f, first, values), 0);
	assert_int_equal(forecast_add_stall(f, second, values + f->point_count), 0);
	double last = values[f->point_count - 1], last2 = values[2 * f->point_count - 1];
	f->stalls[0].share_at_target = last / (last + last2);
	f->stalls[1].share_at_target = last2 / (last + last2);
	free(values);
}

#endif
