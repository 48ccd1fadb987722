/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A raw trace file being written by this process: chunks are handed out one after the other, in
 * memory that is the file.
 *
 *	windows[0]                windows[1]                  mapped when the first chunk is needed
 *	[chunk|chunk|...|chunk]   [chunk|chunk|...|chunk]     RAW_WINDOW_CHUNKS each
 */
#ifndef TRACE_RAW_FILE_H
#define TRACE_RAW_FILE_H

#include "base/err.h"
#include "preload/trace_record.h"
#include "trace/create.h"

#include <stddef.h>

struct raw_window {
	void *map;
	size_t map_bytes;
	uint8_t *chunks; /* the first one; behind the start of the map where pages are large */
};

struct raw_file {
	int fd; /* -1: none */
	struct trace_header *header; /* mapped */
	struct raw_window *windows;
	size_t window_count, window_capacity;
};

/* Takes fd over, an empty file, also on failure. 0 or -errno. */
int raw_file_open(struct raw_file *file, int fd, const char *name,
	const struct trace_create_opts *opts, struct err *err);

/* The next chunk, all zero, its number in *ret_number; NULL: full, or no memory. */
struct trace_chunk *raw_file_chunk(struct raw_file *file, uint32_t *ret_number);

/* Unmaps and closes; what was written stays. Cuts off space that no chunk uses. */
void raw_file_release(struct raw_file *file);

#endif
