/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits a kernel to points by weighted least squares.
 *
 * The coefficients a of a kernel are linear (kernels.h): for every b that is tried, the best a is
 * found exactly by QR, so that the search runs over at most three numbers (variable projection,
 * Golub and Pereyra 1973). It starts from several b - the equations with the divisor multiplied
 * out, and fixed guesses - and refines the two most promising. Deterministic.
 *
 * A divisor that is not positive over the fitted points is not considered.
 */
#ifndef SCALING_FIT_H
#define SCALING_FIT_H

#include "scaling/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum fit_search {
	FIT_SIMPLEX, /* the downhill simplex (Nelder and Mead), as in PreSca */
	FIT_LEVENBERG, /* Levenberg-Marquardt: the same minimum in fewer steps */
};

struct fit {
	const struct kernel *kernel;
	double x_scale; /* x = n / x_scale */
	double a[KERNEL_LINEAR_MAX];
	double b[KERNEL_SHAPE_MAX];
	double rms; /* of the weighted residuals */
	bool converged;
	const char *reason; /* why it has not; NULL if it has */
};

/* Points to fit; ascending n > 0. */
struct fit_data {
	const double *n;
	const double *y;
	const double *weight; /* NULL: 1 / |y|, that is relative error */
	size_t count;
};

/*
 * 0; -EDOM if there are fewer points than coefficients, or no finite fit; -ENOMEM. A search that
 * stopped early is a result: see `converged`.
 */
int fit_run(const struct kernel *kernel, const struct fit_data *data, enum fit_search search,
	struct fit *ret);

/* The fitted function at n, and what it divides by there, whose zeros are its poles (kernels.h). */
double fit_value(const struct fit *fit, double n);
double fit_divisor(const struct fit *fit, double n);

#endif
