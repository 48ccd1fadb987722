/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/branches.h"

#include "plugin/profile_raw.h"
#include "uarch/branches_map.h"

#include <assert.h>

static_assert((int)RAW_PATH_SIZES == (int)BRANCHES_SIZES, "one of each size");

enum { GLOBAL_LONGEST = 3, LOCAL = 5, LAST_TARGET = PROFILE_OUTCOMES, PATH_TARGET };

static double unsure_rate(const struct profile_branches *branches)
{
	double unsure = (branches->entropy - branches->floor_entropy) / 2;
	return unsure > 0 ? unsure : 0;
}

void branches_features(const struct profile_branches *branches, double ret[BRANCHES_FEATURES])
{
	for (unsigned i = 0; i < PROFILE_OUTCOMES; i++)
		ret[i] = branches[i].missed;
	double *more = &ret[PROFILE_OUTCOMES];
	more[0] = unsure_rate(&branches[GLOBAL_LONGEST]);
	more[1] = unsure_rate(&branches[LOCAL]);
	more[2] = unsure_rate(&branches[0]);
}

static double map_rate(const double *map, const double *features)
{
	double rate = 0;
	for (unsigned i = 0; i < BRANCHES_FEATURES; i++)
		rate += map[i] * features[i];
	return rate < 0.5 ? rate : 0.5;
}

/* The largest that was fitted of at most so many bytes; is_between: halfway to the next, in the logarithm, at least. */
static uint32_t find_size(uint32_t bytes, bool *ret_is_between)
{
	uint32_t size = BRANCHES_SIZE_FIRST, i = 0;
	while (i + 1 < BRANCHES_SIZES && bytes >= BRANCHES_SIZE_STEP * size) {
		size *= BRANCHES_SIZE_STEP;
		i++;
	}
	*ret_is_between = i + 1 < BRANCHES_SIZES && bytes >= 2 * size;
	return i;
}

double branches_mispredicted(
	const struct profile_class *class, enum predictor_kind kind, uint32_t bytes)
{
	if ((int)kind >= (int)BRANCHES_KINDS || class->branches[0].executions <= 0)
		return 0;
	double features[BRANCHES_FEATURES];
	branches_features(class->branches, features);
	bool is_between;
	uint32_t i = find_size(bytes, &is_between);
	double rate = map_rate(branches_map[kind][i], features);
	return is_between ? (rate + map_rate(branches_map[kind][i + 1], features)) / 2 : rate;
}

/* Profiles of version 2 have one without limit, in the place of the largest. */
static const struct profile_branches *path_targets(const struct profile_class *class, uint32_t size)
{
	const struct profile_branches *largest = &class->branches[PATH_TARGET];
	const struct profile_branches *of = largest + (BRANCHES_SIZES - 1 - size);
	return of->executions > 0 ? of : largest;
}

double branches_jumps_mispredicted(const struct profile_class *class, enum predictor_kind kind,
	uint32_t bytes, double *ret_executions)
{
	bool is_between;
	uint32_t i = find_size(bytes, &is_between);
	const struct profile_branches *of = path_targets(class, i);
	double missed = of->missed;
	if (is_between)
		missed = (missed + path_targets(class, i + 1)->missed) / 2;
	if (kind == PREDICTOR_BIMODAL) {
		of = &class->branches[LAST_TARGET];
		missed = of->missed;
	}
	*ret_executions = of->executions;
	return (int)kind < (int)BRANCHES_KINDS && of->executions > 0 ? missed : 0;
}
