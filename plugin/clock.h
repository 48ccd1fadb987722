/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUGIN_CLOCK_H
#define PLUGIN_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec time = { 0 };
	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
