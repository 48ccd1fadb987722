/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * G. Amdahl, "Validity of the single processor approach to achieving large scale computing
 * capabilities" (1967): T(n) = S + P / n, serial and parallel part, both >= 0. Relative least
 * squares over the times of one unit of work; exact.
 */
#include "base/cleanup.h"
#include "scaling/law.h"
#include "scaling/lsq.h"
#include "scaling/methods.h"

#include <errno.h>
#include <stdlib.h>

enum { SERIAL, PARALLEL, PARAMS, POINTS_MIN = 2 };

static int fit(const double *n, const double *time, size_t count, uint32_t target,
	double params[LAW_PARAMS_MAX])
{
	(void)target; /* positive everywhere */
	if (count < POINTS_MIN)
		return -EDOM;
	AUTO_FREE double *a = calloc(count * PARAMS, sizeof *a);
	AUTO_FREE double *ones = calloc(count, sizeof *ones);
	if (!a || !ones)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		a[PARAMS * i + SERIAL] = 1 / time[i];
		a[PARAMS * i + PARALLEL] = 1 / n[i] / time[i];
		ones[i] = 1;
	}
	return lsq_solve_nonnegative(a, ones, count, PARAMS, params);
}

static double time_of(const double params[LAW_PARAMS_MAX], double n)
{
	return params[SERIAL] + params[PARALLEL] / n;
}

static const struct law law_amdahl = { .param_count = PARAMS,
	.points_min = POINTS_MIN,
	.prior_rate = 0.5,
	.fit = fit,
	.time = time_of };

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	(void)opts;
	double params[LAW_PARAMS_MAX];
	int code = law_predict(&law_amdahl, curve, ret, params, err);
	if (code < 0)
		return code;
	return forecast_add_note(ret, "serial fraction = %.6g",
		params[SERIAL] / (params[SERIAL] + params[PARALLEL]));
}

const struct forecast_method forecast_amdahl = {
	.name = "amdahl",
	.summary = "Amdahl's law: a serial and a parallel part",
	.min_points = POINTS_MIN,
	.predict = predict,
};
