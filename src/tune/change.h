/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has the level of a sequence changed? The last CHANGE_WINDOW values are split in two at every place, and
 * the two means compared by Student's t with pooled variance, at a level that is shared among the
 * places (Bonferroni; after Sen and Srivastava, "On tests for detecting change in mean", 1975), and once more with the
 * variance of the first part only: as long as nothing has changed, that is the variance of both, and a new level that scatters
 * more does not hide itself. The scatter is estimated from the values themselves, so what counts as a change follows
 * from their noise. Both parts must be levels: most of their values lie on their own side of the middle.
 *
 * Assumes independent normal values within a segment: give it logarithms of rates. A slow drift is seen
 * as a change once it is large against the scatter.
 */
#ifndef TUNE_CHANGE_H
#define TUNE_CHANGE_H

#include <stddef.h>

enum { CHANGE_WINDOW = 64 };

struct change {
	double values[CHANGE_WINDOW]; /* the oldest first */
	size_t count;
	double noise; /* standard deviation that one is expected to have; 0: only the values tell */
};

void change_reset(struct change *change);

enum change_verdict {
	CHANGE_NONE,
	CHANGE_SUSPECTED, /* the last value stands apart: an outlier, or the first of a new level */
	CHANGE_SEEN,
};

/*
 * Takes a value in. CHANGE_SEEN: *ret_first is the number of the first value behind the change, so
 * values[*ret_first .. count) are the new level. false_alarm: chance of that without a change.
 */
enum change_verdict change_add(
	struct change *change, double value, double false_alarm, size_t *ret_first);

#endif
