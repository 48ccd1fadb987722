/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wake-ups on other cores than recorded. Where other programs have the cores that the run leaves free, who is woken waits
 * for them; that is part of the recorded times from a wake-up to running, and on more cores, of which others have as many as
 * they had, it comes as much less often.
 *
 *	recorded	-- as the machine by itself --|-- late ---------------
 *	on more cores	-- the same, more often ----------------|-- late -----
 */
#include "replay/player.h"

/* Longer than so many times what the machine takes by itself: late. */
static const double LATE = 2;

/* The quantile of a distribution that is given by parts, interpolated; `at` from 0 to 1. */
static double quantile(const double *parts, double at)
{
	double place = at * (WAKES_PARTS + 1) - 1;
	if (!(place > 0))
		return parts[0];
	size_t below = (size_t)place;
	if (below >= WAKES_PARTS - 1)
		return parts[WAKES_PARTS - 1];
	return parts[below] + (place - (double)below) * (parts[below + 1] - parts[below]);
}

void late_wakes(const struct replay *replay, uint32_t cores, double ret_parts[WAKES_PARTS])
{
	const double *parts = replay->woken.parts_ns;
	/* Not measured where others left no time for it: then the shortest that were seen. */
	double measured_ns = replay->opts.wakes.latency_ns;
	double machine_ns = measured_ns > 0 ? measured_ns : parts[0];
	size_t in_time = 0;
	while (in_time < WAKES_PARTS && parts[in_time] <= LATE * machine_ns)
		in_time++;
	double late = 1 - (double)in_time / WAKES_PARTS;
	double by_others = replay->woken.others_of_free;
	double gone = late < by_others ? late : by_others;
	double left = late;
	if (cores > replay->facts.cores)
		left -= gone * (1 - (double)replay->facts.cores / cores);
	for (size_t i = 0; i < WAKES_PARTS; i++) {
		double at = (double)(i + 1) / (WAKES_PARTS + 1);
		if (left == late)
			ret_parts[i] = parts[i];
		else if (at > 1 - left)
			ret_parts[i] = quantile(parts, 1 - late + (at - (1 - left)) / left * late);
		else
			ret_parts[i] = in_time > 0 ? quantile(parts, at / (1 - left) * (1 - late))
						   : machine_ns;
	}
}
