/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace file, raw or closed, as the table of its chunks: by lane, in each lane by seq. Only heads
 * are read; 40 bytes of memory for each chunk, which is a thousandth of the raw file.
 */
#ifndef TRACE_CHUNKS_H
#define TRACE_CHUNKS_H

#include "base/err.h"
#include "preload/trace_record.h"
#include "trace/pack.h"

#include <stdbool.h>
#include <stddef.h>

struct chunk_place {
	uint64_t offset; /* of what is behind the head */
	uint64_t first_ns;
	uint32_t lane, seq, pid, tid;
	uint32_t used; /* bytes of rows that the file has */
	uint32_t stored; /* 0: raw */
	uint32_t room; /* raw: bytes of the file that belong to the chunk's rows */
};

struct chunks {
	int fd; /* owned; -1: none */
	const char *name; /* borrowed: for messages */
	struct trace_header header;
	struct chunk_place *items;
	size_t count, capacity;
	uint64_t torn_chunks; /* whose head, or packed content, cannot be read */
	uint64_t lost_records; /* that those heads spoke of, and that a cut file lacks */
};

/*
 * Reads header and heads. Takes fd over, also on failure; `name` must outlive the chunks.
 * 0, -EINVAL (no trace, a newer version: err says so), -ESPIPE (not a file), -EIO, -ENOMEM.
 */
int chunks_open(struct chunks *chunks, int fd, const char *name, struct err *err);
void chunks_release(struct chunks *chunks);

/* Rows of the largest chunk as it stands in the file, and as it is read. */
uint64_t chunks_rows_stored(const struct chunks *chunks);
size_t chunks_rows_max(const struct chunks *chunks);

/*
 * Reads a chunk's rows, one for each event (expand.h), into room for chunks_rows_max(); `scratch` has
 * pack_bound() of that. The number of rows; what a raw chunk has behind them is added to *ret_torn:
 * rows in writing when the process was killed, and so are rows that repeat nothing. -EBADMSG:
 * damaged; -EIO, -ENOMEM.
 */
int chunks_read(const struct chunks *chunks, const struct chunk_place *place, struct packer *packer,
	void *scratch, struct trace_record *rows, uint64_t *ret_torn);

#endif
