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

enum { TUNE_PAGE_BYTES = 4096, TUNE_PAGE_VERSION = 2 };

struct tune_page {
	uint32_t version; /* set by corecast before the program starts */
	uint32_t threads; /* wanted; 0: as the program likes */
	uint64_t regions; /* parallel regions that have ended */
	uint64_t ticks; /* units of corecast_tick() */
	uint64_t tunable; /* regions whose number of threads was left to the runtime; pools */
	uint64_t iterations; /* of loops that the runtime hands out */
};

static_assert(sizeof(struct tune_page) == 40, "shared between processes");

#endif
