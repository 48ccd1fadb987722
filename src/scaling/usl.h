/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The universal scalability law: X(n) = lambda n / (1 + sigma (n - 1) + kappa n (n - 1)).
 * lambda: throughput of one thread; sigma: contention; kappa: coherence (crosstalk).
 */
#ifndef SCALING_USL_H
#define SCALING_USL_H

#include <stddef.h>

struct usl {
	double lambda; /* > 0 */
	double sigma, kappa; /* >= 0 */
};

/*
 * Relative least squares over the times of one unit of work (1 / X) at n threads; needs no
 * one-thread point. 0, -EDOM (fewer than 3 points), -ENOMEM.
 */
int usl_fit(const double *n, const double *time, size_t count, struct usl *ret);

/* Of one unit of work at n threads: 1 / X(n). */
double usl_time(const struct usl *usl, double n);

#endif
