/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * N. Gunther, "A General Theory of Computational Scalability Based on Rational Functions" (2008),
 * with lambda free. Its inverse, the time of one unit of work, is linear:
 *
 *	1 / X(n) = A / n + B (n - 1) / n + C (n - 1),  A = 1/lambda, B = sigma/lambda, C = kappa/lambda
 *
 * so the relative least-squares fit with A > 0 and B, C >= 0 is exact and has one answer.
 */
#include "scaling/usl.h"

#include "base/cleanup.h"
#include "scaling/law.h"
#include "scaling/lsq.h"
#include "scaling/methods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { USL_POINTS_MIN = 3 };

/*
 * The least time at one thread, as a share of the least measured: curves without a one-thread
 * point that only rise would put it at zero, which is no time.
 */
static const double ONE_THREAD_MIN = 0.01;

int usl_fit(const double *n, const double *time, size_t count, struct usl *ret)
{
	if (count < USL_POINTS_MIN)
		return -EDOM;
	AUTO_FREE double *a = calloc(count * 3, sizeof *a);
	AUTO_FREE double *rest = calloc(count, sizeof *rest);
	if (!a || !rest)
		return -ENOMEM;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		least = fmin(least, time[i]);
	double base = ONE_THREAD_MIN * least;
	for (size_t i = 0; i < count; i++) {
		a[3 * i] = 1 / n[i] / time[i];
		a[3 * i + 1] = (n[i] - 1) / n[i] / time[i];
		a[3 * i + 2] = (n[i] - 1) / time[i];
		rest[i] = 1 - base * a[3 * i];
	}
	double x[3];
	int code = lsq_solve_nonnegative(a, rest, count, 3, x);
	if (code < 0)
		return code;
	double one = base + x[0];
	*ret = (struct usl){ .lambda = 1 / one, .sigma = x[1] / one, .kappa = x[2] / one };
	return 0;
}

double usl_time(const struct usl *usl, double n)
{
	return (1 + usl->sigma * (n - 1) + usl->kappa * n * (n - 1)) / (usl->lambda * n);
}

static int fit(const double *n, const double *time, size_t count, uint32_t target,
	double params[LAW_PARAMS_MAX])
{
	(void)target; /* positive everywhere */
	struct usl usl;
	int code = usl_fit(n, time, count, &usl);
	if (code < 0)
		return code;
	params[0] = usl.lambda;
	params[1] = usl.sigma;
	params[2] = usl.kappa;
	return 0;
}

static double time_of(const double params[LAW_PARAMS_MAX], double n)
{
	return usl_time(
		&(struct usl){ .lambda = params[0], .sigma = params[1], .kappa = params[2] }, n);
}

static const struct law law_usl = { .param_count = 3,
	.points_min = USL_POINTS_MIN,
	.prior_rate = 0.5,
	.fit = fit,
	.time = time_of };

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	(void)opts;
	double params[LAW_PARAMS_MAX];
	int code = law_predict(&law_usl, curve, ret, params, err);
	if (code < 0)
		return code;
	return forecast_add_note(
		ret, "lambda = %.6g, sigma = %.6g, kappa = %.6g", params[0], params[1], params[2]);
}

const struct forecast_method forecast_usl = {
	.name = "usl",
	.summary = "universal scalability law: contention and crosstalk",
	.min_points = USL_POINTS_MIN,
	.predict = predict,
};
