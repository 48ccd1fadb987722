/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public forecast: checks what strangers pass, and hands over to the scaling room. */
#include <corecast/corecast.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "scaling/forecast.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

CLEANUP_DEFINE(corecast_prediction, corecast_prediction_free)

const char *corecast_version(void)
{
	return CORECAST_VERSION;
}

void corecast_prediction_free(struct corecast_prediction *prediction)
{
	if (!prediction)
		return;
	for (size_t i = 0; i < prediction->note_count; i++)
		free(prediction->notes[i]);
	free(prediction->notes);
	free(prediction->points);
	free(prediction);
}

static int check(const struct corecast_measurement *measurements, size_t count,
	const struct corecast_forecast_opts *opts, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct corecast_measurement *m = &measurements[i];
		if (m->threads == 0 || m->threads > RUNS_THREADS_MAX)
			return err_set(err, -EINVAL,
				"measurement %zu: %u threads; counts go from 1 to %d", i,
				m->threads, RUNS_THREADS_MAX);
		if (!(m->value >= RUNS_VALUE_LEAST && m->value <= RUNS_VALUE_MOST))
			return err_set(err, -EINVAL,
				"measurement %zu: a value of %g; values go from %g to %g", i,
				m->value, RUNS_VALUE_LEAST, RUNS_VALUE_MOST);
	}
	for (size_t k = 0; k < opts->stall_count; k++) {
		if (!opts->stalls[k].name || !opts->stalls[k].values)
			return err_set(err, -EINVAL, "stall category %zu is empty", k);
		for (size_t i = 0; i < count; i++)
			if (!(opts->stalls[k].values[i] >= 0) || isinf(opts->stalls[k].values[i]))
				return err_set(err, -EINVAL,
					"stall category '%s', measurement %zu: a value of %g",
					opts->stalls[k].name, i, opts->stalls[k].values[i]);
	}
	return 0;
}

static int make_runs(const struct corecast_measurement *measurements, size_t count,
	enum metric metric, const struct corecast_forecast_opts *opts, struct runs **ret)
{
	AUTO_FREE const char **names = calloc(opts->stall_count + 1, sizeof *names);
	AUTO_FREE double *stalls = calloc(opts->stall_count + 1, sizeof *stalls);
	if (!names || !stalls)
		return -ENOMEM;
	for (size_t k = 0; k < opts->stall_count; k++)
		names[k] = opts->stalls[k].name;
	AUTO(runs) struct runs *runs = runs_new(metric, names, opts->stall_count);
	if (!runs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < opts->stall_count; k++)
			stalls[k] = opts->stalls[k].values[i];
		struct runs_row row = { .threads = measurements[i].threads,
			.value = measurements[i].value,
			.rss_bytes = NAN,
			.stalls = stalls };
		int code = runs_append(runs, &row);
		if (code < 0)
			return code;
	}
	*ret = TAKE(runs);
	return 0;
}

/* Moves what a caller may see; the notes change hands. */
static int publish(struct forecast *f, struct corecast_prediction **ret)
{
	AUTO(corecast_prediction) struct corecast_prediction *p = calloc(1, sizeof *p);
	if (!p)
		return -ENOMEM;
	p->points = calloc(f->point_count, sizeof *p->points);
	if (!p->points)
		return -ENOMEM;
	for (size_t i = 0; i < f->point_count; i++)
		p->points[i] = (struct corecast_point){ f->points[i].threads, f->points[i].value,
			f->points[i].low, f->points[i].high };
	p->method = f->method;
	p->point_count = f->point_count;
	p->best_threads = f->best_threads;
	p->stops_scaling_at = f->stops_scaling_at;
	p->note_count = f->note_count;
	p->notes = TAKE(f->notes);
	f->note_count = 0;
	*ret = TAKE(p);
	return 0;
}

static int forecast(const struct corecast_measurement *measurements, size_t count,
	enum metric metric, unsigned target, const struct corecast_forecast_opts *opts,
	struct corecast_prediction **ret, struct err *err)
{
	const struct forecast_method *method = NULL;
	if (opts->method && !(method = forecast_method_by_name(opts->method)))
		return err_set(err, -EINVAL, "there is no method '%s'", opts->method);
	int code = check(measurements, count, opts, err);
	if (code < 0)
		return code;
	AUTO(runs) struct runs *runs = NULL;
	AUTO(curve) struct curve *curve = NULL;
	AUTO(forecast) struct forecast *f = NULL;
	code = make_runs(measurements, count, metric, opts, &runs);
	if (code < 0)
		return err_set(err, code, "out of memory");
	code = curve_from_runs(runs, &curve, err);
	if (code < 0)
		return code;
	struct forecast_opts internal = { .target = target,
		.dataset_ratio = opts->dataset_ratio,
		.frequency_ratio = opts->frequency_ratio };
	code = forecast_run(curve, method, &internal, &f, err);
	if (code < 0)
		return code;
	code = publish(f, ret);
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

int corecast_forecast(const struct corecast_measurement *measurements, size_t count,
	enum corecast_metric metric, unsigned target, const struct corecast_forecast_opts *opts,
	struct corecast_prediction **ret, struct corecast_error *error)
{
	static_assert(sizeof(struct corecast_error) == sizeof(struct err), "same texts");
	static const struct corecast_forecast_opts defaults = { 0 };
	struct err err;
	int code;
	if (!ret || (!measurements && count > 0) || count == 0)
		code = err_set(
			&err, -EINVAL, "there are no measurements, or no place for a result");
	else if (metric != CORECAST_TIME && metric != CORECAST_THROUGHPUT)
		code = err_set(&err, -EINVAL, "the metric is neither time nor throughput");
	else
		code = forecast(measurements, count,
			metric == CORECAST_TIME ? METRIC_TIME : METRIC_THROUGHPUT, target,
			opts ? opts : &defaults, ret, &err);
	if (code < 0 && error)
		memcpy(error->text, err.text, sizeof error->text);
	return code;
}
