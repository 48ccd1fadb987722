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

enum { FORESIGHT_MEMORY = 64 }; /* outcomes over which a choice forgets */

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
	float missed[RAW_PATTERNS];
};

/* After each execution, with the half misses by history: adds those of both choices, which were made before it. */
static inline void foresight_choose(
	struct foresight *branch, const unsigned halves[RAW_PATTERNS], uint32_t ret[RAW_HISTORIES])
{
	unsigned best = 0, far_best;
	for (unsigned i = 1; i < RAW_PATTERNS; i++)
		if (i != RAW_WHOLE_LOOPS && branch->missed[i] < branch->missed[best])
			best = i;
	far_best = branch->missed[RAW_WHOLE_LOOPS] < branch->missed[best] ? RAW_WHOLE_LOOPS : best;
	ret[RAW_CHOICE] += halves[best];
	ret[RAW_FAR_CHOICE] += halves[far_best];
	for (unsigned i = 0; i < RAW_PATTERNS; i++) {
		ret[i] += halves[i];
		branch->missed[i] += ((float)halves[i] - branch->missed[i]) / FORESIGHT_MEMORY;
	}
}

#endif
