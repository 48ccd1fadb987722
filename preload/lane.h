/* SPDX-License-Identifier: MIT */
/*
 * Room for records in the trace file (trace_record.h): this process's map of the file, and the
 * lanes that its threads write. Nothing here allocates from the heap, locks or waits; errno is
 * the caller's to keep.
 */
#ifndef PRELOAD_LANE_H
#define PRELOAD_LANE_H

#include "trace_record.h"

#include <stdbool.h>

enum { LANE_ROWS_BYTES = TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES };

/*
 * Owned by the one thread that writes it. Its rows go to one chunk that stays mapped, the desk; a
 * full desk is copied to a chunk of its own and cleared. Fresh pages of a file cost 2 to 3 us each
 * when they are written through a map, and less than 1 us by pwrite().
 *
 *	desk  seq 2 [rows.....        ]		killed before the copy's head is written: the
 *	copy  seq 1 [rows.............]		desk has the rows; after it, until the desk is
 *	copy  seq 0 [rows.............]		cleared: both have, and a reader takes one
 */
struct lane {
	struct trace_chunk *chunk; /* the desk; NULL: none */
	uint32_t used; /* as in the chunk */
	uint32_t desk; /* its place in the file */
	uint32_t number, seq; /* of the lane; of what is on the desk */
	uint64_t last_ns; /* of the last record: times never fall along a lane */
};

/*
 * Maps the file; true if it is a trace file that can be written. The calling process counts as one
 * more that records.
 */
bool lanes_attach(const char *path);
struct trace_header *lanes_header(void);

/* In the child of a fork: it has no lanes yet. */
void lanes_forked(void);

/* A lane for a thread created at since_ns; false if there is no room. */
bool lane_take(struct lane *lane, uint64_t since_ns, uint32_t tid);

/* Clears the desk; false if there is no room for what is on it: then the lane is as it was. */
bool lane_grow(struct lane *lane, uint32_t tid);

/* For the next thread. */
void lane_give(struct lane *lane);

void lanes_count_lost(uint64_t events);

/* Where the next row goes; there must be room for it. */
static inline struct trace_record *lane_row(const struct lane *lane)
{
	return (struct trace_record *)((char *)(lane->chunk + 1) + lane->used);
}

static inline bool lane_has_room(const struct lane *lane, uint32_t bytes)
{
	return lane->chunk && lane->used + bytes <= LANE_ROWS_BYTES;
}

/* Makes rows visible that were filled. */
static inline void lane_commit(struct lane *lane, uint32_t bytes)
{
	lane->used += bytes;
	__atomic_store_n(&lane->chunk->used, lane->used, __ATOMIC_RELEASE);
}

#endif
