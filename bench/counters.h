/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Curves with hardware events beside the time, where no direct stall event was measured. Two
 * categories are derived, in cycles summed over threads, that do not overlap:
 *
 *	waiting		cycles less instructions over the core's best rate
 *	extra_work	instructions beyond those of the smallest count, over the same rate:
 *			spinning and duplicated work, which the hardware counts as useful
 *
 * The best rate is the dispatch width where TOPDOWN_SLOTS tells it, else 6.
 */
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include "base/err.h"
#include "scaling/curve.h"

#include <stdio.h>

int counters_read_curve(FILE *in, const char *name, struct curve **ret, struct err *err);

#endif
