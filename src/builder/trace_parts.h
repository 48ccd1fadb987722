/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of reading a recording share. */
#ifndef BUILDER_TRACE_PARTS_H
#define BUILDER_TRACE_PARTS_H

#include "builder/trace.h"

/* What a thread is in the middle of. */
struct build_live {
	uint64_t last_ns, last_cpu_ns; /* end of the step before */
	struct build_step step; /* that it waits in */
	bool is_waiting;
	bool spins; /* while it waits: that takes CPU time, and is no work */
	bool is_told; /* somebody woke it from its wait at a futex, whose step says so */
	uint64_t wait_cpu_ns; /* at its WAIT */
	uint64_t woken_ns; /* the last time in its wait that the kernel told of, 0: none */
	uint64_t preempted_ns; /* when it lost its core, 0: it has one */
	uint64_t lost_ns; /* without a core since the step before */
	uint32_t region; /* innermost that it is in */
	uint32_t mutex; /* that its wait at a condition gave back */
	uint32_t held; /* mutexes */
	uint32_t woken; /* threads that had to wake up a core, by it since the step before */
};

/* The thread of an event; a number that is used again is another thread. 0 or -ENOMEM. */
int build_trace_thread(struct build_trace *trace, const struct event *event, uint32_t *ret);

/* What an event is about. 0 or -ENOMEM. */
int build_trace_object(struct build_trace *trace, const struct event *event, uint32_t *ret);

/* A semaphore that is made anew where one was is another one: what it was given at first counts again. 0 or -ENOMEM. */
int build_trace_add_init(struct build_trace *trace, const struct event *event);

/* What a program, a thread, a module or an object is called. 0 or -ENOMEM. */
int build_trace_add_name(struct build_trace *trace, const struct event *event);

#endif
