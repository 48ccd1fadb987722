/* SPDX-License-Identifier: MIT */
/* What the kernel is asked about time and about the calling thread: a clock, and how often the thread slept. */
#ifndef PRELOAD_KERNEL_CLOCK_H
#define PRELOAD_KERNEL_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* CLOCK_MONOTONIC or CLOCK_THREAD_CPUTIME_ID, say: one that each thread has. */
static inline uint64_t kernel_clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };
	(void)clock_gettime(clock, &now); /* cannot fail for a clock that exists */
	return timespec_ns(&now);
}

/* How often the thread has given up its core so far. */
static inline uint64_t kernel_sleeps(void)
{
	struct rusage usage = { 0 };
	(void)getrusage(RUSAGE_THREAD, &usage); /* fails nowhere; then no sleep is seen */
	return (uint64_t)usage.ru_nvcsw;
}

#endif
