/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ESTIMA: G. Chatzopoulos, A. Dragojević and R. Guerraoui, "ESTIMA: Extrapolating Scalability of
 * In-Memory Applications", section 3.1. Where the text leaves a choice, ours is in
 * docs/models/estima.md.
 *
 *	each stall category, extrapolated  ->  their sum per core, S(n)
 *	factor(n) = time / S, at the measured counts, extrapolated  ->  time(n) = factor(n) S(n)
 *
 * The factor's function is the one whose times correlate best with S.
 */
#include "base/cleanup.h"
#include "scaling/candidates.h"
#include "scaling/interval.h"
#include "scaling/law.h"
#include "scaling/methods.h"
#include "scaling/realism.h"
#include "scaling/stalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts with fewer stalls per core than this share of the most say nothing about the factor. */
static const double STALLS_MIN = 1e-3;

/*
 * Factors whose error at the checkpoints is within this multiple of what is noise cannot be told
 * apart there, and the correlation decides among them.
 */
static const double ALIKE = 3;

/* Of the interval. */
static const double PRIOR_RATE = 0.5;

/* Everything by thread count: index 0 is one thread. One block, freed by the caller. */
struct work {
	size_t count; /* measured points */
	uint32_t target;
	double *n, *time, *y; /* count: measured counts, times of one unit of work, and room */
	double *per_core, *predicted, *trial; /* target: S, the best time, the one under trial */
	double *stalls; /* categories x target, summed over threads */
};

static double *work_init(struct work *w, const struct curve *curve, uint32_t target)
{
	size_t m = curve->point_count;
	double *block = calloc(3 * m + (3 + curve->stall_count) * target, sizeof *block);
	if (!block)
		return NULL;
	*w = (struct work){ .count = m, .target = target, .n = block };
	w->time = w->n + m;
	w->y = w->time + m;
	w->per_core = w->y + m;
	w->predicted = w->per_core + target;
	w->trial = w->predicted + target;
	w->stalls = w->trial + target;
	for (size_t i = 0; i < m; i++) {
		w->n[i] = curve->points[i].threads;
		w->time[i] = curve_time(curve, i);
	}
	return block;
}

static double measured_per_core(const struct curve *curve, size_t point)
{
	double sum = 0;
	for (size_t k = 0; k < curve->stall_count; k++)
		sum += curve->points[point].stalls[k];
	return sum / curve->points[point].threads;
}

/* Up to the last measured count where stalls say nothing: the measured times, straight in log-log. */
static double measured_between(const struct work *w, size_t count, uint32_t threads)
{
	size_t i = 1;
	while (i + 1 < count && w->n[i] < threads)
		i++;
	double share = log(threads / w->n[i - 1]) / log(w->n[i] / w->n[i - 1]);
	return w->time[i - 1] * pow(w->time[i] / w->time[i - 1], share);
}

/*
 * Times by this factor into w->trial. False if it is not realistic: a pole or no positive time, or
 * past the measured counts a change more abrupt than a program makes.
 */
static bool try_factor(const struct fit *factor, struct work *w, size_t count, double least)
{
	uint32_t last = (uint32_t)w->n[count - 1];
	for (uint32_t n = 1; n <= w->target; n++) {
		double *time = &w->trial[n - 1];
		*time = fit_value(factor, n) * w->per_core[n - 1];
		bool has_stalls = n > last || w->per_core[n - 1] >= least;
		if (!has_stalls)
			*time = measured_between(w, count, n);
		else if (!(fit_divisor(factor, n) > 0))
			return false;
		if (!(*time > 0) || !isfinite(*time) || !isfinite(1 / *time))
			return false;
		if (n > last && realism_is_abrupt(METRIC_TIME, n - 1, time[-1], *time))
			return false;
	}
	return true;
}

/* Pearson's correlation of x and y; 0 if one of them is constant. */
static double correlation(const double *x, const double *y, size_t count)
{
	double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
	for (size_t i = 0; i < count; i++) {
		mean_x += x[i] / (double)count;
		mean_y += y[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		xx += (x[i] - mean_x) * (x[i] - mean_x);
		yy += (y[i] - mean_y) * (y[i] - mean_y);
		xy += (x[i] - mean_x) * (y[i] - mean_y);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* time / S at the measured counts that have stalls; their number. */
static size_t measured_factors(
	const struct curve *curve, const struct work *w, size_t count, double least, double *n)
{
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		double per_core = measured_per_core(curve, i);
		if (per_core < least)
			continue;
		n[used] = w->n[i];
		w->y[used++] = w->time[i] / per_core;
	}
	return used;
}

/*
 * The factor whose times correlate best with S, among those that fit alike; fills w->predicted.
 * 0, -EDOM (no realistic one), -ERANGE (no stalls at all), -ENOMEM.
 */
static int choose_factor(const struct curve *curve, struct work *w, size_t count)
{
	double most = 0;
	for (size_t i = 0; i < count; i++)
		most = fmax(most, measured_per_core(curve, i));
	if (most == 0)
		return -ERANGE;
	double least = STALLS_MIN * most;
	AUTO_FREE double *n = malloc(count * sizeof *n);
	if (!n)
		return -ENOMEM;
	size_t used = measured_factors(curve, w, count, least, n);
	AUTO_RELEASE(candidates) struct candidates candidates = { 0 };
	int code = candidates_make(n, w->y, used, &candidates);
	if (code < 0)
		return code;
	double best = -INFINITY, alike = INFINITY;
	for (size_t i = 0; i < candidates.count; i++) {
		const struct candidate *c = &candidates.all[i];
		if (c->error > alike)
			break;
		if (!try_factor(&c->fit, w, count, least))
			continue;
		if (alike == INFINITY)
			alike = ALIKE * fmax(c->error, c->fit.rms);
		double now = correlation(w->trial, w->per_core, w->target);
		if (now <= best)
			continue;
		best = now;
		memcpy(w->predicted, w->trial, w->target * sizeof *w->trial);
	}
	return best > -INFINITY ? 0 : -EDOM;
}

/* Predicts times from the first `count` points into w->predicted. */
static int predict_times(const struct curve *curve, struct work *w, size_t count, struct err *err)
{
	memset(w->per_core, 0, w->target * sizeof *w->per_core);
	for (size_t k = 0; k < curve->stall_count; k++) {
		double *stalls = w->stalls + k * w->target;
		for (size_t i = 0; i < count; i++)
			w->y[i] = curve->points[i].stalls[k];
		int code = stalls_extrapolate(w->n, w->y, count, w->target, stalls);
		if (code == -EDOM)
			return err_set(err, code,
				"estima has no realistic function for the stalls '%s' up to %u "
				"threads: "
				"measure more thread counts or repeats, or use --method auto",
				curve->stall_names[k], w->target);
		if (code < 0)
			return err_set(err, code, "out of memory");
		for (uint32_t n = 1; n <= w->target; n++)
			w->per_core[n - 1] += stalls[n - 1] / n;
	}
	int code = choose_factor(curve, w, count);
	if (code == -ERANGE)
		return err_set(err, -EDOM,
			"all stalls are zero: measure categories that the program has, or use "
			"--method auto");
	if (code == -EDOM)
		return err_set(err, code,
			"estima found no realistic relation of stalls to time up to %u threads: "
			"measure "
			"more thread counts or repeats, or use --method auto",
			w->target);
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

/* Predicts the last counts from those before them, for the interval. */
static int hold_out(const struct curve *curve, struct work *w, struct interval *interval)
{
	enum { HELD_OUT_MAX = 2 };
	uint32_t target = w->target;
	w->target = (uint32_t)w->n[w->count - 1];
	for (size_t held = 1; held <= HELD_OUT_MAX && w->count > held + CANDIDATES_POINTS_MIN;
		held++) {
		size_t seen = w->count - held;
		int code = predict_times(curve, w, seen, NULL);
		if (code == -ENOMEM)
			return code;
		for (size_t i = seen; code == 0 && i < w->count; i++)
			interval_add_held_out(interval, log(w->n[i] / w->n[seen - 1]),
				log(w->time[i] / w->predicted[(size_t)w->n[i] - 1]));
	}
	w->target = target;
	return 0;
}

static double or_one(double ratio)
{
	return ratio > 0 ? ratio : 1;
}

/* From times on the measured machine and data to values at the target's. */
static int fill(const struct curve *curve, const struct forecast_opts *opts, const struct work *w,
	struct forecast *ret)
{
	double dataset = or_one(opts->dataset_ratio), frequency = or_one(opts->frequency_ratio);
	for (size_t i = 0; i < ret->point_count; i++) {
		double time = w->predicted[i] * dataset / frequency;
		ret->points[i].value = curve->metric == METRIC_TIME ? time : 1 / time;
	}
	for (size_t k = 0; k < curve->stall_count; k++) {
		double *stalls = w->stalls + k * w->target;
		for (uint32_t i = 0; i < ret->point_count; i++)
			stalls[i] *= dataset;
		int code = forecast_add_stall(ret, curve->stall_names[k], stalls);
		if (code < 0)
			return code;
	}
	if (dataset != 1 || frequency != 1)
		return forecast_add_note(ret,
			"for a data set %g times and a clock %g times the measured one; the "
			"measured "
			"values are those of the measured machine and data",
			dataset, frequency);
	return 0;
}

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	struct work w;
	uint32_t room = opts->target > ret->measured_max ? opts->target : ret->measured_max;
	AUTO_FREE double *block = work_init(&w, curve, room);
	if (!block)
		return err_set(err, -ENOMEM, "out of memory");
	struct interval interval = { .prior_rate = PRIOR_RATE };
	if (hold_out(curve, &w, &interval) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	int code = predict_times(curve, &w, w.count, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < w.count; i++)
		interval_add_fitted(&interval, log(w.time[i] / w.predicted[(size_t)w.n[i] - 1]));
	code = fill(curve, opts, &w, ret);
	if (code < 0)
		return err_set(err, code, "out of memory");
	interval_fill(&interval, 0, curve, ret);
	return 0;
}

const struct forecast_method forecast_estima = {
	.name = "estima",
	.summary = "ESTIMA as published: stalls by category, turned into time",
	.needs_stalls = true,
	.min_points = CANDIDATES_POINTS_MIN,
	.predict = predict,
};
