/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/raw_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A megabyte at a time: few system calls, little space wasted. */
enum { RAW_WINDOW_CHUNKS = 16 };

int raw_file_open(struct raw_file *file, int fd, const char *name,
	const struct trace_create_opts *opts, struct err *err)
{
	struct trace_header header;
	*file = (struct raw_file){ .fd = fd };
	trace_header_init(&header, opts);
	int code = trace_header_write(fd, name, &header, err);
	if (code < 0)
		return code;
	void *map = mmap(NULL, sizeof header, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return err_set(
			err, -errno, "cannot map '%s' into memory: %s", name, strerror(errno));
	file->header = map;
	return 0;
}

static uint64_t offset_of(uint32_t number)
{
	return TRACE_HEADER_BYTES + (uint64_t)number * TRACE_CHUNK_BYTES;
}

/* Maps the window that begins with chunk `number`, its space allocated. */
static int map_window(struct raw_file *file, uint32_t number)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = offset_of(number), end = offset_of(number + RAW_WINDOW_CHUNKS);
	uint64_t aligned = start / page * page;
	if (mem_grow(&file->windows, &file->window_capacity, file->window_count + 1,
		    sizeof *file->windows) < 0)
		return -ENOMEM;
	int code = posix_fallocate(file->fd, (off_t)start, (off_t)(end - start));
	if (code != 0)
		return -code;
	size_t bytes = (size_t)(end - aligned);
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, (off_t)aligned);
	if (map == MAP_FAILED)
		return -errno;
	file->windows[file->window_count++] = (struct raw_window){
		.map = map, .map_bytes = bytes, .chunks = (uint8_t *)map + (start - aligned)
	};
	return 0;
}

struct trace_chunk *raw_file_chunk(struct raw_file *file, uint32_t *ret_number)
{
	struct trace_header *header = file->header;
	uint32_t number = header->chunks_taken;
	bool is_new_window = number / RAW_WINDOW_CHUNKS == file->window_count;
	if (header->is_full || number >= header->chunks_max ||
		(is_new_window && map_window(file, number) < 0)) {
		header->is_full = 1;
		return NULL;
	}
	header->chunks_taken = number + 1;
	*ret_number = number;
	uint8_t *chunks = file->windows[number / RAW_WINDOW_CHUNKS].chunks;
	return (struct trace_chunk *)(void *)(chunks + (size_t)(number % RAW_WINDOW_CHUNKS) *
							       TRACE_CHUNK_BYTES);
}

void raw_file_release(struct raw_file *file)
{
	if (file->header) {
		/* Best effort: zeroes at the end of the file mean nothing. */
		(void)!ftruncate(file->fd, (off_t)offset_of(file->header->chunks_taken));
		(void)munmap(file->header, sizeof *file->header);
	}
	for (size_t i = 0; i < file->window_count; i++)
		(void)munmap(file->windows[i].map, file->windows[i].map_bytes);
	free(file->windows);
	if (file->fd >= 0)
		(void)close(file->fd); /* what is in the maps is in the file */
	*file = (struct raw_file){ .fd = -1 };
}
