/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often a predictor mispredicts a profiled program's branches, from how well their histories tell them: after De
 * Pestel, Eyerman and Eeckhout, "Micro-architecture independent branch behavior characterization", ISPASS 2015.
 *
 * A predictor's misprediction rate is close to linear in what counters without limits miss under the histories that it
 * sees, and in entropy. The map is one
 * for each kind of predictor and size, and was fitted once, by bench/calibrate_branches, to predictors simulated over
 * programs that score nothing. docs/models/branches.md has the features, the programs, and how well it does.
 */
#ifndef UARCH_BRANCHES_H
#define UARCH_BRANCHES_H

#include "uarch/processor.h"
#include "uarch/profile.h"

enum {
	BRANCHES_FEATURES = PROFILE_OUTCOMES + 3,
	BRANCHES_KINDS = PREDICTOR_PERFECT, /* those that mispredict */
	BRANCHES_SIZES = 4, /* 1, 4, 16 and 64 KiB */
	BRANCHES_SIZE_FIRST = 1024,
	BRANCHES_SIZE_STEP = 4,
};

/*
 * What the map takes from a class's `branches`, all PROFILE_HISTORIES of them, as rates of misprediction: what counters
 * under each history and both choices miss; and what is unsure, because patterns were visited too seldom, of the longest
 * global history, the short local one, and none: half the difference of the two estimates of entropy.
 */
void branches_features(const struct profile_branches *branches, double ret[BRANCHES_FEATURES]);

/*
 * Of an indirect jump of the class that is no return: 0 to 1; *ret_executions were looked at. bytes: of the predictor
 * of conditional branches; that of targets is taken to be as large.
 */
double branches_jumps_mispredicted(const struct profile_class *class, enum predictor_kind kind,
	uint32_t bytes, double *ret_executions);

/* Of a conditional branch of the class: 0 to 1/2. bytes: of the predictor; beyond the sizes fitted, the nearest. */
double branches_mispredicted(
	const struct profile_class *class, enum predictor_kind kind, uint32_t bytes);

#endif
