/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks that are always there, like CLOCK_MONOTONIC: reading them cannot fail on Linux. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;
	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double clock_now_s(clockid_t clock)
{
	return (double)clock_now_ns(clock) * 1e-9;
}

#endif
