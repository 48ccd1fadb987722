/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PreSca's two filters for functions that cannot be the performance of a program: negative values,
 * and changes that are too abrupt from one thread count to the next. From n to n + 1 threads
 * performance may grow by no more than 3/2 (n + 1) / n, and shrink by no more than
 * (n / (n + 1))^8. For a time T, which is the inverse of performance:
 *
 *	2/3 n / (n + 1)  <=  T(n + 1) / T(n)  <=  ((n + 1) / n)^8
 */
#ifndef SCALING_REALISM_H
#define SCALING_REALISM_H

#include "scaling/fit.h"
#include "scaling/runs.h"

enum realism {
	REALISM_OK,
	REALISM_POLE, /* the divisor reaches zero, or a value is not finite */
	REALISM_NEGATIVE, /* or zero */
	REALISM_ABRUPT,
};

/* Over the thread counts from .. to, in the orientation of the metric. */
enum realism realism_of(const struct fit *fit, enum metric metric, uint32_t from, uint32_t to);

/* The rule for one step, from n to n + 1 threads. */
bool realism_is_abrupt(enum metric metric, uint32_t n, double value, double next);

#endif
