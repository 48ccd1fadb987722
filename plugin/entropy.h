/* SPDX-License-Identifier: MIT */
/*
 * How well outcomes of a branch can be foretold from a history (De Pestel, Eyerman, Eeckhout,
 * "Micro-architecture independent branch behavior characterization", ISPASS 2015). Of a branch and the pattern of
 * history that comes before it, n visits of which k are taken, two estimates of the linear entropy 2 min(p, 1 - p),
 * times n:
 *
 *	plug-in (the paper's):  2 min(k, n - k)				too low where n is small: 0 for n = 1
 *	leave one out:		2 times the visits that the majority of the other n - 1 would have got
 *				wrong, a tie counting half		1 for n = 1; right on average for p = 1/2
 *
 * One text for whoever profiles and whoever calibrates predictors, so that both mean the same numbers.
 */
#ifndef PLUGIN_ENTROPY_H
#define PLUGIN_ENTROPY_H

#include <stdint.h>

static inline double entropy_plug_in(uint32_t visits, uint32_t taken)
{
	uint32_t rest = visits - taken;
	return 2.0 * (taken < rest ? taken : rest);
}

static inline double entropy_leave_one_out(uint32_t visits, uint32_t taken)
{
	uint32_t less = taken < visits - taken ? taken : visits - taken;
	uint32_t more = visits - less;
	if (more == less)
		return 2.0 * visits;
	/* Without it, the majority is as large as the minority: a guess. */
	if (more - 1 == less)
		return 2.0 * less + more;
	return 2.0 * less;
}

#endif
