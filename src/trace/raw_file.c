/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/raw_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int map_header(struct raw_file *file, const char *name, struct err *err)
{
	void *map =
		mmap(NULL, sizeof *file->header, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	if (map == MAP_FAILED)
		return err_set(
			err, -errno, "cannot map '%s' into memory: %s", name, strerror(errno));
	file->header = map;
	return 0;
}

int raw_file_open(struct raw_file *file, int fd, const char *name,
	const struct trace_create_opts *opts, struct err *err)
{
	struct trace_header header;
	*file = (struct raw_file){ .fd = fd };
	trace_header_init(&header, opts);
	int code = trace_header_write(fd, name, &header, err);
	return code < 0 ? code : map_header(file, name, err);
}

static bool is_recording(const struct raw_file *file)
{
	struct trace_header header;
	return pread(file->fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
	       header.magic == TRACE_MAGIC && header.version == TRACE_VERSION &&
	       header.record_bytes == TRACE_RECORD_BYTES &&
	       header.chunk_bytes == TRACE_CHUNK_BYTES && header.state == TRACE_RECORDING;
}

int raw_file_join(struct raw_file *file, const char *path, struct err *err)
{
	*file = (struct raw_file){ .fd = open(path, O_RDWR | O_CLOEXEC) };
	if (file->fd < 0)
		return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	if (!is_recording(file))
		return err_set(err, -EINVAL, "'%s' is no trace that is being recorded", path);
	return map_header(file, path, err);
}

static uint64_t offset_of(uint32_t number)
{
	return TRACE_HEADER_BYTES + (uint64_t)number * TRACE_CHUNK_BYTES;
}

/* How far behind the start of its pages a chunk begins: not 0 where pages are large. */
static size_t page_rest(uint64_t offset)
{
	return (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
}

static struct trace_chunk *map_chunk(const struct raw_file *file, uint32_t number)
{
	uint64_t offset = offset_of(number);
	size_t rest = page_rest(offset);
	if (posix_fallocate(file->fd, (off_t)offset, TRACE_CHUNK_BYTES) != 0)
		return NULL;
	void *map = mmap(NULL, TRACE_CHUNK_BYTES + rest, PROT_READ | PROT_WRITE, MAP_SHARED,
		file->fd, (off_t)(offset - rest));
	return map == MAP_FAILED ? NULL : (struct trace_chunk *)(void *)((uint8_t *)map + rest);
}

static bool end_recording(struct raw_file *file)
{
	__atomic_store_n(&file->header->is_full, 1, __ATOMIC_RELAXED);
	return false;
}

/* A place in the file; false if the limit is reached. */
static bool take_number(struct raw_file *file, uint32_t *ret)
{
	struct trace_header *header = file->header;
	if (__atomic_load_n(&header->is_full, __ATOMIC_RELAXED))
		return false;
	*ret = __atomic_fetch_add(&header->chunks_taken, 1, __ATOMIC_RELAXED);
	return *ret < header->chunks_max || end_recording(file);
}

struct trace_chunk *raw_file_chunk(struct raw_file *file, uint32_t *ret_number)
{
	if (!take_number(file, ret_number))
		return NULL;
	struct trace_chunk *chunk = map_chunk(file, *ret_number);
	if (!chunk)
		(void)end_recording(file); /* false, as is known */
	return chunk;
}

static bool write_all(int fd, const void *from, size_t bytes, uint64_t offset)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n =
			pwrite(fd, (const char *)from + done, bytes - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The head last: a copy that a kill cuts short does not count. */
bool raw_file_copy(struct raw_file *file, const struct trace_chunk *chunk)
{
	struct trace_chunk head = *chunk;
	if (!take_number(file, &head.number))
		return false;
	uint64_t offset = offset_of(head.number);
	head.check = trace_chunk_check(&head);
	return (write_all(file->fd, chunk + 1, chunk->used, offset + TRACE_HEAD_BYTES) &&
		       write_all(file->fd, &head, sizeof head, offset)) ||
	       end_recording(file);
}

void raw_file_leave(struct trace_chunk *chunk)
{
	if (!chunk)
		return;
	size_t rest = page_rest(offset_of(chunk->number));
	(void)munmap((uint8_t *)chunk - rest, TRACE_CHUNK_BYTES + rest); /* ours */
}

void raw_file_release(struct raw_file *file)
{
	if (file->header)
		(void)munmap(file->header, sizeof *file->header); /* ours */
	if (file->fd >= 0)
		(void)close(file->fd); /* what is in the maps is in the file */
	*file = (struct raw_file){ .fd = -1 };
}
