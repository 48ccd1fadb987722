/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests from outside. A thread that waits for a connection, or for other input, before each request
 * that it begins takes them from a queue that a source fills:
 *
 *	io(accept) begin ...		get arrivals ...
 *
 * Connections that all were open at once are no requests: each stayed for many, which are not seen.
 */
#ifndef MODEL_BUILD_REQUESTS_H
#define MODEL_BUILD_REQUESTS_H

#include "model/build_trace.h"

struct build_requests {
	uint32_t
		arrivals; /* object of the trace: the queue; BUILD_NONE: nothing comes from outside */
	double *intervals_s; /* between arrivals */
	size_t interval_count;
	uint64_t begun, ended;
	double response_s; /* mean of those ended; 0: none */
	double throughput_per_s;
};

void build_requests_release(struct build_requests *requests);

/* Changes steps. 0 or -ENOMEM. */
int build_requests_find(struct build_trace *trace, struct build_requests *ret);

#endif
