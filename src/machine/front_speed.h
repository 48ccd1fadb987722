/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a core's front end takes, measured: a branch that nobody can foretell, and a loop whose code lies in two lines
 * instead of one. A fifth of a second of work; the least of many short tries is taken, since others only make them longer.
 */
#ifndef MACHINE_FRONT_SPEED_H
#define MACHINE_FRONT_SPEED_H

#include <stdbool.h>

struct front_speed {
	/* What a branch costs more that goes another way than foretold: from the dispatch of the load whose value it tests (a hit of
	   the first level) until instructions behind it are dispatched. */
	double mispredicted_ns;
	double line_ns; /* what a round of a short loop costs more whose code begins in one line of 64 bytes and ends in the next */
	double split_ns; /* what it costs more than that if the branch, with the comparison that is one with it, has bytes in both */
	bool has_line; /* it is known how to measure these here */
};

/* What could not be measured is 0. */
struct front_speed front_speed_measure(void);

#endif
