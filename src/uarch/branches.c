/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/branches.h"

#include "uarch/branches_map.h"

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

double branches_mispredicted(
	const struct profile_class *class, enum predictor_kind kind, uint32_t bytes)
{
	if ((int)kind >= (int)BRANCHES_KINDS || class->branches[0].executions <= 0)
		return 0;
	double features[BRANCHES_FEATURES];
	branches_features(class->branches, features);
	/* Sizes between two that were fitted lie on the line in the logarithm, in steps of 2. */
	uint32_t size = BRANCHES_SIZE_FIRST, i = 0;
	while (i + 1 < BRANCHES_SIZES && bytes >= BRANCHES_SIZE_STEP * size) {
		size *= BRANCHES_SIZE_STEP;
		i++;
	}
	double rate = map_rate(branches_map[kind][i], features);
	bool is_between = i + 1 < BRANCHES_SIZES && bytes >= 2 * size;
	return is_between ? (rate + map_rate(branches_map[kind][i + 1], features)) / 2 : rate;
}

double branches_jumps_mispredicted(
	const struct profile_class *class, enum predictor_kind kind, double *ret_executions)
{
	const struct profile_branches *of =
		&class->branches[kind == PREDICTOR_BIMODAL ? LAST_TARGET : PATH_TARGET];
	*ret_executions = of->executions;
	return (int)kind < (int)BRANCHES_KINDS && of->executions > 0 ? of->missed : 0;
}
