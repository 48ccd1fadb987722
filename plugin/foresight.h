/* SPDX-License-Identifier: MIT */
/*
 * What predictors that never run out of room would miss: a two-bit counter for each branch and pattern of history
 * (Smith 1981; Yeh and Patt 1991), and for each branch a choice of the history whose counters missed least of late
 * (McFarling 1993). Other than entropy (entropy.h), of which only the whole counts, they follow a branch that changes
 * with time, and pay for learning. A pattern's first visit counts as half a miss, hence halves.
 *
 * One text for whoever profiles and whoever calibrates predictors, so that both mean the same numbers.
 */
#ifndef PLUGIN_FORESIGHT_H
#define PLUGIN_FORESIGHT_H

#include "profile_raw.h"

#include <stdbool.h>

enum {
	FORESIGHT_MEMORY = 64, /* outcomes over which a choice forgets */
	FORESIGHT_ONE = 1 << 16, /* half a miss */
};

/* Counter: 0 to 3, from 2 on it says taken; before its first visit anything. Half misses. */
static inline unsigned foresight_count(uint32_t visits, unsigned *counter, bool is_taken)
{
	if (visits == 0) {
		*counter = is_taken ? 2 : 1;
		return 1;
	}
	unsigned missed = (*counter >= 2) != is_taken ? 2 : 0;
	if (is_taken)
		*counter += *counter < 3;
	else
		*counter -= *counter > 0;
	return missed;
}

/* Of a branch: by history, how much its counters missed of late. Zeroed at first. */
struct foresight {
	int32_t missed[RAW_PATTERNS];
};

static inline unsigned foresight_better(const struct foresight *branch, unsigned best, unsigned i)
{
	return branch->missed[i] < branch->missed[best] ? i : best;
}

/* After each execution, with the half misses by history: adds those of the choices, which were made before it. */
static inline void foresight_choose(
	struct foresight *branch, const unsigned halves[RAW_PATTERNS], uint32_t ret[RAW_HISTORIES])
{
	unsigned best = 0;
	for (unsigned i = 1; i < RAW_PATTERNS; i++)
		if (i != RAW_FAR && i != RAW_FARTHEST && i != RAW_WHOLE_LOOPS)
			best = foresight_better(branch, best, i);
	ret[RAW_NEAR_CHOICE] += halves[best];
	best = foresight_better(branch, best, RAW_FAR);
	ret[RAW_CHOICE] += halves[best];
	best = foresight_better(branch, best, RAW_FARTHEST);
	best = foresight_better(branch, best, RAW_WHOLE_LOOPS);
	ret[RAW_FAR_CHOICE] += halves[best];
	for (unsigned i = 0; i < RAW_PATTERNS; i++) {
		ret[i] += halves[i];
		branch->missed[i] +=
			((int32_t)halves[i] * FORESIGHT_ONE - branch->missed[i]) / FORESIGHT_MEMORY;
	}
}

#endif
