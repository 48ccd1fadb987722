/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernels after A. Dragojević and R. Guerraoui, "A Pragmatic Approach for Predicting the
 * Scalability of Parallel Applications" (Table 1), and G. Chatzopoulos, A. Dragojević and
 * R. Guerraoui, "ESTIMA: Extrapolating Scalability of In-Memory Applications" (Table 1).
 */
#include "scaling/kernels.h"

#include <math.h>

static double integer_power(double x, unsigned exponent)
{
	double power = 1;
	for (unsigned i = 0; i < exponent; i++)
		power *= x;
	return power;
}

static double power_term(unsigned j, double x)
{
	return integer_power(x, j);
}

static double log_term(unsigned j, double x)
{
	return integer_power(log(x), j);
}

static double poly25_term(unsigned j, double x)
{
	return j < 3 ? integer_power(x, j) : x * x * sqrt(x);
}

static double unit_divisor(const double *b, unsigned shape_count, double x)
{
	(void)b;
	(void)shape_count;
	(void)x;
	return 1;
}

static double polynomial_divisor(const double *b, unsigned shape_count, double x)
{
	double sum = 0;
	for (unsigned k = shape_count; k > 0; k--)
		sum = (sum + b[k - 1]) * x;
	return 1 + sum;
}

static double exponential_divisor(const double *b, unsigned shape_count, double x)
{
	(void)shape_count;
	return exp(b[0] * x);
}

const struct kernel kernel_rat12 = { "Rat12", 2, 2, power_term, polynomial_divisor };
const struct kernel kernel_rat22 = { "Rat22", 3, 2, power_term, polynomial_divisor };
const struct kernel kernel_rat23 = { "Rat23", 3, 3, power_term, polynomial_divisor };
const struct kernel kernel_rat33 = { "Rat33", 4, 3, power_term, polynomial_divisor };
const struct kernel kernel_cubic_ln = { "CubicLn", 4, 0, log_term, unit_divisor };
const struct kernel kernel_exp_rat = { "ExpRat", 2, 1, power_term, exponential_divisor };
const struct kernel kernel_poly25 = { "Poly25", 4, 0, poly25_term, unit_divisor };

const struct kernel kernel_polynomials[KERNEL_LINEAR_MAX] = {
	{ "constant", 1, 0, power_term, unit_divisor },
	{ "polynomial of degree 1", 2, 0, power_term, unit_divisor },
	{ "polynomial of degree 2", 3, 0, power_term, unit_divisor },
	{ "polynomial of degree 3", 4, 0, power_term, unit_divisor },
	{ "polynomial of degree 4", 5, 0, power_term, unit_divisor },
	{ "polynomial of degree 5", 6, 0, power_term, unit_divisor },
	{ "polynomial of degree 6", 7, 0, power_term, unit_divisor },
};

unsigned kernel_param_count(const struct kernel *kernel)
{
	return kernel->linear_count + kernel->shape_count;
}

bool kernel_is_rational(const struct kernel *kernel)
{
	return kernel->divisor == polynomial_divisor;
}
