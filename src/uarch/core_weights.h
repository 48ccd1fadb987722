/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What sampled traces stand for when it is known what all of them together must have: their weights are changed as little as
 * makes the weighted mean what is known. A class that divides for 5% of its time, at twelve times the usual CPI, has
 * 2 of 40 traces there, or 1, or 4; but how many divisions it executes has been counted.
 *
 * J.-C. Deville and C.-E. Saerndal, "Calibration estimators in survey sampling", JASA 87 (1992), their case 2 (raking): weights
 * w = d exp(x' lambda), which stay positive. A trace's own content is of a few instructions: what is executed n times
 * in all traces is met but for a part of about sqrt(n), so that kinds that hardly occur, or in none of the traces, do no harm.
 */
#ifndef UARCH_CORE_WEIGHTS_H
#define UARCH_CORE_WEIGHTS_H

#include <stddef.h>

enum { CORE_WEIGHTS_KINDS = 32 };

/*
 * Of `count` traces: `weights`, changed in place, with the same sum, and shares[i * kinds + k], the part of trace i that is of kind
 * k. known[k]: the part of all that is; length: instructions of a trace, in the mean. At most CORE_WEIGHTS_KINDS kinds.
 */
void core_weights(double *weights, const double *shares, size_t count, const double *known,
	size_t kinds, double length);

#endif
