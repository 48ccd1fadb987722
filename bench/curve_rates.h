/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured curve as a rate at every thread count: straight lines in logarithms between the measured ones. */
#ifndef BENCH_CURVE_RATES_H
#define BENCH_CURVE_RATES_H

#include "scaling/curve.h"

#include <stdbool.h>
#include <stdint.h>

enum { CURVE_RATES_THREADS_MAX = 1024 };

struct curve_rates {
	uint32_t max;
	double rate[CURVE_RATES_THREADS_MAX + 1]; /* by thread count */
	double best;
};

/* False: fewer points or threads than leave something to search, or it does not begin at one thread. */
bool curve_rates_make(const struct curve *curve, struct curve_rates *ret);

#endif
