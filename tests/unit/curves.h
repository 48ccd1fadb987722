/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Curves for tests, made by hand: counts and a function of them. Included after cmocka_all.h. */
#ifndef TESTS_CURVES_H
#define TESTS_CURVES_H

#include "scaling/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS_MAX = 64, CURVE_STALLS_MAX = 4 };

struct test_curve {
	struct curve curve;
	struct curve_point points[CURVE_POINTS_MAX];
	double stalls[CURVE_POINTS_MAX][CURVE_STALLS_MAX];
	char *names[CURVE_STALLS_MAX];
};

/* The values are left 0 for the caller to fill. */
static inline void curve_at(
	struct test_curve *c, enum metric metric, const uint32_t *counts, size_t count)
{
	memset(c, 0, sizeof *c);
	for (size_t i = 0; i < count; i++)
		c->points[i] = (struct curve_point){ .threads = counts[i],
			.repeats = 1,
			.spread = NAN,
			.rss_bytes = NAN,
			.stalls = c->stalls[i] };
	c->curve = (struct curve){
		.metric = metric, .points = c->points, .point_count = count, .stall_names = c->names
	};
}

/* At 1, 2, ... count. */
static inline void curve_dense(struct test_curve *c, enum metric metric, uint32_t count)
{
	uint32_t counts[CURVE_POINTS_MAX];
	for (uint32_t i = 0; i < count; i++)
		counts[i] = i + 1;
	curve_at(c, metric, counts, count);
}

/* Runs a method by name and wants an answer; the caller frees it. */
static inline struct forecast *forecast_of(
	const struct test_curve *c, const char *method, uint32_t target)
{
	struct forecast *f = NULL;
	struct err err = { "" };
	const struct forecast_opts opts = { .target = target };
	int code = forecast_run(&c->curve, forecast_method_by_name(method), &opts, &f, &err);
	if (code < 0)
		fail_msg("%s refused: %s", method, err.text);
	return f;
}

static inline double value_at(const struct forecast *f, uint32_t threads)
{
	return f->points[threads - 1].value;
}

static inline void assert_near(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%.12g is not within %g of %.12g", got, relative, want);
}

/* What every forecast must be, whatever the curve. */
static inline void assert_sane(const struct forecast *f)
{
	for (size_t i = 0; i < f->point_count; i++) {
		const struct forecast_point *p = &f->points[i];
		if (!isfinite(p->value) || !(p->value > 0) || !(p->low > 0) || !isfinite(p->high) ||
			!(p->low <= p->value) || !(p->value <= p->high))
			fail_msg("%s at %u threads: %g [%g, %g]", f->method, p->threads, p->value,
				p->low, p->high);
	}
}

#endif
