/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts after C. Sanathanan and J. Koerner, "Transfer function synthesis as a ratio of two complex
 * polynomials" (1963): solve with the divisor multiplied out, weigh by the divisor just found,
 * repeat.
 */
#include "scaling/fit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "scaling/lsq.h"

#include <errno.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this the data are met to rounding and there is nothing to refine. */
static const double EXACT_RMS = 1e-12;

/* Worse than any fit, yet finite: GSL's searches do not take infinity. */
static const double REFUSED = 1e30;

struct problem {
	const struct kernel *kernel;
	size_t count;
	const double *y; /* borrowed from the data */
	double *x, *weight; /* count */
	double *terms; /* count rows of linear_count */
	double *matrix; /* room for count + LSQ_COLUMNS_MAX rows of LSQ_COLUMNS_MAX */
	double *residual; /* count + LSQ_COLUMNS_MAX */
	double a[KERNEL_LINEAR_MAX]; /* of the last evaluation */
};

static double relative_weight(double y)
{
	return 1 / fmax(fabs(y), 1e-300);
}

/* Lays the arrays out in one block, which the caller frees. */
static double *problem_init(
	struct problem *p, const struct kernel *kernel, const struct fit_data *data, double x_scale)
{
	size_t m = data->count, k = kernel->linear_count, padded = m + LSQ_COLUMNS_MAX;
	double *block = malloc((2 * m + m * k + padded * LSQ_COLUMNS_MAX + padded) * sizeof *block);
	if (!block)
		return NULL;
	*p = (struct problem){ .kernel = kernel, .count = m, .y = data->y };
	p->x = block;
	p->weight = p->x + m;
	p->terms = p->weight + m;
	p->matrix = p->terms + m * k;
	p->residual = p->matrix + padded * LSQ_COLUMNS_MAX;
	for (size_t i = 0; i < m; i++) {
		p->x[i] = data->n[i] / x_scale;
		p->weight[i] = data->weight ? data->weight[i] : relative_weight(data->y[i]);
		for (size_t j = 0; j < k; j++)
			p->terms[i * k + j] = kernel->term((unsigned)j, p->x[i]);
	}
	return block;
}

static double divisor(const struct problem *p, const double *b, double x)
{
	return p->kernel->divisor(b, p->kernel->shape_count, x);
}

/* Also between the points: a pole between two measurements is no fit. */
static bool is_positive_over_points(const struct problem *p, const double *b)
{
	for (size_t i = 0; i < p->count; i++) {
		double here = divisor(p, b, p->x[i]);
		if (!(here > 0) || !isfinite(here))
			return false;
		if (i > 0 && !(divisor(p, b, (p->x[i - 1] + p->x[i]) / 2) > 0))
			return false;
	}
	return true;
}

/*
 * The best a for this b goes to p->a, the weighted residuals to p->residual; returns the sum of
 * their squares, REFUSED if there is none.
 */
static double project(struct problem *p, const double *b)
{
	size_t k = p->kernel->linear_count;
	if (!is_positive_over_points(p, b))
		return REFUSED;
	for (size_t i = 0; i < p->count; i++) {
		double scale = p->weight[i] / divisor(p, b, p->x[i]);
		for (size_t j = 0; j < k; j++)
			p->matrix[i * k + j] = p->terms[i * k + j] * scale;
		p->residual[i] = p->y[i] * p->weight[i];
	}
	if (lsq_solve(p->matrix, p->residual, p->count, k, p->a) < 0)
		return REFUSED;
	double square = 0;
	for (size_t i = 0; i < p->count; i++)
		square += p->residual[i] * p->residual[i];
	return square < REFUSED ? square : REFUSED;
}

/* Candidates for b, best first. */
struct start {
	double b[KERNEL_SHAPE_MAX];
	double square;
};

enum { STARTS_MAX = 48, STARTS_REFINED = 2 };

struct starts {
	struct start all[STARTS_MAX];
	size_t count;
};

static void starts_add(struct starts *s, struct problem *p, const double *b)
{
	struct start new = { .square = project(p, b) };
	if (new.square >= REFUSED || s->count == STARTS_MAX)
		return;
	memcpy(new.b, b, p->kernel->shape_count * sizeof *b);
	size_t at = s->count++;
	for (; at > 0 && s->all[at - 1].square > new.square; at--)
		s->all[at] = s->all[at - 1];
	s->all[at] = new;
}

/*
 * One row a point of: sum a_j x^j - y (b_0 + b_1 x + b_2 x^2 ...) = 0, over the divisor found
 * before. With b_0 = 1 known, the rest is an ordinary least-squares problem; with b_0 free, the
 * answer is the null vector, which also holds the curves whose b_0 is 0, as 1/n.
 */
static bool linearised(struct problem *p, const double *previous, bool is_free, double *b)
{
	size_t k = p->kernel->linear_count, q = p->kernel->shape_count, columns = k + q + is_free;
	size_t rows = p->count > columns ? p->count : columns;
	memset(p->matrix, 0, rows * columns * sizeof *p->matrix);
	memset(p->residual, 0, rows * sizeof *p->residual);
	for (size_t i = 0; i < p->count; i++) {
		double scale = p->weight[i] / fabs(divisor(p, previous, p->x[i]));
		double *row = p->matrix + i * columns, power = p->y[i] * scale;
		for (size_t j = 0; j < k; j++)
			row[j] = p->terms[i * k + j] * scale;
		p->residual[i] = power;
		if (is_free)
			row[columns - 1] = -power;
		for (size_t j = 0; j < q; j++) {
			power *= p->x[i];
			row[k + j] = -power;
		}
	}
	double solution[LSQ_COLUMNS_MAX], b0 = 1;
	if (is_free) {
		if (lsq_null_vector(p->matrix, rows, columns, solution) < 0)
			return false;
		/* 1e-10: to the rounding of the data, such a curve is one with b_0 = 0 */
		double largest = 0;
		for (size_t j = 0; j < q; j++)
			largest = fmax(largest, fabs(solution[k + j]));
		b0 = copysign(
			fmax(fabs(solution[columns - 1]), 1e-10 * largest), solution[columns - 1]);
		if (fabs(b0) <= 1e-10 * largest)
			b0 = copysign(b0, solution[k + q - 1]);
	} else if (lsq_solve_shortest(p->matrix, p->residual, rows, columns, solution) < 0) {
		return false;
	}
	for (size_t j = 0; j < q; j++)
		b[j] = solution[k + j] / b0;
	return true;
}

static void add_linearised_starts(struct starts *s, struct problem *p)
{
	enum { ROUNDS = 6 };
	for (int is_free = 0; is_free < 2; is_free++) {
		double b[KERNEL_SHAPE_MAX] = { 0 }, next[KERNEL_SHAPE_MAX];
		for (int round = 0; round < ROUNDS; round++) {
			if (!linearised(p, b, is_free, next))
				break;
			memcpy(b, next, sizeof b);
			starts_add(s, p, b);
		}
	}
}

/* x runs to 1 at the last point: these turn within the points, or well past them. */
static void add_rational_guesses(struct starts *s, struct problem *p)
{
	static const double guesses[][KERNEL_SHAPE_MAX] = { { 0, 0, 0 }, { 1, 0, 0 }, { 10, 0, 0 },
		{ 1000, 0, 0 }, { 0, 1, 0 }, { 0, 10, 0 }, { 10, 10, 0 }, { 0, 0, 1 }, { 0, 0, 10 },
		{ -0.3, 0.1, 0 }, { -1, 1, 0 } };
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++)
		starts_add(s, p, guesses[i]);
}

/* exp(-6 x) to exp(12 x): from growth by 400 over the points to a decay by 160,000. */
static void add_exponential_guesses(struct starts *s, struct problem *p)
{
	for (double b = -6; b <= 12; b += 0.5)
		starts_add(s, p, &b);
}

struct outcome {
	bool converged;
	const char *reason;
};

static double simplex_objective(const gsl_vector *b, void *context)
{
	return project(context, b->data);
}

static int refine_simplex(struct problem *p, double *b, struct outcome *ret)
{
	enum { STEPS = 600 };
	size_t dimensions = p->kernel->shape_count;
	double step[KERNEL_SHAPE_MAX];
	for (size_t j = 0; j < dimensions; j++)
		step[j] = 0.1 * fmax(fabs(b[j]), 0.1);
	gsl_vector_view at = gsl_vector_view_array(b, dimensions);
	gsl_vector_view steps = gsl_vector_view_array(step, dimensions);
	gsl_multimin_function f = { .f = simplex_objective, .n = dimensions, .params = p };
	gsl_multimin_fminimizer *search =
		gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, dimensions);
	if (!search)
		return -ENOMEM;
	int status = gsl_multimin_fminimizer_set(search, &f, &at.vector, &steps.vector);
	double first_size = gsl_multimin_fminimizer_size(search);
	*ret = (struct outcome){ .reason = "the simplex stopped at its step limit" };
	for (int i = 0; i < STEPS && status == GSL_SUCCESS && !ret->converged; i++) {
		status = gsl_multimin_fminimizer_iterate(search);
		if (gsl_multimin_fminimizer_size(search) < 1e-6 * first_size)
			*ret = (struct outcome){ .converged = true };
	}
	if (status != GSL_SUCCESS)
		ret->reason = "the simplex found no finite value";
	memcpy(b, gsl_multimin_fminimizer_x(search)->data, dimensions * sizeof *b);
	gsl_multimin_fminimizer_free(search);
	return 0;
}

static int levenberg_residuals(const gsl_vector *b, void *context, gsl_vector *residuals)
{
	struct problem *p = context;
	bool is_refused = project(p, b->data) >= REFUSED;
	for (size_t i = 0; i < p->count; i++)
		gsl_vector_set(residuals, i, is_refused ? 1e10 : p->residual[i]);
	return GSL_SUCCESS;
}

static int refine_levenberg(struct problem *p, double *b, struct outcome *ret)
{
	enum { STEPS = 60 };
	size_t dimensions = p->kernel->shape_count;
	gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
	gsl_multifit_nlinear_fdf f = {
		.f = levenberg_residuals, .n = p->count, .p = dimensions, .params = p
	};
	gsl_vector_view at = gsl_vector_view_array(b, dimensions);
	gsl_multifit_nlinear_workspace *search =
		gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, p->count, dimensions);
	if (!search)
		return -ENOMEM;
	int info = 0;
	int status = gsl_multifit_nlinear_init(&at.vector, &f, search);
	if (status == GSL_SUCCESS)
		status = gsl_multifit_nlinear_driver(
			STEPS, 1e-10, 1e-10, 0, NULL, NULL, &info, search);
	/* ENOPROG: no step improves further, which at a minimum met to rounding is the end */
	*ret = status == GSL_SUCCESS || status == GSL_ENOPROG
		       ? (struct outcome){ .converged = true }
		       : (struct outcome){
				 .reason = "the least-squares search stopped at its step limit"
			 };
	memcpy(b, gsl_multifit_nlinear_position(search)->data, dimensions * sizeof *b);
	gsl_multifit_nlinear_free(search);
	return 0;
}

/* Refines the most promising starts; the best b and its outcome. */
static int search_shape(struct problem *p, enum fit_search search, double *b, struct outcome *ret)
{
	struct starts starts = { 0 };
	if (kernel_is_rational(p->kernel)) {
		add_linearised_starts(&starts, p);
		add_rational_guesses(&starts, p);
	} else {
		add_exponential_guesses(&starts, p);
	}
	if (starts.count == 0)
		return -EDOM;
	memcpy(b, starts.all[0].b, sizeof starts.all[0].b);
	double best = starts.all[0].square;
	*ret = (struct outcome){ .converged = true };
	for (size_t i = 0; i < STARTS_REFINED && i < starts.count; i++) {
		if (best <= EXACT_RMS * EXACT_RMS * (double)p->count)
			break;
		double *from = starts.all[i].b;
		struct outcome outcome;
		int code = search == FIT_SIMPLEX ? refine_simplex(p, from, &outcome)
						 : refine_levenberg(p, from, &outcome);
		if (code < 0)
			return code;
		double square = project(p, from);
		if (square > best || (square == best && i > 0))
			continue;
		best = square;
		memcpy(b, from, sizeof starts.all[i].b);
		*ret = outcome;
	}
	return 0;
}

int fit_run(const struct kernel *kernel, const struct fit_data *data, enum fit_search search,
	struct fit *ret)
{
	if (data->count < kernel_param_count(kernel))
		return -EDOM;
	struct fit fit = {
		.kernel = kernel, .x_scale = data->n[data->count - 1], .converged = true
	};
	struct problem p;
	AUTO_FREE double *block = problem_init(&p, kernel, data, fit.x_scale);
	if (!block)
		return -ENOMEM;
	if (kernel->shape_count > 0) {
		struct outcome outcome;
		int code = search_shape(&p, search, fit.b, &outcome);
		if (code < 0)
			return code;
		fit.converged = outcome.converged;
		fit.reason = outcome.reason;
	}
	double square = project(&p, fit.b);
	if (square >= REFUSED)
		return -EDOM;
	memcpy(fit.a, p.a, kernel->linear_count * sizeof *fit.a);
	fit.rms = sqrt(square / (double)data->count);
	*ret = fit;
	return 0;
}

double fit_divisor(const struct fit *fit, double n)
{
	return fit->kernel->divisor(fit->b, fit->kernel->shape_count, n / fit->x_scale);
}

double fit_value(const struct fit *fit, double n)
{
	double sum = 0, x = n / fit->x_scale;
	for (unsigned j = 0; j < fit->kernel->linear_count; j++)
		sum += fit->a[j] * fit->kernel->term(j, x);
	return sum / fit_divisor(fit, n);
}
