/* SPDX-License-Identifier: MIT */
/*
 * What a running program tells `corecast boost` where the kernel tells nothing: a file in shared memory, named by
 * CORECAST_LIVE, in which each thread has a lane with its last changes between active and waiting. All processes of
 * the run share it; its size does not grow.
 *
 *	+--------+--------+--------+-----
 *	| header | lane   | lane   | ...		LIVE_LANES
 *	+--------+--------+--------+-----
 *
 * A lane is taken by a thread (owner 0 -> CLAIMED -> the thread, by compare-and-swap) and given back by the reader
 * once it has read that the thread has ended. A change is written before it is counted.
 */
#ifndef PRELOAD_LIVE_PAGE_H
#define PRELOAD_LIVE_PAGE_H

#include <assert.h>
#include <stdint.h>

#define LIVE_PAGE_ENVIRONMENT "CORECAST_LIVE"

enum {
	LIVE_VERSION = 1,
	LIVE_LANES = 2048, /* threads at a time, with those that ended since the last reading */
	LIVE_CHANGES = 508, /* the last ones of a thread */
	LIVE_CLAIMED = 1,
};

struct live_header {
	uint32_t version; /* set by corecast before the program starts */
	uint32_t lanes; /* used so far */
	uint64_t lost; /* threads that found no lane */
	uint64_t reserved[510];
};

struct live_lane {
	uint64_t owner; /* process << 32 | thread; 0: free */
	uint64_t count; /* changes so far; the last LIVE_CHANGES of them are there */
	uint32_t has_ended;
	uint32_t reserved[3];
	uint64_t changes[LIVE_CHANGES]; /* CLOCK_MONOTONIC, ns << 1 | is active from then on */
};

struct live_file {
	struct live_header header;
	struct live_lane lanes[LIVE_LANES];
};

static_assert(sizeof(struct live_header) == 4096, "shared between processes");
static_assert(sizeof(struct live_lane) == 4096, "shared between processes");

#endif
