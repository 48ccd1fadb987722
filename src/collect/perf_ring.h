/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's notes on an event of perf_event_open(): one ring of records for each processor, because
 * it lets new threads inherit an event only when there is one event, with one ring, per processor.
 */
#ifndef COLLECT_PERF_RING_H
#define COLLECT_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PERF_RECORD_BYTES_MAX = UINT16_MAX + 1, /* the size of a record is a 16-bit number */
	EVERYBODY = -1, /* in place of a process: whoever runs, for those with privilege */
};

struct perf_ring {
	int fd, cpu;
	struct perf_event_mmap_page *page;
	uint64_t seen; /* read position */
	uint64_t context_seen; /* another one, for who reads twice */
};

/* { 0 } has none. */
struct perf_rings {
	struct perf_ring *items;
	size_t count;
	size_t page_bytes, data_bytes;
	int *guests; /* events of other threads that write to the same rings */
	size_t guest_count, guest_capacity;
};

/* An event of one process's first thread, or of EVERYBODY, in rings of so many pages, a power of two. 0 or -errno. */
int perf_rings_open(
	struct perf_rings *rings, const struct perf_event_attr *attr, pid_t pid, unsigned pages);

/* The same event of one more thread. 0; -ESRCH: it has gone; -errno. */
int perf_rings_add(struct perf_rings *rings, const struct perf_event_attr *attr, pid_t tid);

void perf_rings_release(struct perf_rings *rings);

/* Up to where the kernel has written. */
uint64_t perf_ring_head(const struct perf_ring *ring);

/* The record at a position, which may wrap around, and at most `bytes` of it; its size. */
uint64_t perf_rings_copy(const struct perf_rings *rings, const struct perf_ring *ring, uint64_t at,
	struct perf_event_header *ret, size_t bytes);

/* What lies before this position may be overwritten. */
void perf_ring_free_up_to(struct perf_ring *ring, uint64_t at);

#endif
