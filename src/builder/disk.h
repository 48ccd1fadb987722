/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to a disk. Where the kernel told of them (trace->requests) they are known: how many a step waited
 * for, of which class, and when the device had each (disk_steps.c). Else each wait for a file is one.
 *
 * Either way what was seen is the device's service, made longer by the
 * requests beside it, and a latency that it shares with nobody (interrupts, waking up). In other
 * settings others are beside it, so the three must be told apart. The company n of a request is
 * the mean number in the device while it was there. A device that serves P requests at once, each
 * for S when there are no more, takes
 *
 *	L + S		for n <= P
 *	S n / P		for n > P, where latencies hide behind the service of others
 *
 * Requests in much company give S / P, those alone L + S. P is the ratio of the two, rounded down, and L
 * what is left, so that the rate of a busy device and the time of a lone request are both as seen (a
 * latency of S / P or more looks like another server). A device that was never seen with one
 * request, or that company never slowed, cannot tell: then P is as many as were seen to be served side by side, since they
 * overtook each other, and L, if there was a queue, follows from who found a server free soon (disk_queue.h); else it is 0.
 *
 * With P = 1 services sum up to the time in which the device was busy, and the order of ends tells the order
 * in which it serves its queue.
 */
#ifndef BUILDER_DISK_H
#define BUILDER_DISK_H

#include "builder/trace.h"
#include "sim/sim.h"

struct build_disk {
	uint32_t object; /* of the trace; BUILD_NONE: no file was waited for */
	uint32_t parallel;
	bool is_guessed; /* how many it serves at once: it may be more */
	enum sim_disk_order order;
	struct build_services {
		double *items_s; /* of each request */
		size_t count, capacity;
	} services[REQUEST_CLASSES];
	double busy_s; /* some request was under way */
	size_t busy_periods; /* as often, after none was */
	double latency_s;
};

void build_disk_release(struct build_disk *disk);

/*
 * Makes waits for files (STEP_IO, count EVENT_IO_FILE), or those in which the kernel saw requests, STEP_DISKs of that object.
 * A step's `section` is the CPU time within the wait. 0 or -ENOMEM.
 */
int build_disk_find(struct build_trace *trace, struct build_disk *ret);

/*
 * The part of it for trace->requests: each step of a thread that queued some becomes STEP_DISKs of `disk`, one for each run of
 * requests of a class; those that nobody waited for are in the background. 0 or -ENOMEM.
 */
int build_disk_place(struct build_trace *trace, uint32_t disk);

/* "read", as models call the class. */
const char *build_disk_class_name(enum request_class class);

#endif
