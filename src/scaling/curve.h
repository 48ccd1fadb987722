/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A scaling curve: a measurement set with repeats of one thread count merged (median), sorted by
 * thread count. What every forecasting method sees.
 */
#ifndef SCALING_CURVE_H
#define SCALING_CURVE_H

#include "scaling/runs.h"

struct curve_point {
	uint32_t threads;
	uint32_t repeats;
	double value; /* median over repeats */
	double spread; /* relative standard error of value, robust; NAN with one repeat */
	double rss_bytes; /* median; NAN if unknown */
	double *stalls; /* stall_count medians, summed over threads */
};

struct curve {
	enum metric metric;
	struct curve_point *points; /* ascending thread counts, no duplicates */
	size_t point_count;
	char **stall_names; /* categories that every point has */
	size_t stall_count;
	bool has_stall_seconds; /* as in struct runs */
	uint32_t cores; /* as in struct runs */
	char **notes; /* the runs' own, then the stall categories that were dropped */
	size_t note_count;
};

/* Makes a curve of its own from the runs. 0, -EINVAL (no rows), -ENOMEM. Free with curve_free(). */
int curve_from_runs(const struct runs *runs, struct curve **ret, struct err *err);
void curve_free(struct curve *curve);

CLEANUP_DEFINE(curve, curve_free)

#endif
