/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In a raw file chunks stand where their number says; in a closed one each head tells where the
 * next one is, and if it cannot, the file is searched for it.
 */
#include "trace/chunks.h"

#include "base/mem.h"
#include "trace/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads up to `bytes`; fewer only at the end of the file. The number, or -EIO. */
static ssize_t read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EIO;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int fail_reading(const struct chunks *chunks, struct err *err)
{
	return err_set(err, -EIO, "cannot read '%s': %s", chunks->name, strerror(errno));
}

static bool is_power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int check_header(const struct chunks *chunks, size_t bytes, struct err *err)
{
	const struct trace_header *header = &chunks->header;
	if (bytes == 0)
		return err_set(err, -EINVAL, "'%s' is empty: nothing was recorded", chunks->name);
	if (bytes < sizeof header->magic || header->magic != TRACE_MAGIC)
		return err_set(err, -EINVAL,
			"'%s' is not a trace: it does not begin like one of 'corecast record'",
			chunks->name);
	if (bytes < sizeof *header)
		return err_set(err, -EINVAL, "'%s' is a trace cut within its first %d bytes",
			chunks->name, TRACE_HEADER_BYTES);
	if (header->version == 0 || header->version > TRACE_VERSION)
		return err_set(err, -EINVAL,
			"'%s' is a trace of version %u; this corecast reads up to %d: use the "
			"corecast that recorded it",
			chunks->name, header->version, TRACE_VERSION);
	if (header->header_bytes != TRACE_HEADER_BYTES ||
		header->record_bytes != TRACE_RECORD_BYTES || header->state > TRACE_CLOSED ||
		!is_power_of_2(header->chunk_bytes) ||
		header->chunk_bytes < TRACE_CHUNK_BYTES_MIN ||
		header->chunk_bytes > TRACE_CHUNK_BYTES_MAX)
		return err_set(err, -EINVAL, "the header of '%s' is damaged", chunks->name);
	return 0;
}

static bool is_head(const struct trace_chunk *head)
{
	return head->magic == TRACE_CHUNK_MAGIC && head->check == trace_chunk_check(head);
}

static int add_place(struct chunks *chunks, const struct trace_chunk *head, uint64_t offset,
	uint32_t used, uint32_t room)
{
	if (mem_grow(&chunks->items, &chunks->capacity, chunks->count + 1, sizeof *chunks->items) <
		0)
		return -ENOMEM;
	chunks->items[chunks->count++] = (struct chunk_place){
		.offset = offset,
		.first_ns = head->first_ns,
		.lane = head->lane,
		.seq = head->seq,
		.pid = head->pid,
		.tid = head->tid,
		.used = used,
		.stored = head->stored,
		.room = room,
	};
	return 0;
}

static uint32_t smaller(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Of what a damaged head says, the number of records is the best guess of what is lost. */
static void count_torn_head(struct chunks *chunks, const struct trace_chunk *head)
{
	uint32_t used = smaller(head->used, chunks->header.chunk_bytes - TRACE_HEAD_BYTES);
	chunks->torn_chunks++;
	chunks->lost_records += used < TRACE_RECORD_BYTES ? 1 : used / TRACE_RECORD_BYTES;
}

/* A chunk of a raw file: `head` stands at `offset`, the file goes on for `bytes` from there. */
static int add_raw(
	struct chunks *chunks, const struct trace_chunk *head, uint64_t offset, uint64_t bytes)
{
	uint32_t capacity = chunks->header.chunk_bytes - TRACE_HEAD_BYTES;
	uint32_t used = smaller(head->used, capacity) / TRACE_RECORD_BYTES * TRACE_RECORD_BYTES;
	uint64_t number = (offset - TRACE_HEADER_BYTES) / chunks->header.chunk_bytes;
	if (head->magic == 0)
		return 0; /* not yet opened, or copied and not opened again: it holds nothing */
	if (!is_head(head) || head->number != number || head->stored) {
		count_torn_head(chunks, head);
		return 0;
	}
	uint32_t room = smaller(bytes - TRACE_HEAD_BYTES, capacity);
	room -= room % TRACE_RECORD_BYTES;
	chunks->torn_chunks += used > room;
	chunks->lost_records += used > room ? (used - room) / TRACE_RECORD_BYTES : 0;
	return add_place(chunks, head, offset + TRACE_HEAD_BYTES, smaller(used, room), room);
}

static int scan_raw(struct chunks *chunks, uint64_t file_bytes, struct err *err)
{
	uint64_t step = chunks->header.chunk_bytes;
	for (uint64_t at = TRACE_HEADER_BYTES; at + TRACE_HEAD_BYTES <= file_bytes; at += step) {
		struct trace_chunk head;
		ssize_t n = read_at(chunks->fd, &head, sizeof head, at);
		if (n < 0)
			return fail_reading(chunks, err);
		if (n < (ssize_t)sizeof head)
			break;
		if (add_raw(chunks, &head, at, file_bytes - at) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static bool is_closed_head(const struct chunks *chunks, const struct trace_chunk *head)
{
	return is_head(head) && head->stored > 0 && head->used > 0 &&
	       head->used % TRACE_RECORD_BYTES == 0 &&
	       head->used <= chunks->header.chunk_bytes - TRACE_HEAD_BYTES &&
	       head->stored <= pack_bound(chunks_rows_max(chunks));
}

/* The offset of the next head at or behind `at`, the file's end if there is none; or -EIO. */
static int64_t find_head(
	const struct chunks *chunks, uint64_t at, uint64_t file_bytes, struct trace_chunk *ret)
{
	enum { WINDOW = 65536, STEP = 8 };
	AUTO_FREE uint8_t *window = malloc(WINDOW);
	if (!window)
		return -ENOMEM;
	while (at + TRACE_HEAD_BYTES <= file_bytes) {
		ssize_t n = read_at(chunks->fd, window, WINDOW, at);
		if (n < 0)
			return n;
		if (n < TRACE_HEAD_BYTES)
			break;
		ssize_t i = 0;
		for (; i + TRACE_HEAD_BYTES <= n; i += STEP) {
			memcpy(ret, window + i, sizeof *ret);
			if (is_closed_head(chunks, ret))
				return (int64_t)at + i;
		}
		at += (uint64_t)i;
	}
	return (int64_t)file_bytes;
}

static int scan_closed(struct chunks *chunks, uint64_t file_bytes, struct err *err)
{
	uint64_t at = TRACE_HEADER_BYTES;
	while (at < file_bytes) {
		struct trace_chunk head = { 0 };
		ssize_t n = read_at(chunks->fd, &head, sizeof head, at);
		if (n < 0)
			return fail_reading(chunks, err);
		if (n < (ssize_t)sizeof head || !is_closed_head(chunks, &head)) {
			struct trace_chunk torn = head;
			int64_t found = find_head(chunks, at, file_bytes, &head);
			if (found < 0)
				return found == -ENOMEM ? err_set(err, -ENOMEM, "out of memory")
							: fail_reading(chunks, err);
			count_torn_head(chunks, &torn);
			at = (uint64_t)found;
			continue;
		}
		uint64_t end = at + TRACE_HEAD_BYTES + head.stored;
		if (end > file_bytes) {
			chunks->torn_chunks++;
			chunks->lost_records += head.used / TRACE_RECORD_BYTES;
			break;
		}
		if (add_place(chunks, &head, at + TRACE_HEAD_BYTES, head.used, 0) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		at = (end + 7) / 8 * 8;
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct chunk_place *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int open_file(struct chunks *chunks, struct err *err)
{
	struct stat info;
	if (fstat(chunks->fd, &info) < 0)
		return fail_reading(chunks, err);
	if (!S_ISREG(info.st_mode))
		return err_set(err, -ESPIPE, "'%s' is not a file: a trace cannot be read from a %s",
			chunks->name, S_ISDIR(info.st_mode) ? "folder" : "pipe");
	ssize_t n = read_at(chunks->fd, &chunks->header, sizeof chunks->header, 0);
	if (n < 0)
		return fail_reading(chunks, err);
	int code = check_header(chunks, (size_t)n, err);
	if (code < 0)
		return code;
	chunks->torn_chunks = chunks->header.torn_chunks;
	chunks->lost_records = chunks->header.lost_records;
	uint64_t bytes = (uint64_t)info.st_size;
	code = chunks->header.state == TRACE_CLOSED ? scan_closed(chunks, bytes, err)
						    : scan_raw(chunks, bytes, err);
	if (code == 0 && chunks->count)
		qsort(chunks->items, chunks->count, sizeof *chunks->items, compare_places);
	return code;
}

int chunks_open(struct chunks *chunks, int fd, const char *name, struct err *err)
{
	*chunks = (struct chunks){ .fd = fd, .name = name };
	int code = open_file(chunks, err);
	if (code < 0)
		chunks_release(chunks);
	return code;
}

void chunks_release(struct chunks *chunks)
{
	if (chunks->fd >= 0)
		(void)close(chunks->fd); /* read only */
	free(chunks->items);
	*chunks = (struct chunks){ .fd = -1 };
}

uint64_t chunks_rows_stored(const struct chunks *chunks)
{
	return (chunks->header.chunk_bytes - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES;
}

/* Closed files have one row for each event. */
static bool may_repeat(const struct chunks *chunks)
{
	return chunks->header.state != TRACE_CLOSED &&
	       chunks->header.chunk_bytes <= TRACE_AGAIN_CHUNK_BYTES;
}

size_t chunks_rows_max(const struct chunks *chunks)
{
	size_t stored = chunks_rows_stored(chunks);
	return may_repeat(chunks) ? stored * TRACE_AGAINS : stored;
}

/* Rows behind the last complete one: 0 unless a process was killed while it wrote one. */
static uint64_t count_torn(const struct chunks *chunks, const struct chunk_place *place)
{
	uint64_t torn = 0;
	for (uint32_t at = place->used; at < place->room; at += TRACE_RECORD_BYTES) {
		static const struct trace_record none;
		struct trace_record row;
		ssize_t n = read_at(chunks->fd, &row, sizeof row, place->offset + at);
		if (n < (ssize_t)sizeof row || memcmp(&row, &none, sizeof row) == 0)
			break;
		torn++;
	}
	return torn;
}

int chunks_read(const struct chunks *chunks, const struct chunk_place *place, struct packer *packer,
	void *scratch, struct trace_record *rows, uint64_t *ret_torn)
{
	size_t row_count = place->used / TRACE_RECORD_BYTES;
	size_t bytes = place->stored ? place->stored : place->used;
	bool is_direct = !place->stored && !may_repeat(chunks);
	ssize_t n = read_at(chunks->fd, is_direct ? rows : scratch, bytes, place->offset);
	if (n < 0)
		return (int)n;
	if ((size_t)n < bytes)
		return -EBADMSG;
	if (place->stored) {
		int code = unpack_rows(packer, scratch, bytes, place->first_ns, rows, row_count);
		return code < 0 ? code : (int)row_count;
	}
	*ret_torn += count_torn(chunks, place);
	return is_direct ? (int)row_count : (int)rows_expand(scratch, row_count, rows, ret_torn);
}
