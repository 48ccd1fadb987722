/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often a predictor mispredicts a profiled program's branches, from their linear entropy: De Pestel, Eyerman and
 * Eeckhout, "Micro-architecture independent branch behavior characterization", ISPASS 2015.
 *
 * A predictor's misprediction rate is close to linear in the entropy under the histories that it sees. The map is one
 * for each kind of predictor and size, and was fitted once, by bench/calibrate_branches, to predictors simulated over
 * programs that score nothing. docs/models/branches.md has the features, the programs, and how well it does.
 */
#ifndef UARCH_BRANCHES_H
#define UARCH_BRANCHES_H

#include "uarch/processor.h"
#include "uarch/profile.h"

enum {
	BRANCHES_FEATURES = 11,
	BRANCHES_KINDS = PREDICTOR_PERFECT, /* those that mispredict */
	BRANCHES_SIZES = 4, /* 1, 4, 16 and 64 KiB */
	BRANCHES_SIZE_FIRST = 1024,
	BRANCHES_SIZE_STEP = 4,
};

/*
 * What the map takes, as rates of misprediction: by history, half the entropy that chance adds nothing to (of the
 * history of 64 outcomes, which tells when loops end, the other estimate); the least of these without that history
 * (a predictor that chooses) and with it (one that sees far); and what is unsure, because patterns were visited too
 * seldom, of the longest global history, the short local one, and none.
 */
void branches_features(
	const struct profile_branches branches[PROFILE_HISTORIES], double ret[BRANCHES_FEATURES]);

/* Of a conditional branch of the class: 0 to 1/2. bytes: of the predictor; beyond the sizes fitted, the nearest. */
double branches_mispredicted(
	const struct profile_class *class, enum predictor_kind kind, uint32_t bytes);

#endif
