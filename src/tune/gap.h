/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts that a policy left out because its curves are smooth: a cliff between two counts that were measured hides what is
 * better just before it. While a count is held, the gaps are looked into (tuner.h, `look`).
 */
#ifndef TUNE_GAP_H
#define TUNE_GAP_H

#include "tune/policy.h"

#include <stdint.h>

/*
 * The count in the middle of the gap that promises most over the one that is held, which is measured, for what it costs to look: `cost`,
 * in intervals of the held count, and the loss to be expected. noise: relative, of an interval, which hides what there is. 0: none
 * promises enough.
 */
uint32_t gap_choose(const struct tune_space *space, const struct tune_set *set, uint32_t held,
	double cost, double noise);

#endif
