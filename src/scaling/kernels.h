/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The function kernels of PreSca (its Table 1), of ESTIMA (its Table 1), and polynomials.
 *
 * Every one of them is a sum that is linear in its coefficients a, over a divisor that holds the
 * other coefficients b:
 *
 *	f(x) = sum of a[j] * term(j, x)  /  divisor(b, x)
 *
 * so that, once b is known, the best a is a linear least-squares problem (fit.h uses that).
 * ExpRat's constant c only scales a and b of its numerator and is folded into them.
 * All of them keep their form when x is scaled, so a fit may choose the unit of x.
 */
#ifndef SCALING_KERNELS_H
#define SCALING_KERNELS_H

#include <stdbool.h>

enum { KERNEL_LINEAR_MAX = 7, KERNEL_SHAPE_MAX = 3 };

struct kernel {
	const char *name;
	unsigned linear_count; /* coefficients a */
	unsigned shape_count; /* coefficients b; 0: the divisor is 1 */
	double (*term)(unsigned j, double x);
	double (*divisor)(const double *b, unsigned shape_count, double x);
};

extern const struct kernel kernel_rat12;
extern const struct kernel kernel_rat22;
extern const struct kernel kernel_rat23;
extern const struct kernel kernel_rat33;
extern const struct kernel kernel_cubic_ln;
extern const struct kernel kernel_exp_rat;
extern const struct kernel kernel_poly25;

/* By degree, 0 to 6. */
extern const struct kernel kernel_polynomials[KERNEL_LINEAR_MAX];

/* Free coefficients, which is also the least number of points that determine them. */
unsigned kernel_param_count(const struct kernel *kernel);

/* The divisor is 1 + b[0] x + b[1] x^2 + ...: multiplying it out makes the fit linear. */
bool kernel_is_rational(const struct kernel *kernel);

#endif
