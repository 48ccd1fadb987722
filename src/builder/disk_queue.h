/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A device that is always busy: how long one request takes it, and how long its thread waits beside that.
 *
 * Who comes to P servers, all of them taken, is served when enough of those that it found there have left, w later, if the
 * first to come is the first to be served. What it waits for on its way, L (to the device and back: interrupts, waking up), hides in w as
 * far as it can. It takes
 *
 *	T = S + max(w, L)
 *
 * so those that find a server free soon, w < L, tell S + L, and the others S. L is what makes services differ least.
 */
#ifndef BUILDER_DISK_QUEUE_H
#define BUILDER_DISK_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct build_served {
	uint64_t begin_ns, end_ns;
	double service_s; /* result */
};

/*
 * Services of requests, sorted by begin, at so many servers; ret_latency_s: L, of which few requests
 * may tell: then it is nearer to what is likely of disks.
 * 0; -EDOM: they were not served in the order in which they came; -ENOMEM.
 */
int build_disk_unqueue(
	struct build_served *items, size_t count, uint32_t parallel, double *ret_latency_s);

#endif
