/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The performance model normal form with one term, after A. Calotoiu et al., "Using Automated
 * Performance Modeling to Find Scalability Bugs in Complex Codes" (SC 2013), as in Extra-P:
 *
 *	c0 + c1 n^i log2(n)^j
 *
 * for the time T, and for the work T n, which is what Extra-P asks its users to model under strong
 * scaling: both are tried, and the term with the least leave-one-out error (mean symmetric
 * relative error) wins. A term that makes the time negative between 1 and the target is not used.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "scaling/law.h"
#include "scaling/methods.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { POINTS_MIN = 4, LOG_POWER_MAX = 2 };

struct term {
	double power; /* i */
	unsigned log_power; /* j */
	bool is_of_work; /* models T n, not T */
	bool is_constant; /* without c1 */
};

struct model {
	struct term term;
	double c0, c1;
};

/* params[] of struct law: a model, and whether a better one was refused for going negative. */
enum { POWER, LOG_POWER, IS_OF_WORK, C0, C1, HAD_NEGATIVE, PARAMS };
_Static_assert((int)PARAMS <= (int)LAW_PARAMS_MAX, "a model fits the parameters of a law");

static double term_value(const struct term *term, double n)
{
	double value = pow(n, term->power);
	for (unsigned k = 0; k < term->log_power; k++)
		value *= log2(n);
	return value;
}

static double model_time(const struct model *model, double n)
{
	double c1_part = model->c1 != 0 ? model->c1 * term_value(&model->term, n) : 0;
	double value = model->c0 + c1_part;
	return model->term.is_of_work ? value / n : value;
}

/* Every term is monotonic from 1 on, so the ends tell. */
static bool is_positive_up_to(const struct model *model, uint32_t target)
{
	return model_time(model, 1) > 0 && model_time(model, target) > 0;
}

/* Symmetric relative error of a prediction that is `ratio` times the measurement: 0 to 2. */
static double symmetric_error(double ratio)
{
	return 2 * fabs(ratio - 1) / (fabs(ratio) + 1);
}

/*
 * Relative least squares of one term by orthogonal columns; returns the mean leave-one-out error,
 * for which residual / (1 - leverage) is exact. work: 2 * count numbers.
 */
static double fit_term(const struct term *term, const double *n, const double *time, size_t count,
	double *work, struct model *ret)
{
	double *u = work, *v = work + count;
	double uu = 0, uv = 0, u1 = 0;
	for (size_t i = 0; i < count; i++) {
		u[i] = 1 / (term->is_of_work ? n[i] * time[i] : time[i]);
		v[i] = term->is_constant ? 0 : u[i] * term_value(term, n[i]);
		uu += u[i] * u[i];
		uv += u[i] * v[i];
		u1 += u[i];
	}
	double vv = 0, v1 = 0, largest = 0;
	for (size_t i = 0; i < count; i++) {
		largest = fmax(largest, fabs(v[i]));
		v[i] -= uv / uu * u[i];
		vv += v[i] * v[i];
		v1 += v[i];
	}
	if (!term->is_constant && !(sqrt(vv) > 1e-12 * largest))
		return INFINITY; /* the same as a constant at these counts */

	double c1 = term->is_constant ? 0 : v1 / vv;
	*ret = (struct model){ .term = *term, .c0 = u1 / uu - c1 * uv / uu, .c1 = c1 };
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		double fitted = u1 / uu * u[i] + c1 * v[i];
		double leverage = u[i] * u[i] / uu + (term->is_constant ? 0 : v[i] * v[i] / vv);
		double left_out = 1 - (1 - fitted) / fmax(1 - leverage, 1e-12);
		sum += symmetric_error(left_out);
	}
	return sum / (double)count;
}

struct search {
	const double *n, *time;
	size_t count;
	uint32_t target;
	double *work;
	struct model best;
	double error, negative_error; /* of the best, and of the best that went negative */
};

static void try_term(struct search *s, struct term term)
{
	/* Smaller by rounding is not better: the first of equals, the simpler one, stays. */
	static const double ROUNDING = 1e-9;
	struct model model;
	double error = fit_term(&term, s->n, s->time, s->count, s->work, &model);
	if (!(error < s->error - ROUNDING))
		return;
	if (!is_positive_up_to(&model, s->target)) {
		s->negative_error = fmin(s->negative_error, error);
		return;
	}
	s->error = error;
	s->best = model;
}

/* Extra-P's exponents; the negative ones without logarithms, and for the time only. */
static void try_all_terms(struct search *s)
{
	static const double powers[] = { 0, 1. / 4, 1. / 3, 1. / 2, 2. / 3, 3. / 4, 4. / 5, 1,
		5. / 4, 4. / 3, 3. / 2, 5. / 3, 7. / 4, 2, 9. / 4, 7. / 3, 5. / 2, 8. / 3, 11. / 4,
		3 };
	for (int of_work = 0; of_work < 2; of_work++) {
		try_term(s, (struct term){ .is_of_work = of_work, .is_constant = true });
		for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
			for (unsigned j = i == 0; j <= LOG_POWER_MAX; j++)
				try_term(s, (struct term){ powers[i], j, of_work, false });
	}
	for (size_t i = 1; i < ARRAY_SIZE(powers); i++)
		try_term(s, (struct term){ -powers[i], 0, false, false });
}

static int fit(const double *n, const double *time, size_t count, uint32_t target,
	double params[LAW_PARAMS_MAX])
{
	AUTO_FREE double *work = calloc(2 * count, sizeof *work);
	if (!work)
		return -ENOMEM;
	struct search s = { .n = n, .time = time, .count = count, .target = target, .work = work };
	s.error = s.negative_error = INFINITY;
	try_all_terms(&s);
	params[POWER] = s.best.term.power;
	params[LOG_POWER] = s.best.term.log_power;
	params[IS_OF_WORK] = s.best.term.is_of_work;
	params[C0] = s.best.c0;
	params[C1] = s.best.c1;
	params[HAD_NEGATIVE] = s.negative_error < s.error;
	return isfinite(s.error) ? 0 : -EDOM;
}

static double time_of(const double params[LAW_PARAMS_MAX], double n)
{
	struct model model = {
		.term = { params[POWER], (unsigned)params[LOG_POWER], params[IS_OF_WORK] != 0,
			false },
		.c0 = params[C0],
		.c1 = params[C1],
	};
	return model_time(&model, n);
}

static const struct law law_pmnf = {
	.param_count = 2, .points_min = POINTS_MIN, .prior_rate = 0.8, .fit = fit, .time = time_of
};

static int predict(const struct curve *curve, const struct forecast_opts *opts,
	struct forecast *ret, struct err *err)
{
	double params[LAW_PARAMS_MAX];
	int code = law_predict(&law_pmnf, curve, ret, params, err);
	if (code < 0)
		return code;
	code = forecast_add_note(ret, "%s = %.6g %+.6g n^%.4g log2(n)^%g",
		params[IS_OF_WORK] != 0 ? "time x threads" : "time", params[C0], params[C1],
		params[POWER], params[LOG_POWER]);
	if (code == 0 && params[HAD_NEGATIVE] != 0)
		code = forecast_add_note(ret,
			"a term with a smaller error was not used: its time becomes negative "
			"before %u threads",
			opts->target);
	return code;
}

const struct forecast_method forecast_pmnf = {
	.name = "pmnf",
	.summary = "performance model normal form with one term (Extra-P)",
	.min_points = POINTS_MIN,
	.predict = predict,
};
