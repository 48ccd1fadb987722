/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measurements of this machine have in common. */
#ifndef MACHINE_SPEED_CLOCK_H
#define MACHINE_SPEED_CLOCK_H

#include <time.h>

static inline double speed_now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* that clock is always there */
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Of two times; 0 is none. */
static inline double speed_least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

#endif
