/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One lane of a trace file as a stream of events in order of time: the reader merges lanes. A lane
 * stands before its next event, whose time and thread it knows, and lane_advance() moves it:
 *
 *	                     +--------------- next row, next chunk ---------------+
 *	                     v                                                    |
 *	UNLOADED --> (row) --+--> LOST, if rows --> WOKEN, if a PASS --> ROW -----+
 *	key: first_ns        |    before it are     that waited           |       |
 *	of the chunk         |    bad                            RELEASE, if held +
 *	                     +--------------- no row left -----------> OVER <-----+
 *
 * A row is dropped, and counted, if it cannot be what its thread wrote: see lane.c.
 */
#ifndef TRACE_LANE_H
#define TRACE_LANE_H

#include "trace/chunks.h"
#include "trace/event.h"

enum lane_stage {
	LANE_UNLOADED,
	LANE_LOST,
	LANE_WOKEN,
	LANE_ROW,
	LANE_RELEASE,
	LANE_OVER,
};

/* What all lanes of a reader share. */
struct lane_source {
	struct chunks chunks;
	struct packer *packer;
	void *scratch; /* one packed chunk */
	size_t rows_max;
	uint64_t torn_chunks; /* found when their content was read */
	uint64_t gap_records; /* in chunks that a lane misses */
	uint64_t threads;
};

struct lane {
	const struct chunk_place *chunk, *end; /* not loaded yet */
	struct trace_record *rows; /* of the loaded chunk; owned */
	uint32_t row, row_count;
	uint32_t pid, tid; /* of the row */
	uint32_t owner; /* the thread counted last; 0: none, or it has exited */
	uint32_t seq; /* of the next chunk, if none is missing */
	uint32_t place; /* among the lanes that are open: the reader's */
	uint8_t stage; /* enum lane_stage */
	bool has_woken; /* the file itself told that the thread was woken */
	uint64_t key_ns; /* time of the next event */
	uint64_t since_ns; /* of the row: creation, or woken; 0: unknown */
	uint64_t floor_ns; /* time of the row before */
	uint64_t bound_ns; /* the last row of the chunk is not later */
	uint64_t lost; /* to be told before the row */
};

/* A lane of the chunks from `chunk` to `end`, at least one. */
void lane_begin(struct lane *lane, const struct chunk_place *chunk, const struct chunk_place *end);

/* The event that the lane stands before. Its text lives until the lane is advanced. */
void lane_event(const struct lane *lane, struct event *ret);

/* Whether that event is of the kernel, which told it beside another recorder (joint.h). */
bool lane_is_of_kernel(const struct lane *lane);

/* 0, also when the lane is over; -EIO, -ENOMEM. */
int lane_advance(struct lane *lane, struct lane_source *source);

void lane_release(struct lane *lane);

#endif
