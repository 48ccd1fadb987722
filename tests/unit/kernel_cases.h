/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Curves of each kernel of PreSca and ESTIMA, written out as their tables print them: some fall as
 * times do, some rise and peak as throughputs and stalls do. Positive and without poles to 64.
 */
#ifndef TESTS_KERNEL_CASES_H
#define TESTS_KERNEL_CASES_H

#include "scaling/kernels.h"

#include <math.h>

struct kernel_case {
	const struct kernel *kernel;
	double p[7]; /* a0, a1, ..., b1, b2, ... */
};

static const struct kernel_case kernel_cases[] = {
	{ &kernel_rat12, { 100, 5, 0.8, 0.002 } },
	{ &kernel_rat12, { 1, 10, 0.05, 0.002 } },
	{ &kernel_rat12, { 20, 3, 0.3, 0.01 } },
	{ &kernel_rat22, { 100, 2, 0.5, 0.9, 0.01 } },
	{ &kernel_rat22, { 1, 12, 0.3, 0.1, 0.01 } },
	{ &kernel_rat22, { 60, 1, 0.1, 0.5, 0.02 } },
	{ &kernel_rat23, { 100, 10, 1, 1, 0.05, 0.0005 } },
	{ &kernel_rat23, { 1, 10, 0.5, 0.1, 0.02, 0.0001 } },
	{ &kernel_rat23, { 50, 4, 0.8, 0.7, 0.02, 0.001 } },
	{ &kernel_rat33, { 100, 10, 1, 0.05, 1.2, 0.04, 0.002 } },
	{ &kernel_rat33, { 2, 9, 0.4, 0.01, 0.08, 0.01, 0.0002 } },
	{ &kernel_rat33, { 80, 2, 0.1, 0.04, 0.6, 0.05, 0.001 } },
	{ &kernel_cubic_ln, { 100, -30, 2, 0.5 } },
	{ &kernel_cubic_ln, { 10, 15, -1, 0.3 } },
	{ &kernel_cubic_ln, { 60, -25, 4, -0.1 } },
	{ &kernel_exp_rat, { 100, 5, 0.1, 0.03 } },
	{ &kernel_exp_rat, { 1, 10, 0.2, 0.02 } },
	{ &kernel_exp_rat, { 40, 1, 0.5, -0.01 } },
	{ &kernel_poly25, { 50, 3, 0.2, -0.02 } },
	{ &kernel_poly25, { 100, -2, 0.1, 0.01 } },
	{ &kernel_poly25, { 5, 1, 0.5, 0.03 } },
};

enum { KERNEL_CASES = sizeof kernel_cases / sizeof *kernel_cases };

static inline double kernel_case_value(const struct kernel_case *c, double n)
{
	const double *p = c->p;
	double l = log(n);
	if (c->kernel == &kernel_rat12)
		return (p[0] + p[1] * n) / (1 + p[2] * n + p[3] * n * n);
	if (c->kernel == &kernel_rat22)
		return (p[0] + p[1] * n + p[2] * n * n) / (1 + p[3] * n + p[4] * n * n);
	if (c->kernel == &kernel_rat23)
		return (p[0] + p[1] * n + p[2] * n * n) /
		       (1 + p[3] * n + p[4] * n * n + p[5] * n * n * n);
	if (c->kernel == &kernel_rat33)
		return (p[0] + p[1] * n + p[2] * n * n + p[3] * n * n * n) /
		       (1 + p[4] * n + p[5] * n * n + p[6] * n * n * n);
	if (c->kernel == &kernel_cubic_ln)
		return p[0] + p[1] * l + p[2] * l * l + p[3] * l * l * l;
	if (c->kernel == &kernel_exp_rat)
		return (p[0] + p[1] * n) / exp(p[2] + p[3] * n);
	return p[0] + p[1] * n + p[2] * n * n + p[3] * pow(n, 2.5);
}

#endif
