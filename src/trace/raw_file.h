/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A raw trace file being written by this process, alone or beside others: chunks are handed out one
 * after the other, each in memory that is the file until it is left. Pages of a file that are new cost
 * most of what writing through such memory costs: who fills many chunks fills one again and again.
 */
#ifndef TRACE_RAW_FILE_H
#define TRACE_RAW_FILE_H

#include "base/err.h"
#include "preload/trace_record.h"
#include "trace/create.h"

#include <stdbool.h>

struct raw_file {
	int fd; /* -1: none */
	struct trace_header
		*header; /* mapped; others may write to what trace_record.h says is shared */
};

/* Takes fd over, an empty file, also on failure. 0 or -errno. */
int raw_file_open(struct raw_file *file, int fd, const char *name,
	const struct trace_create_opts *opts, struct err *err);

/* The file at `path` that others record into. 0; -EINVAL (it is none), -errno. */
int raw_file_join(struct raw_file *file, const char *path, struct err *err);

/* A chunk of one's own, all zero, its number in *ret_number; NULL: full, or no memory. */
struct trace_chunk *raw_file_chunk(struct raw_file *file, uint32_t *ret_number);

/*
 * Copies a chunk to a place of its own, so that it can be cleared and filled again: as in preload/lane.h. False: full.
 */
bool raw_file_copy(struct raw_file *file, const struct trace_chunk *chunk);

/* It will not be written to any more. NULL is none. */
void raw_file_leave(struct trace_chunk *chunk);

/* Unmaps the header and closes; what was written stays. Chunks are to be left by themselves. */
void raw_file_release(struct raw_file *file);

#endif
