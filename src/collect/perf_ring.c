/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/perf_ring.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* 0 also for a processor that is offline: nothing runs there. */
static int open_ring(
	struct perf_rings *rings, const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_ring *ring = &rings->items[rings->count];
	int fd = open_event(attr, pid, cpu);
	if (fd < 0)
		return fd == -ENODEV && cpu > 0 ? 0 : fd;
	*ring = (struct perf_ring){ .fd = fd, .cpu = cpu };
	rings->count++;
	void *page = mmap(NULL, rings->page_bytes + rings->data_bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	return 0;
}

int perf_rings_open(
	struct perf_rings *rings, const struct perf_event_attr *attr, pid_t pid, unsigned pages)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	*rings = (struct perf_rings){ .page_bytes = (size_t)sysconf(_SC_PAGESIZE) };
	rings->data_bytes = pages * rings->page_bytes;
	rings->items = calloc((size_t)processors, sizeof(rings->items[0]));
	int code = rings->items ? 0 : -ENOMEM;
	for (int cpu = 0; cpu < processors && code == 0; cpu++)
		code = open_ring(rings, attr, pid, cpu);
	if (code < 0)
		perf_rings_release(rings);
	return code;
}

int perf_rings_add(struct perf_rings *rings, const struct perf_event_attr *attr, pid_t tid)
{
	for (size_t i = 0; i < rings->count; i++) {
		if (mem_grow(&rings->guests, &rings->guest_capacity, rings->guest_count + 1,
			    sizeof(rings->guests[0])) < 0)
			return -ENOMEM;
		int fd = open_event(attr, tid, rings->items[i].cpu);
		if (fd < 0)
			return fd;
		rings->guests[rings->guest_count++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->items[i].fd) < 0)
			return -errno;
	}
	return 0;
}

void perf_rings_release(struct perf_rings *rings)
{
	for (size_t i = 0; i < rings->guest_count; i++)
		cleanup_fd(&rings->guests[i]);
	for (size_t i = 0; i < rings->count; i++) {
		struct perf_ring *ring = &rings->items[i];
		if (ring->page) /* ours */
			(void)munmap(ring->page, rings->page_bytes + rings->data_bytes);
		cleanup_fd(&ring->fd);
	}
	free(rings->guests);
	free(rings->items);
	*rings = (struct perf_rings){ 0 };
}

uint64_t perf_ring_head(const struct perf_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void copy_bytes(const struct perf_rings *rings, const struct perf_ring *ring, uint64_t at,
	void *ret, size_t bytes)
{
	const char *data = (const char *)ring->page + rings->page_bytes;
	size_t from = (size_t)(at % rings->data_bytes);
	size_t first = rings->data_bytes - from < bytes ? rings->data_bytes - from : bytes;
	memcpy(ret, data + from, first);
	memcpy((char *)ret + first, data, bytes - first);
}

uint64_t perf_rings_copy(const struct perf_rings *rings, const struct perf_ring *ring, uint64_t at,
	struct perf_event_header *ret, size_t bytes)
{
	copy_bytes(rings, ring, at, ret, sizeof(*ret));
	size_t size = ret->size;
	if (size > sizeof(*ret))
		copy_bytes(rings, ring, at, ret, size < bytes ? size : bytes);
	return size;
}

void perf_ring_free_up_to(struct perf_ring *ring, uint64_t at)
{
	__atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
}
