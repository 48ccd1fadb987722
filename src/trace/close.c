/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/close.h"

#include "base/cleanup.h"
#include "base/outfile.h"
#include "trace/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct closing {
	struct chunks *chunks;
	struct outfile *out;
	struct packer *packer;
	struct trace_record *rows;
	void *packed;
	uint32_t number;
	uint32_t used_max; /* of a chunk */
	struct trace_header header;
	struct trace_closed sizes;
};

/* In the order of the file, which is about that of time. */
static int compare_offsets(const void *a, const void *b)
{
	const struct chunk_place *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int fail_writing(const struct closing *closing, struct err *err)
{
	return err_set(err, -errno, "cannot write '%s': %s", closing->out->path, strerror(errno));
}

static int put(struct closing *closing, const void *bytes, size_t count, struct err *err)
{
	closing->sizes.bytes += count;
	if (fwrite(bytes, 1, count, closing->out->file) == count)
		return 0;
	return fail_writing(closing, err);
}

static int put_chunk(
	struct closing *closing, const struct chunk_place *place, size_t row_count, struct err *err)
{
	static const char padding[8];
	int stored = pack_rows(
		closing->packer, closing->rows, row_count, place->first_ns, closing->packed, err);
	if (stored < 0)
		return stored;
	struct trace_chunk head = {
		.magic = TRACE_CHUNK_MAGIC,
		.number = closing->number++,
		.lane = place->lane,
		.seq = place->seq,
		.pid = place->pid,
		.tid = place->tid,
		.used = (uint32_t)(row_count * TRACE_RECORD_BYTES),
		.stored = (uint32_t)stored,
		.first_ns = place->first_ns,
	};
	head.check = trace_chunk_check(&head);
	closing->sizes.records += row_count;
	closing->sizes.raw_bytes += sizeof head + place->used;
	if (closing->used_max < head.used)
		closing->used_max = head.used;
	int code = put(closing, &head, sizeof head, err);
	if (code == 0)
		code = put(closing, closing->packed, (size_t)stored, err);
	return code < 0 ? code : put(closing, padding, -(size_t)stored % sizeof padding, err);
}

static int close_chunk(struct closing *closing, const struct chunk_place *place, struct err *err)
{
	uint64_t torn = 0;
	int n = chunks_read(
		closing->chunks, place, closing->packer, closing->packed, closing->rows, &torn);
	closing->header.lost_records += torn;
	if (n == -EBADMSG) {
		closing->header.torn_chunks++;
		closing->header.lost_records += place->used / TRACE_RECORD_BYTES;
		return 0;
	}
	if (n < 0)
		return err_set(err, n, "cannot read '%s': %s", closing->chunks->name, strerror(-n));
	return n == 0 ? 0 : put_chunk(closing, place, (size_t)n, err);
}

/* The header comes first and holds what is known last: it is written twice. */
static int close_chunks(struct closing *closing, struct err *err)
{
	struct chunks *chunks = closing->chunks;
	int code = put(closing, &closing->header, sizeof closing->header, err);
	if (chunks->count)
		qsort(chunks->items, chunks->count, sizeof *chunks->items, compare_offsets);
	for (size_t i = 0; i < chunks->count && code == 0; i++)
		code = close_chunk(closing, &chunks->items[i], err);
	if (code < 0)
		return code;
	closing->header.chunks_taken = closing->number;
	while (closing->header.chunk_bytes - TRACE_HEAD_BYTES < closing->used_max)
		closing->header.chunk_bytes *=
			2; /* rows that repeat others have been written out */
	if (fseek(closing->out->file, 0, SEEK_SET) < 0)
		return fail_writing(closing, err);
	closing->sizes.bytes -= sizeof closing->header;
	code = put(closing, &closing->header, sizeof closing->header, err);
	if (code == 0 && fflush(closing->out->file) != 0) /* here the reason is still known */
		code = fail_writing(closing, err);
	return code;
}

static void set_header(struct closing *closing, uint64_t end_ns)
{
	closing->header = closing->chunks->header;
	closing->header.state = TRACE_CLOSED;
	closing->header.torn_chunks = closing->chunks->torn_chunks;
	closing->header.lost_records = closing->chunks->lost_records;
	if (end_ns)
		closing->header.end_ns = end_ns;
	closing->sizes.raw_bytes = sizeof closing->header;
}

int trace_close(const char *raw_path, const char *path, uint64_t end_ns, struct trace_closed *ret,
	struct err *err)
{
	AUTO_RELEASE(chunks) struct chunks chunks = { .fd = -1 };
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	AUTO(packer) struct packer *packer = NULL;
	int fd = open(raw_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", raw_path, strerror(errno));
	int code = chunks_open(&chunks, fd, raw_path, err);
	if (code == 0)
		code = packer_new(&packer, err);
	if (code == 0)
		code = outfile_open(&out, path, err);
	if (code < 0)
		return code;
	AUTO_FREE void *rows = malloc(chunks_rows_max(&chunks) * sizeof(struct trace_record));
	AUTO_FREE void *packed = malloc(pack_bound(chunks_rows_max(&chunks)));
	if (!rows || !packed)
		return err_set(err, -ENOMEM, "out of memory");
	struct closing closing = {
		.chunks = &chunks, .out = &out, .packer = packer, .rows = rows, .packed = packed
	};
	set_header(&closing, end_ns);
	code = close_chunks(&closing, err);
	if (code == 0)
		code = outfile_commit(&out, err);
	if (code == 0 && ret)
		*ret = closing.sizes;
	return code;
}
