/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of a recording: which thread started each, and for the end of which a thread waited. Recorders tell the former
 * (THREAD_START's value), not the latter; ends do.
 *
 *	children_add()		a thread is seen for the first time
 *	children_starter()	its THREAD_START: a thread of another process may have started its process
 *	children_end()		it ended
 *	children_join()		a wait for a process is over: who was waited for
 *
 * Threads go by the reader's numbers of them.
 */
#ifndef TRACE_CHILD_H
#define TRACE_CHILD_H

#include "base/map.h"
#include "trace/event.h"

enum { CHILD_NONE = UINT32_MAX };

struct child_process {
	uint32_t pid;
	uint32_t starter_pid; /* 0: unknown */
	uint32_t alive; /* threads */
	/* That it began with, and that ended last, each if its end was its own; CHILD_NONE. */
	uint32_t first, last;
	uint64_t first_ended_ns, last_ended_ns;
	bool is_joined;
};

/* { 0 } knows none. */
struct children {
	struct map by_pid; /* the process that had it last */
	struct map by_tid; /* process and thread, of those that have not ended */
	struct child_process *processes;
	size_t count, capacity;
};

/* A wait that is over. */
struct child_wait {
	uint32_t pid, waker; /* waker: tid; 0: unknown */
	uint64_t io; /* enum event_io */
	uint64_t began_ns, until_ns;
};

/* 0 or -ENOMEM. */
int children_add(struct children *children, uint32_t thread, uint32_t pid, uint32_t tid);

/* The thread that has this number now, of whichever process; CHILD_NONE. */
uint32_t children_thread(const struct children *children, uint64_t tid);

/* Who started the thread's process, if it is the first of it; CHILD_NONE: unknown. */
uint32_t children_starter(struct children *children, const struct event *start);

/* `is_own`: no other thread ended it with the process. */
void children_end(
	struct children *children, uint32_t thread, const struct event *exit, bool is_own);

/*
 * The thread for whose end a wait for a process was, or for a signal (servers and make wait so for both), or for
 * files of any kind, where nobody else ended it (the kernel does not tell that it was a signal). Of the processes
 * that the waiting one started it is that which ended last within the wait; of a wait for processes else the first of those that had ended
 * before. Where it had to end in the wait's last quarter (the kernel takes what the process had apart first): of a wait for files, and of a
 * process of which nobody tells who started it. Each is found once. CHILD_NONE: none.
 */
uint32_t children_join(struct children *children, const struct child_wait *wait);

void children_release(struct children *children);

#endif
