/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PreSca: A. Dragojević and R. Guerraoui, "A Pragmatic Approach for Predicting the Scalability of
 * Parallel Applications", section 2.2 and Algorithm 1. Where the text leaves a choice, ours is in
 * docs/models/presca.md.
 *
 * Inside the measured range: a polynomial. Beyond it: each kernel on the first 2, 4, 6, ... points,
 * without the last four, which then choose among those that pass the filters of realism.h.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "scaling/fit.h"
#include "scaling/interval.h"
#include "scaling/methods.h"
#include "scaling/realism.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	DEGREE_MAX = 6,
	CHECKPOINTS = 4,
	SUBSET_STEP = 2,
	SUBSET_MAX = 32,
	POINTS_MIN = 3, /* to interpolate */
	EXTRAPOLATION_POINTS_MIN = CHECKPOINTS + 4, /* the smallest kernels have 4 coefficients */
};

/* Of Table 1, in its order. */
static const struct kernel *const kernels[] = { &kernel_rat12, &kernel_rat22, &kernel_rat23,
	&kernel_rat33, &kernel_cubic_ln, &kernel_exp_rat };

/* Errors at the checkpoints that differ by less are the same: the first function stays. */
static const double SAME_ERROR = 1e-7;

/* Of the interval. Large: its function may turn anywhere past the data. */
static const double PRIOR_RATE = 1;

/* The curve as arrays; one block, freed by the caller. */
struct points {
	double *n, *y;
	size_t count;
};

static double *points_init(struct points *p, const struct curve *curve)
{
	size_t count = curve->point_count;
	double *block = malloc(2 * count * sizeof *block);
	if (!block)
		return NULL;
	*p = (struct points){ .n = block, .y = block + count, .count = count };
	for (size_t i = 0; i < count; i++) {
		p->n[i] = curve->points[i].threads;
		p->y[i] = curve->points[i].value;
	}
	return block;
}

static int fit_first(
	const struct kernel *kernel, const struct points *p, size_t count, struct fit *ret)
{
	const struct fit_data data = { .n = p->n, .y = p->y, .count = count };
	return fit_run(kernel, &data, FIT_SIMPLEX, ret);
}

static void fill_values(const struct fit *fit, struct forecast *ret)
{
	for (size_t i = 0; i < ret->point_count; i++)
		ret->points[i].value = fit_value(fit, ret->points[i].threads);
}

static bool is_positive_up_to(const struct fit *fit, uint32_t target)
{
	for (uint32_t n = 1; n <= target; n++)
		if (!(fit_value(fit, n) > 0))
			return false;
	return true;
}

/* Leaves out each inner point in turn: the polynomial's error between its points. */
static int add_left_out(const struct points *p, unsigned degree, struct interval *interval)
{
	AUTO_FREE double *block = malloc(2 * p->count * sizeof *block);
	if (!block)
		return -ENOMEM;
	double *n = block, *y = block + p->count;
	for (size_t out = 1; out + 1 < p->count; out++) {
		size_t kept = 0;
		for (size_t i = 0; i < p->count; i++) {
			if (i == out)
				continue;
			n[kept] = p->n[i];
			y[kept++] = p->y[i];
		}
		struct fit fit;
		const struct fit_data data = { .n = n, .y = y, .count = kept };
		int code = fit_run(&kernel_polynomials[degree], &data, FIT_SIMPLEX, &fit);
		if (code == -ENOMEM)
			return code;
		if (code == 0)
			interval_add_fitted(interval, log(p->y[out] / fit_value(&fit, p->n[out])));
	}
	return 0;
}

/* The published degree, or the next lower one that stays positive. */
static int interpolate(
	const struct curve *curve, const struct points *p, struct forecast *ret, struct err *err)
{
	uint32_t target = (uint32_t)ret->point_count;
	unsigned published = p->count <= DEGREE_MAX + 1 ? (unsigned)p->count - 2 : DEGREE_MAX;
	for (unsigned degree = published + 1; degree-- > 0;) {
		struct fit fit;
		int code = fit_first(&kernel_polynomials[degree], p, p->count, &fit);
		if (code == -ENOMEM)
			return err_set(err, code, "out of memory");
		if (code < 0 || !is_positive_up_to(&fit, target))
			continue;
		struct interval interval = { .prior_rate = PRIOR_RATE };
		fill_values(&fit, ret);
		code = add_left_out(p, degree, &interval);
		if (code < 0)
			return err_set(err, code, "out of memory");
		interval_fill(&interval, 0, curve, ret);
		if (degree < published)
			return forecast_add_note(ret,
				"the measured counts cover %u threads: interpolated by a "
				"polynomial of degree %u, "
				"as those up to degree %u become negative between the measurements",
				target, degree, published);
		return forecast_add_note(ret,
			"the measured counts cover %u threads: interpolated by a polynomial of "
			"degree %u",
			target, degree);
	}
	return err_set(err, -EDOM, "no polynomial stays positive up to %u threads", target);
}

struct selection {
	struct fit best;
	size_t subset; /* first points that the best was fitted to */
	double error; /* root mean square of its relative errors at the checkpoints */
	unsigned tried, rejected[REALISM_ABRUPT + 1];
};

static double checkpoint_error(const struct fit *fit, const struct points *p)
{
	double square = 0;
	for (size_t i = p->count - CHECKPOINTS; i < p->count; i++) {
		double relative = fit_value(fit, p->n[i]) / p->y[i] - 1;
		square += relative * relative;
	}
	return sqrt(square / CHECKPOINTS);
}

static int try_kernel(const struct kernel *kernel, enum metric metric, const struct points *p,
	size_t subset, uint32_t target, struct selection *ret)
{
	struct fit fit;
	int code = fit_first(kernel, p, subset, &fit);
	if (code == -EDOM)
		return 0; /* too few points for this kernel, or none of its functions is finite */
	if (code < 0)
		return code;
	ret->tried++;
	enum realism realism = realism_of(&fit, metric, 1, target);
	ret->rejected[realism]++;
	double error = checkpoint_error(&fit, p);
	if (realism != REALISM_OK || !(error < ret->error - SAME_ERROR))
		return 0;
	ret->best = fit;
	ret->subset = subset;
	ret->error = error;
	return 0;
}

/* Algorithm 1. */
static int select_function(
	enum metric metric, const struct points *p, uint32_t target, struct selection *ret)
{
	*ret = (struct selection){ .error = INFINITY };
	for (size_t subset = SUBSET_STEP; subset <= SUBSET_MAX; subset += SUBSET_STEP) {
		if (subset > p->count - CHECKPOINTS)
			break;
		for (size_t k = 0; k < ARRAY_SIZE(kernels); k++) {
			int code = try_kernel(kernels[k], metric, p, subset, target, ret);
			if (code < 0)
				return code;
		}
	}
	return 0;
}

static double log_error(const struct fit *fit, const struct points *p, size_t i)
{
	return log(p->y[i] / fit_value(fit, p->n[i]));
}

/*
 * Predicts the last counts from those before them. The checkpoints do not serve here: the function
 * was chosen for its small error there.
 */
static int hold_out(enum metric metric, const struct points *p, struct interval *interval)
{
	enum { HELD_OUT_MAX = 4 };
	for (size_t held = 1; held <= HELD_OUT_MAX; held++) {
		struct points seen = *p;
		if (p->count < EXTRAPOLATION_POINTS_MIN + held)
			break;
		seen.count = p->count - held;
		struct selection selection;
		uint32_t last = (uint32_t)p->n[p->count - 1];
		int code = select_function(metric, &seen, last, &selection);
		if (code < 0)
			return code;
		for (size_t i = seen.count; isfinite(selection.error) && i < p->count; i++)
			interval_add_held_out(interval, log(p->n[i] / p->n[seen.count - 1]),
				log_error(&selection.best, p, i));
	}
	return 0;
}

static int extrapolate(
	const struct curve *curve, const struct points *p, struct forecast *ret, struct err *err)
{
	uint32_t target = (uint32_t)ret->point_count;
	if (p->count < EXTRAPOLATION_POINTS_MIN)
		return err_set(err, -EDOM,
			"presca needs %d thread counts to extrapolate (%d checkpoints, and 4 to "
			"fit "
			"its smallest functions) and there are %zu: measure more counts, or use "
			"--method auto",
			EXTRAPOLATION_POINTS_MIN, CHECKPOINTS, p->count);
	struct selection selection;
	int code = select_function(curve->metric, p, target, &selection);
	if (code < 0)
		return err_set(err, code, "out of memory");
	if (!isfinite(selection.error))
		return err_set(err, -EDOM,
			"presca has no realistic function up to %u threads: of %u, %u have a pole, "
			"%u "
			"become negative, %u change too abruptly: measure more counts or closer "
			"ones, "
			"or use --method auto",
			target, selection.tried, selection.rejected[REALISM_POLE],
			selection.rejected[REALISM_NEGATIVE], selection.rejected[REALISM_ABRUPT]);

	struct interval interval = { .prior_rate = PRIOR_RATE };
	for (size_t i = 0; i < selection.subset; i++)
		interval_add_fitted(&interval, log_error(&selection.best, p, i));
	if (hold_out(curve->metric, p, &interval) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	fill_values(&selection.best, ret);
	interval_fill(&interval, kernel_param_count(selection.best.kernel), curve, ret);
	return forecast_add_note(ret,
		"%s over the first %zu of %zu counts, error at the last %d: %.2g%%",
		selection.best.kernel->name, selection.subset, p->count, CHECKPOINTS,
		100 * selection.error);
}

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	struct points points;
	AUTO_FREE double *block = points_init(&points, curve);
	if (!block)
		return err_set(err, -ENOMEM, "out of memory");
	bool is_covered = opts->target <= ret->measured_max;
	return is_covered ? interpolate(curve, &points, ret, err)
			  : extrapolate(curve, &points, ret, err);
}

const struct forecast_method forecast_presca = {
	.name = "presca",
	.summary = "PreSca as published: six kernels, subsets, checkpoints",
	.min_points = POINTS_MIN,
	.predict = predict,
};
