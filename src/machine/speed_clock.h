/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measurements of this machine have in common. */
#ifndef MACHINE_SPEED_CLOCK_H
#define MACHINE_SPEED_CLOCK_H

#include "base/clock.h"
#include "base/order.h"

#include <stddef.h>

static inline double speed_now_ns(void)
{
	return (double)clock_now_ns(CLOCK_MONOTONIC);
}

/* Of two times; 0 is none. */
static inline double speed_least(double a, double b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

/* Of many tries (sorts them): others only make them longer, and a few are shorter than it is, by the clock that tells. */
static inline double speed_lower_tenth(double *values, size_t count)
{
	order_doubles(values, count);
	return values[count / 10];
}

#endif
