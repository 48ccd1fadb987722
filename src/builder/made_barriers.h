/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Barriers of the program's own making: a count, a condition and a mutex. A section in which a thread does nothing else is one step of its, the
 * arrival, as at a barrier of a library:
 *
 *	lock, broadcast or wait, unlock		arrive
 *
 * So what is known of rounds (leads, levels, deals, shares: arrivals.h) is of these, too. A section that takes a tenth or more of the CPU time
 * from one arrival to the next does something under its lock: that one stays.
 */
#ifndef BUILDER_MADE_BARRIERS_H
#define BUILDER_MADE_BARRIERS_H

#include "builder/steps.h"

/* Of channels that have objects, before their sections are rewritten. 0 or -ENOMEM. */
int build_made_barriers_find(struct build_trace *trace, const struct meaning *meaning,
	const struct build_channels *channels);

#endif
