/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of one chunk, smaller: predicted from the row before, transposed into planes of bytes,
 * planes of one repeated byte left out, the rest compressed by zstd (docs/formats/trace.md).
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

#include "base/err.h"
#include "preload/trace_record.h"

#include <stddef.h>

struct packer; /* memory for packing or unpacking, used again and again; one thread at a time */

/* 0 or -ENOMEM. */
int packer_new(struct packer **ret, struct err *err);
void packer_free(struct packer *packer);

/* Room that packed rows may need. */
size_t pack_bound(size_t row_count);

/*
 * Packs rows into `packed`, which has room for pack_bound() bytes. first_ns: of the chunk's head.
 * The number of bytes, or -ENOMEM, -EIO (zstd failed, which err explains).
 */
int pack_rows(struct packer *packer, const struct trace_record *rows, size_t row_count,
	uint64_t first_ns, void *packed, struct err *err);

/* Fills exactly row_count rows. 0, -EBADMSG (damaged), -ENOMEM. */
int unpack_rows(struct packer *packer, const void *packed, size_t bytes, uint64_t first_ns,
	struct trace_record *rows, size_t row_count);

#include "base/cleanup.h"
CLEANUP_DEFINE(packer, packer_free)

#endif
