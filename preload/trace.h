/* SPDX-License-Identifier: MIT */
/*
 * Everything that threads do to one another, as records of a trace file (trace_record.h): for
 * `corecast record`. sink.h calls most of it; the rest is for interposers of threads and marks.
 */
#ifndef PRELOAD_TRACE_H
#define PRELOAD_TRACE_H

#include "sink.h"
#include "trace_record.h"

#include <sys/types.h>

/* Maps the file; true if it can be written to. */
bool trace_attach(const char *path);

/* What the recorder wants to know of waits. */
void trace_waits_attach(const struct trace_header *header);

/* The process ends: the threads that are left, too. */
void trace_detach(void);

void trace_wait_begin(
	struct wait *wait, uint32_t kind, const void *object, uint32_t flags, const void *caller);
void trace_wait_begin_cond(
	struct wait *wait, const void *cond, const void *mutex, const void *caller);
void trace_wait_end(struct wait *wait);
void trace_wait_discard(struct wait *wait);

/* The value of the WAIT that was begun, if nothing has been recorded since. */
void trace_wait_tell(const struct wait *wait, uint64_t value);

/* What a file of this mode is. */
enum trace_io trace_io_of(mode_t mode);

void trace_task_begin(struct task *task);
void trace_task_end(struct task *task);
void trace_try_failed(uint32_t kind, const void *object, const void *caller);

/* Before and after sched_yield(): called in a loop, that is a loop of tries at the place that calls it. */
void trace_yields(const void *caller);
void trace_yielded(void);
/* Whether the thread may be in a wait that is known only afterwards (trace_wait_past()): its loops are part of that. */
void trace_hide_yields(bool hides);

/* Who did something, and when: created a thread, or let one go. */
struct birth {
	uint64_t time_ns;
	uint32_t parent;
};

struct birth trace_birth(void);

/* The first of a thread that was created by our pthread_create(). */
void trace_thread_start(struct birth birth, const void *routine, const void *caller);

/* The last of the calling thread. */
void trace_thread_end(void);

/* The thread's number as far as it is known; 0 if not. */
uint32_t trace_tid_of(const void *thread);
uint32_t trace_own_tid(void);

/* A moment: marks, and what is recorded as seen. */
void trace_mark(enum trace_kind kind, enum trace_what what, uint64_t object, uint64_t value,
	const void *caller);
/* At a time of trace_asks(), after which the thread recorded nothing. */
void trace_mark_past(uint64_t time_ns, enum trace_kind kind, enum trace_what what, uint64_t object,
	uint64_t value, const void *caller);
/* Of a connection, or (TRACE_IMPLICIT) of what came over one. */
void trace_request(
	enum trace_kind kind, int fd, uint32_t number, uint32_t flags, const void *caller);
void trace_name(enum trace_what what, uint64_t object, uint64_t value, const char *text);

/* By which calls this thread comes to wait, if the object was never waited for. */
void trace_first_wait(uint32_t kind, const void *object, const void *caller);

/* Which files the process has loaded since this was recorded last. */
void trace_modules(void);

/* An object was initialised. */
void trace_init(uint32_t kind, const void *object, uint64_t value, const void *caller);

/*
 * Tells the calls that this thread is in, from the caller's on: objects on its stack are called after
 * these functions' variables.
 */
void trace_frames(const void *caller);

/*
 * A wait that begins where one function ends and ends where another begins. trace_park() yields
 * when and by whom; who let the thread go says so to trace_unpark(), which does nothing when the
 * thread is not parked.
 */
struct birth trace_park(uint32_t kind, const void *object, uint64_t value, const void *caller);
void trace_unpark(struct birth by);

/* As an object that threads wait for: any signal, as which one it was is known only afterwards. */
extern HIDDEN const char trace_signals[1];

/* Now; before a wait that is known only afterwards: how much CPU time the thread took until then is noted. */
uint64_t trace_asks(void);
/* A wait known only afterwards, when nothing else was recorded in between. */
void trace_wait_past(uint32_t kind, const void *object, uint32_t flags, uint64_t start_ns,
	uint64_t end_ns, const void *caller);

#endif
