/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two recorders of one run, as one timeline. The library in the program knows what its threads wait for,
 * by object and call; the kernel knows when they stood still, were woken and had a core. Events come
 * merged by time; each is passed on, changed, or left out:
 *
 *	library in a wait     kernel says               passed on
 *	-----------------     -----------               ---------
 *	yes                   WAIT                      nothing: it is the same wait; after a wake-up
 *	                                                WAIT for the library's object again
 *	yes                   WOKEN                     WOKEN of the library's wait, once
 *	no                    WAIT ... WOKEN, PASS      as it is: a wait that the library does not know
 *	either                PASS of a wait not told   RUN: it has a core
 *	either                RUN, PREEMPT              as it is
 *
 * A wait of the kernel's in which the library reports one of its own becomes that one: clocks
 * differ by microseconds. A thread starts with the first of two STARTs, or with the one that knows its
 * routine, and ends with the first of two EXITs.
 */
#ifndef TRACE_JOINT_H
#define TRACE_JOINT_H

#include "base/map.h"
#include "trace/event.h"

#include <stddef.h>

struct joint_thread {
	struct event wait; /* the library's; kind EVENT_NONE: it is in none */
	bool is_woken; /* from that wait */
	bool is_told; /* a wait of the kernel's own was passed on, and its end was not */
	bool is_gone;
};

/* { 0 } knows no thread. Memory grows with the thread numbers that were used. */
struct joint {
	struct map index; /* (process, thread) to place */
	struct joint_thread *threads;
	size_t count, capacity;
	uint64_t thread_count; /* that were told of */
};

void joint_release(struct joint *joint);

/* 1: *event, which may have been changed, is to be passed on; 0: it is not; -ENOMEM. */
int joint_take(struct joint *joint, struct event *event, bool is_of_kernel);

#endif
