/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all forecasting methods share: the frame of a result, and what follows from its points. */
#include "scaling/forecast.h"

#include "base/mem.h"
#include "scaling/methods.h"
#include "scaling/stalls.h"

#include <errno.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct forecast_method *const forecast_methods[] = {
	&forecast_auto,
	&forecast_presca,
	&forecast_estima,
	&forecast_usl,
	&forecast_amdahl,
	&forecast_pmnf,
	NULL,
};

const struct forecast_method *forecast_method_by_name(const char *name)
{
	for (const struct forecast_method *const *m = forecast_methods; *m; m++)
		if (strcmp((*m)->name, name) == 0)
			return *m;
	return NULL;
}

void forecast_free(struct forecast *forecast)
{
	if (!forecast)
		return;
	for (size_t i = 0; i < forecast->stall_count; i++) {
		free(forecast->stalls[i].name);
		free(forecast->stalls[i].values);
	}
	for (size_t i = 0; i < forecast->note_count; i++)
		free(forecast->notes[i]);
	free(forecast->stalls);
	free(forecast->notes);
	free(forecast->points);
	free(forecast);
}

int forecast_add_note(struct forecast *forecast, const char *fmt, ...)
{
	char **notes = realloc(forecast->notes, (forecast->note_count + 1) * sizeof *notes);
	if (!notes)
		return -ENOMEM;
	forecast->notes = notes;
	va_list ap;
	va_start(ap, fmt);
	int length = vasprintf(&notes[forecast->note_count], fmt, ap);
	va_end(ap);
	if (length < 0)
		return -ENOMEM;
	forecast->note_count++;
	return 0;
}

int forecast_add_stall(struct forecast *forecast, const char *name, const double *values)
{
	struct forecast_stall *stalls =
		realloc(forecast->stalls, (forecast->stall_count + 1) * sizeof *stalls);
	if (!stalls)
		return -ENOMEM;
	forecast->stalls = stalls;
	size_t bytes = forecast->point_count * sizeof *values;
	AUTO_FREE char *copied_name = strdup(name);
	AUTO_FREE double *copied = malloc(bytes);
	if (!copied_name || !copied)
		return -ENOMEM;
	memcpy(copied, values, bytes);
	stalls[forecast->stall_count++] =
		(struct forecast_stall){ .name = TAKE(copied_name), .values = TAKE(copied) };
	return 0;
}

/* A frame of points 1..target with what was measured filled in. */
static struct forecast *forecast_new(const struct curve *curve, const char *method, uint32_t target)
{
	AUTO(forecast) struct forecast *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->points = calloc(target, sizeof *f->points);
	if (!f->points)
		return NULL;
	f->method = method;
	f->metric = curve->metric;
	f->has_stall_seconds = curve->has_stall_seconds;
	f->point_count = target;
	f->measured_max = curve->points[curve->point_count - 1].threads;
	for (uint32_t i = 0; i < target; i++)
		f->points[i] = (struct forecast_point){ .threads = i + 1, .measured = NAN };
	for (size_t i = 0; i < curve->point_count; i++)
		if (curve->points[i].threads <= target)
			f->points[curve->points[i].threads - 1].measured = curve->points[i].value;
	return TAKE(f);
}

static bool is_better(enum metric metric, double a, double b)
{
	return metric == METRIC_TIME ? a < b : a > b;
}

/* The best count, the first that is worth its cores, and the shares of the stalls. */
static void summarise(struct forecast *f)
{
	size_t best = 0;
	for (size_t i = 1; i < f->point_count; i++)
		if (is_better(f->metric, f->points[i].value, f->points[best].value))
			best = i;
	f->best_threads = f->points[best].threads;
	f->stops_scaling_at = best + 1 < f->point_count ? f->best_threads : 0;

	double total = 0;
	for (size_t i = 0; i < f->stall_count; i++)
		total += f->stalls[i].values[f->point_count - 1];
	for (size_t i = 0; i < f->stall_count; i++)
		f->stalls[i].share_at_target =
			total > 0 ? f->stalls[i].values[f->point_count - 1] / total : 0;
}

/* Threads that wait for a core make a curve bend that would not on more cores, and a curve without any tells nothing of them. */
static int note_oversubscription(const struct curve *curve, struct forecast *f)
{
	if (curve->cores == 0 || f->point_count <= curve->cores)
		return 0;
	if (f->measured_max <= curve->cores)
		return forecast_add_note(f,
			"%u %s could be used: what is said of more threads is for a machine like "
			"it with as many cores",
			curve->cores, curve->cores == 1 ? "core" : "cores");
	size_t above = 0;
	for (size_t i = 0; i < curve->point_count; i++)
		above += curve->points[i].threads > curve->cores;
	return forecast_add_note(f,
		"%zu of %zu measured counts had more threads than the %u %s of their machine: they "
		"show threads waiting for a core, and the forecast goes on from there. For a "
		"machine "
		"with more cores, measure on one",
		above, curve->point_count, curve->cores, curve->cores == 1 ? "core" : "cores");
}

/* How odd input was treated, and what whoever measured remarked. */
static int note_input(const struct curve *curve, struct forecast *f)
{
	for (size_t i = 0; i < curve->note_count; i++)
		if (forecast_add_note(f, "%s", curve->notes[i]) < 0)
			return -ENOMEM;
	return 0;
}

int forecast_run(const struct curve *curve, const struct forecast_method *method,
	const struct forecast_opts *opts, struct forecast **ret, struct err *err)
{
	enum { TARGET_MAX = 65536 }; /* bounds memory and time; no machine has more threads */
	if (!method)
		method = forecast_methods[0];
	if (opts->target == 0 || opts->target > TARGET_MAX)
		return err_set(err, -EINVAL, "the target must be 1 to %d threads", TARGET_MAX);
	if (curve->metric == METRIC_UNKNOWN)
		return err_set(err, -EINVAL,
			"it is not known whether the values are times or "
			"throughputs: say --metric time or --metric throughput");
	if (method->needs_stalls && curve->stall_count == 0)
		return err_set(err, -EDOM,
			"%s needs stall columns and there are none: run 'corecast measure' on a "
			"machine "
			"with hardware counters, or with --sync-stalls, or use --method auto",
			method->name);
	if (curve->point_count < method->min_points)
		return err_set(err, -EDOM,
			"%s needs at least %u thread counts and there are %zu: measure more counts",
			method->name, method->min_points, curve->point_count);
	/*
	 * GSL aborts the process where it finds no memory or no convergence, which a library must
	 * not; we check its return values instead. The handler is one for the whole process: it is
	 * set here, where every method passes, and stays off, for another thread may be in GSL.
	 */
	(void)gsl_set_error_handler_off();
	AUTO(forecast) struct forecast *f = forecast_new(curve, method->name, opts->target);
	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	int code = method->predict(curve, opts, f, err);
	if (code == 0 && f->stall_count == 0 && curve->stall_count > 0 &&
		stalls_add_all(curve, f) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code < 0)
		return code;
	summarise(f);
	if (note_oversubscription(curve, f) < 0 || note_input(curve, f) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(f);
	return 0;
}
