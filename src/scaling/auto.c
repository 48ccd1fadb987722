/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The default method: the local scaling exponent as a random process (exponent.h), joined by the
 * universal scalability law where the law meets the measurements almost exactly. Which of the two
 * is believed follows from the law's residual: measured curves bend in ways no law knows, and there
 * the process is far better; curves without noise follow the law, and there the law is.
 *
 * The interval: the process's own variance, and a part that grows with the distance past the data
 * and that no measurement shows, for sockets, SMT siblings and memory channels that start to
 * matter. Its two factors are calibrated on measured curves (docs/models/auto.md).
 */
#include "scaling/auto.h"

#include "base/cleanup.h"
#include "scaling/law.h"
#include "scaling/methods.h"
#include "scaling/usl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { AUTO_POINTS_MIN = 3, LAW_POINTS_MIN = 5, LAW_PARAMS = 3 };

/*
 * Chosen on measured curves and checked with whole sources left out (docs/models/auto.md): a
 * plateau, on which each may move by a third with little change of the score.
 */
const struct auto_model auto_model_default = {
	.exponent = {
		.drift = { 0.2, 0.24, -0.2 },
		.start_slope = 0.9,
		.start_slope_sd = 0.4,
		.tail_degrees = 4,
		.sigma_centre = 0.3,
		.noise_centre = 0.012,
		.prior_width = 1.5,
		.serial_prior = 0.1,
	},
	.law_residual = 0.002,
	.between = 1.5,
	.seen = 0.7,
	.unseen = 0.2,
};

/* 90% of a normal lies within this many standard deviations. */
static const double NORMAL_90 = 1.6448536269514722;

/* Beyond these the answer is still given, with a warning. */
static const double FAR_RATIO = 4, NOISY = 0.05, WIDE = 3;

struct blend {
	struct usl law;
	double weight; /* of the law, 0..1 */
};

static int fit_law(const struct auto_model *model, const struct curve *curve, const double *n,
	const double *time, struct blend *ret)
{
	size_t count = curve->point_count;
	*ret = (struct blend){ 0 };
	if (count < LAW_POINTS_MIN)
		return 0;
	int code = usl_fit(n, time, count, &ret->law);
	if (code == -EDOM)
		return 0;
	if (code < 0)
		return code;
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		double residual = usl_time(&ret->law, n[i]) / time[i] - 1;
		sum += residual * residual;
	}
	double ratio = sqrt(sum / (double)(count - LAW_PARAMS)) / model->law_residual;
	ret->weight = 1 / (1 + ratio * ratio);
	return 0;
}

/* Value and interval of one point from ln throughput and its half width. */
static void set_point(struct forecast_point *p, enum metric metric, double log_x, double half)
{
	double sign = metric == METRIC_TIME ? -1 : 1;
	p->value = exp(sign * log_x);
	p->low = exp(sign * log_x - half);
	p->high = exp(sign * log_x + half);
}

static int add_notes(
	const struct curve *curve, const struct exponent_summary *summary, struct forecast *ret)
{
	const struct forecast_point *end = &ret->points[ret->point_count - 1];
	double ratio = (double)ret->point_count / ret->measured_max;
	int code = 0;
	if (curve->point_count < 4)
		code = forecast_add_note(ret,
			"only %zu thread counts are measured: "
			"the forecast is little more than a continued line; measure a fourth",
			curve->point_count);
	if (code == 0 && ratio > FAR_RATIO)
		code = forecast_add_note(ret,
			"%zu threads is %.1f times the largest measured count, "
			"%u: what happens in between is not in the data; measure at %u or more",
			ret->point_count, ratio, ret->measured_max,
			(unsigned)ceil((double)ret->point_count / FAR_RATIO));
	if (code == 0 && summary->noise > NOISY)
		code = forecast_add_note(ret,
			"the measurements scatter by %.0f%% or more around any "
			"smooth curve: more repeats (-r) would narrow the forecast",
			100 * summary->noise);
	if (code == 0 && end->high > WIDE * end->low)
		code = forecast_add_note(ret,
			"the data do not carry the question: the interval at "
			"%zu threads spans a factor of %.1f",
			ret->point_count, end->high / end->low);
	return code;
}

/* The curve as columns: its points, and what the process takes. One allocation, at n. */
struct columns {
	uint32_t *threads;
	double *n, *time, *log_x, *spread;
};

static int columns_of(const struct curve *curve, struct columns *ret)
{
	size_t count = curve->point_count;
	AUTO_FREE uint32_t *threads = calloc(count, sizeof *threads);
	AUTO_FREE double *values = calloc(4 * count, sizeof *values);
	if (!threads || !values)
		return -ENOMEM;
	struct columns c = { threads, values, values + count, values + 2 * count,
		values + 3 * count };
	for (size_t i = 0; i < count; i++) {
		const struct curve_point *p = &curve->points[i];
		c.threads[i] = p->threads;
		c.n[i] = p->threads;
		c.time[i] = curve_time(curve, i);
		c.log_x[i] = -log(c.time[i]);
		c.spread[i] = isnan(p->spread) ? 0 : p->spread;
	}
	threads = NULL;
	values = NULL;
	*ret = c;
	return 0;
}

static void columns_release(struct columns *columns)
{
	free(columns->threads);
	free(columns->n);
}

static double square(double x)
{
	return x * x;
}

/*
 * Half the interval of ln X, without what no measurement shows. The variance up to the last
 * measurement (`last`) keeps its weight past it, so that the interval never shrinks there.
 */
static double half_width(
	const struct auto_model *model, double variance, double last, double past, double law)
{
	double added = past > 0 ? fmax(variance - last, 0) : 0;
	double known = past > 0 ? fmin(variance, last) : variance;
	return NORMAL_90 *
	       sqrt(square(model->between) * known + square(model->seen * (1 - law)) * added +
		       square(model->unseen * past));
}

static void fill(const struct auto_model *model, const struct blend *blend,
	const struct exponent_node *nodes, struct forecast *ret)
{
	double last = nodes[ret->measured_max - 1].variance;
	for (size_t i = 0; i < ret->point_count; i++) {
		double n = (double)(i + 1);
		double log_x = (1 - blend->weight) * nodes[i].mean;
		if (blend->weight > 0)
			log_x -= blend->weight * log(usl_time(&blend->law, n));
		double past = fmax(log(n / ret->measured_max), 0);
		set_point(&ret->points[i], ret->metric, log_x,
			half_width(model, nodes[i].variance, last, past, blend->weight));
	}
}

int auto_predict(const struct auto_model *model, const struct curve *curve, struct forecast *ret,
	struct err *err)
{
	size_t count = ret->point_count;
	if (count < ret->measured_max)
		count = ret->measured_max;
	AUTO_RELEASE(columns) struct columns columns = { 0 };
	AUTO_FREE struct exponent_node *nodes = calloc(count, sizeof *nodes);
	if (!nodes || columns_of(curve, &columns) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct exponent_data data = { columns.threads, columns.log_x, columns.spread,
		curve->point_count, .keeps_shares = true };
	struct exponent_summary summary;
	struct blend blend;
	int code = exponent_predict(&model->exponent, &data, count, nodes, &summary);
	if (code == 0)
		code = fit_law(model, curve, columns.n, columns.time, &blend);
	if (code == 0) {
		fill(model, &blend, nodes, ret);
		code = add_notes(curve, &summary, ret);
	}
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	(void)opts;
	return auto_predict(&auto_model_default, curve, ret, err);
}

const struct forecast_method forecast_auto = {
	.name = "auto",
	.summary = "the scaling exponent as a random process, joined by the USL where it fits",
	.min_points = AUTO_POINTS_MIN,
	.predict = predict,
};
