/* SPDX-License-Identifier: MIT */
/*
 * What `corecast tune` and the program that it tunes share: one page of a file, named by CORECAST_TUNE. The
 * program reads how many threads it should have and adds up what it did; corecast does the reverse.
 */
#ifndef PRELOAD_TUNE_PAGE_H
#define PRELOAD_TUNE_PAGE_H

#include <assert.h>
#include <stdint.h>

#define TUNE_PAGE_ENVIRONMENT "CORECAST_TUNE"

enum { TUNE_PAGE_BYTES = 4096, TUNE_PAGE_VERSION = 4, TUNE_PAGE_LINE = 64 };

struct tune_page {
	uint32_t version; /* set by corecast before the program starts */
	uint32_t threads; /* wanted; 0: as the program likes */
	uint32_t told; /* set by corecast: what OMP_NUM_THREADS tells the program */
	uint32_t wants_iterations; /* set by corecast: else they are not counted, as that costs */
	uint32_t is_tunable; /* a region can have as many as are wanted; or there is a pool */
	uint32_t
		is_bounded; /* it may have arrays for as many threads as it was told: no region has more */
	/* What is written often is not beside what is read often. */
	_Alignas(TUNE_PAGE_LINE) uint64_t regions; /* parallel regions that have ended */
	uint64_t tuned; /* those that began with the wanted count, or could have */
	uint64_t kept; /* those that need the count that they would have had */
	_Alignas(TUNE_PAGE_LINE) uint64_t ticks; /* units of corecast_tick() */
	_Alignas(TUNE_PAGE_LINE) uint64_t iterations; /* of loops that the runtime hands out */
};

static_assert(sizeof(struct tune_page) == 4 * TUNE_PAGE_LINE, "shared between processes");

#endif
