/* SPDX-License-Identifier: MIT */
/*
 * A pool of threads whose size somebody else may choose while the program runs: `corecast tune --set pool`.
 * Header only, C99 and C++; nothing to link. A program that is not tuned pays for the test of a pointer.
 *
 *	static void *work(void *number)			start as many of these as there may ever be
 *	{
 *		while (!is_over) {
 *			if (!corecast_pool_wait(index, 100))
 *				continue;		one too many at the moment: look whether it is over
 *			serve(take_request());		a safe point is between two of these
 *			corecast_pool_done(1);
 *		}
 *	}
 *
 * Whoever has no leave to work holds nothing: no lock, no request. All functions may be called from any thread.
 * They need the default of today's distributions, position independent code (as probe.h).
 */
#ifndef CORECAST_POOL_H
#define CORECAST_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Given by the library that `corecast tune` loads into the program; else their addresses are NULL. */
extern int corecast_pool_ask(unsigned worker, int milliseconds) __attribute__((weak));
extern void corecast_pool_count(uint64_t units) __attribute__((weak));

/*
 * Whether this worker may go on, the first one being 0. Waits for it, but no longer than so many milliseconds
 * (0: does not wait). 1: yes; 0: not now.
 */
static inline int corecast_pool_wait(unsigned worker, int milliseconds)
{
	return !corecast_pool_ask || corecast_pool_ask(worker, milliseconds);
}

/* Units of work that were done, as corecast_tick() of probe.h: what is to become faster. */
static inline void corecast_pool_done(uint64_t units)
{
	if (corecast_pool_count)
		corecast_pool_count(units);
}

#ifdef __cplusplus
}
#endif

#endif
