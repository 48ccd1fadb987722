/* SPDX-License-Identifier: MIT */
#include "lane.h"

#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FREE_LANES = 256,
	/* Out of the way of programs that number their descriptors themselves, or say what the next one is. */
	DESCRIPTOR_MIN = 512,
};

enum free_state {
	FREE_EMPTY,
	FREE_BUSY,
	FREE_FULL,
};

struct free_lane {
	uint32_t state; /* enum free_state */
	struct lane lane;
};

static struct {
	struct trace_header *header; /* NULL: not attached */
	char path[PATH_MAX];
	int fd; /* -1: none; programs may close it behind our back */
	dev_t device;
	ino_t inode;
	struct free_lane free[FREE_LANES];
} trace_file = { .fd = -1 };

static bool is_trace_file(int fd, struct stat *ret)
{
	return fd >= 0 && fstat(fd, ret) == 0 && ret->st_dev == trace_file.device &&
	       ret->st_ino == trace_file.inode;
}

/* The descriptor of before; or a new one, which the caller closes, when the program closed it. */
static int open_file(bool *ret_is_new)
{
	struct stat info;
	*ret_is_new = false;
	if (is_trace_file(trace_file.fd, &info))
		return trace_file.fd;
	int fd = own_open(trace_file.path, O_RDWR);
	if (fd < 0 || is_trace_file(fd, &info)) {
		*ret_is_new = true;
		return fd;
	}
	own_close(fd);
	return -1;
}

static off_t chunk_offset(uint32_t number)
{
	return TRACE_HEADER_BYTES + (off_t)number * TRACE_CHUNK_BYTES;
}

static bool is_right(const struct trace_header *header)
{
	return header->magic == TRACE_MAGIC && header->version == TRACE_VERSION &&
	       header->header_bytes == TRACE_HEADER_BYTES &&
	       header->record_bytes == TRACE_RECORD_BYTES &&
	       header->chunk_bytes == TRACE_CHUNK_BYTES && header->state == TRACE_RECORDING;
}

/* Where the limit leaves no room above the least, in the middle of what it leaves. */
static int move_up(int fd)
{
	struct rlimit limit;
	int least = DESCRIPTOR_MIN;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= DESCRIPTOR_MIN)
		least = (int)limit.rlim_cur / 2;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, least);
	if (high < 0)
		return fd;
	own_close(fd);
	return high;
}

bool lanes_attach(const char *path)
{
	struct stat info;
	int fd = own_open(path, O_RDWR);
	if (fd < 0)
		return false;
	fd = move_up(fd);
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size >= TRACE_HEADER_BYTES)
		map = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || !is_right(map) || strlen(path) >= sizeof(trace_file.path)) {
		if (map != MAP_FAILED)
			(void)munmap(map, TRACE_HEADER_BYTES); /* at worst a page is lost */
		own_close(fd);
		return false;
	}
	strcpy(trace_file.path, path);
	trace_file.fd = fd;
	trace_file.device = info.st_dev;
	trace_file.inode = info.st_ino;
	trace_file.header = map;
	__atomic_add_fetch(&trace_file.header->processes, 1, __ATOMIC_RELAXED);
	return true;
}

struct trace_header *lanes_header(void)
{
	return trace_file.header;
}

void lanes_forked(void)
{
	for (int i = 0; i < FREE_LANES; i++)
		trace_file.free[i].state = FREE_EMPTY;
	__atomic_add_fetch(&trace_file.header->processes, 1, __ATOMIC_RELAXED);
}

void lanes_count_lost(uint64_t events)
{
	__atomic_add_fetch(&trace_file.header->events_lost, events, __ATOMIC_RELAXED);
}

static void end_if_full(int error)
{
	if (error == ENOSPC || error == EDQUOT)
		__atomic_store_n(&trace_file.header->is_full, 1, __ATOMIC_RELAXED);
}

/* A place in the file; false if the limit is reached. Writing beyond another raises SIGXFSZ. */
static bool take_number(uint32_t *ret)
{
	struct trace_header *header = trace_file.header;
	if (__atomic_load_n(&header->is_full, __ATOMIC_RELAXED))
		return false;
	uint32_t number = __atomic_fetch_add(&header->chunks_taken, 1, __ATOMIC_RELAXED);
	if (number >= header->chunks_max) {
		__atomic_store_n(&header->is_full, 1, __ATOMIC_RELAXED);
		return false;
	}
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		(rlim_t)chunk_offset(number + 1) > limit.rlim_cur)
		return false;
	*ret = number;
	return true;
}

/* Has its space on the disk, so that stores into it cannot fail. */
static struct trace_chunk *map_desk(uint32_t number)
{
	bool is_new = false;
	int fd = open_file(&is_new);
	if (fd < 0)
		return NULL;
	int error;
	do
		error = posix_fallocate(fd, chunk_offset(number), TRACE_CHUNK_BYTES);
	while (error == EINTR);
	end_if_full(error);
	void *map = MAP_FAILED;
	if (error == 0)
		map = mmap(NULL, TRACE_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			chunk_offset(number));
	if (is_new)
		own_close(fd);
	if (map == MAP_FAILED)
		return NULL;
	/* Else the kernel makes 32 pages around the first that is written, which takes 80 us. */
	(void)madvise(map, TRACE_CHUNK_BYTES, MADV_RANDOM); /* it only takes longer without */
	return map;
}

static bool write_all(int fd, const void *from, size_t bytes, off_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		long n = syscall(SYS_pwrite64, fd, (const char *)from + done, bytes - done,
			offset + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			end_if_full(n < 0 ? errno : ENOSPC);
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

/* The head last: a copy that a kill cuts short does not count. */
static bool copy_desk(const struct lane *lane)
{
	uint32_t number;
	bool is_new = false;
	if (!take_number(&number))
		return false;
	int fd = open_file(&is_new);
	if (fd < 0)
		return false;
	struct trace_chunk head = *lane->chunk;
	head.number = number;
	head.check = trace_chunk_check(&head);
	bool is_written = write_all(fd, lane->chunk + 1, lane->used,
				  chunk_offset(number) + TRACE_HEAD_BYTES) &&
			  write_all(fd, &head, sizeof(head), chunk_offset(number));
	if (is_new)
		own_close(fd);
	return is_written;
}

static void open_desk(struct lane *lane, uint64_t first_ns, uint32_t tid)
{
	struct trace_chunk *chunk = lane->chunk;
	struct trace_chunk head = {
		.magic = TRACE_CHUNK_MAGIC,
		.number = lane->desk,
		.lane = lane->number,
		.seq = lane->seq,
		.pid = (uint32_t)getpid(),
		.tid = tid,
		.first_ns = first_ns,
	};
	head.check = trace_chunk_check(&head);
	head.magic = 0;
	*chunk = head;
	__atomic_store_n(&chunk->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
	lane->used = 0;
}

bool lane_grow(struct lane *lane, uint32_t tid)
{
	if (!lane->chunk) {
		lane->chunk = take_number(&lane->desk) ? map_desk(lane->desk) : NULL;
		if (!lane->chunk)
			return false;
	} else {
		if (!copy_desk(lane))
			return false;
		__atomic_store_n(&lane->chunk->magic, 0, __ATOMIC_RELEASE);
		memset(lane->chunk + 1, 0, lane->used);
		lane->seq++;
	}
	open_desk(lane, lane->last_ns, tid);
	return true;
}

bool lane_take(struct lane *lane, uint64_t since_ns, uint32_t tid)
{
	for (int i = 0; i < FREE_LANES; i++) {
		struct free_lane *found = &trace_file.free[i];
		uint32_t expected = FREE_FULL;
		if (!__atomic_compare_exchange_n(&found->state, &expected, FREE_BUSY, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		bool is_earlier = found->lane.last_ns <= since_ns;
		if (is_earlier)
			*lane = found->lane;
		__atomic_store_n(
			&found->state, is_earlier ? FREE_EMPTY : FREE_FULL, __ATOMIC_RELEASE);
		if (is_earlier)
			return true;
	}
	*lane = (struct lane){ .last_ns = since_ns };
	lane->number = __atomic_fetch_add(&trace_file.header->lanes_taken, 1, __ATOMIC_RELAXED);
	return lane_grow(lane, tid);
}

void lane_give(struct lane *lane)
{
	for (int i = 0; lane->chunk && i < FREE_LANES; i++) {
		struct free_lane *place = &trace_file.free[i];
		uint32_t expected = FREE_EMPTY;
		if (!__atomic_compare_exchange_n(&place->state, &expected, FREE_BUSY, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		place->lane = *lane;
		__atomic_store_n(&place->state, FREE_FULL, __ATOMIC_RELEASE);
		lane->chunk = NULL;
	}
	if (lane->chunk)
		(void)munmap(lane->chunk, TRACE_CHUNK_BYTES); /* found no place */
	*lane = (struct lane){ 0 };
}
