/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for files as requests to a disk. A recorded wait is the disk's service and the wait for the
 * requests before it; in other settings others are before it, so the two must be told apart.
 *
 * Of a device that serves P requests at once, first come first served, the one that ended as number i
 * began when it came or when number i - P ended, whichever was later:
 *
 *	service(i) = end(i) - max(begin(i), end(i - P))
 *
 * P is the number for which service depends least on how many were in the device at begin(i): too
 * small a P makes services of a busy device too short, too large a P too long. A device that
 * was always as busy cannot tell; then P is 1, and a guess.
 */
#ifndef MODEL_BUILD_DISK_H
#define MODEL_BUILD_DISK_H

#include "model/build_trace.h"

struct build_disk {
	uint32_t object; /* of the trace; BUILD_NONE: no file was waited for */
	uint32_t parallel;
	bool is_guessed;
	double *service_s; /* of each request */
	size_t count;
	double busy_s; /* some request was under way */
};

void build_disk_release(struct build_disk *disk);

/*
 * Makes each wait for a file (STEP_IO, count EVENT_IO_FILE) a STEP_DISK of that object whose `waited_ns`
 * is the service. A step's `section` is the CPU time within the wait. 0 or -ENOMEM.
 */
int build_disk_find(struct build_trace *trace, struct build_disk *ret);

#endif
