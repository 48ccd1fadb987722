/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests from outside. A thread that waits for a connection, or for other input, before each request
 * that it begins takes them from a queue that a source fills:
 *
 *	io(accept) begin ...		get arrivals ...
 *
 * Either connections are requests, or what comes over them is (data that are read until data are written there): that, if
 * there were at least REQUESTS_MANY times as many. Who sends it waits for the answer before the next, so that the source is
 * as many clients as there were connections, each of which thinks between an answer and its next request;
 * and the wait for input of a thread that takes such requests is in the queue, whatever it does
 * between the two. Connections that all were open at once and over which nothing was seen are no requests:
 * each stayed for many. Of connections that are requests the source may be clients that wait for their answers, too (clients.h).
 */
#ifndef BUILDER_REQUESTS_H
#define BUILDER_REQUESTS_H

#include "builder/trace.h"

enum { REQUESTS_MANY = 2 };

struct build_requests {
	uint32_t
		arrivals; /* object of the trace: the queue; BUILD_NONE: nothing comes from outside */
	double *intervals_s; /* between arrivals */
	size_t interval_count;
	bool are_over; /* they came over connections; else they are connections, or marks */
	uint32_t clients; /* that wait for their answers; 0: none are known to */
	bool stay; /* each at one thread, whichever: others answered what came over others */
	double *thinking_s; /* from an answer to the next request of the same client */
	size_t thinking_count;
	uint64_t begun, ended;
	uint64_t first_ns, last_ns; /* when the first and the last one began */
	double response_s; /* mean of those ended; 0: none */
	double throughput_per_s;
};

void build_requests_release(struct build_requests *requests);

/* Changes steps. 0 or -ENOMEM. */
int build_requests_find(struct build_trace *trace, struct build_requests *ret);

#endif
