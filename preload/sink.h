/* SPDX-License-Identifier: MIT */
/*
 * Where interposers hand over what happened. An interposer is thin:
 *
 *	int result = real()->pthread_mutex_trylock(mutex);
 *	if (result != EBUSY)
 *		return acquired(SYNC_LOCK, mutex, result, CALLER);
 *	WAIT(SYNC_LOCK, mutex);
 *	return waited(&wait_, real()->pthread_mutex_lock(mutex));
 *
 * WAIT opens a wait that ends with its scope, however that is left: by return, by cancellation or
 * by an exception (this library is built with -fexceptions). errno is kept.
 *
 * What becomes of it is decided once, when the library is loaded: waits are added up by call site
 * (aggregate.c), or everything is written to a trace file (trace.c), or who waits now is told (live.c), or
 * nothing happens.
 */
#ifndef PRELOAD_SINK_H
#define PRELOAD_SINK_H

#include "callers.h"
#include "clock.h"
#include "profiled.h"
#include "record.h"
#include "wakes.h"

#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
/* Where the program called the exported function that says this. */
#define CALLER callers_of(__builtin_return_address(0), __builtin_dwarf_cfa())

/* Kinds of waits beside those of record.h. */
enum {
	SINK_OMP_LOCK = SYNC_KINDS, /* added up as SYNC_OMP */
	SINK_SLEEP, /* this one and the next: only traced, and told live */
	SINK_IO,
	SINK_POLL, /* for any of several descriptors */
	SINK_FUTEX,
	SINK_KINDS,
};

enum sink_mode {
	SINK_OFF,
	SINK_AGGREGATES,
	SINK_TRACES,
	SINK_LIVE,
};

extern HIDDEN enum sink_mode sink_mode;

static inline bool is_tracing(void)
{
	return __builtin_expect(sink_mode == SINK_TRACES, 0);
}

/* Nothing more is recorded of this process. Keeps errno. */
HIDDEN void sink_end(void);

struct trace_record;

/* Lives in the interposer's frame; its address also tells how deep the stack is. */
struct wait {
	uint64_t start_ns; /* 0: it is part of another wait */
	uint64_t shortest_ns; /* what takes less is not a wait; 0 unless set after wait_begin() */
	uint64_t task_ns; /* spent in tasks that the thread ran while it waited */
	uint64_t woken_ns; /* when it could go on, if the interposer knows; else 0 */
	uint64_t
		cpu_ns; /* of the thread at its start: of waits that may not block, and within a budget */
	uint64_t
		sleeps; /* also, of a profiled thread, and of one among several let go at once: how often it has slept until then */
	uint64_t place; /* among the arrivals at a barrier */
	uint32_t woken_by; /* the thread that let it go, if the interposer knows; else 0 */
	struct trace_record *row; /* of a trace: its WAIT */
	const void *object;
	const void *mutex; /* of a condition wait */
	const void *caller;
	uint32_t kind;
	uint32_t site; /* index */
	uint32_t open; /* index among the open waits; SYNC_OPEN_WAITS: it found no room */
	bool is_counted;
	bool is_estimated; /* its CPU time, if it sleeps */
	bool is_shared; /* the read side of a lock */
	bool is_ordered; /* TRACE_ORDERED */
	bool is_for_signal; /* any */
	bool has_failed; /* it ended without what it waited for */
};

/* `caller`: the return address of the function that the program called. */
void wait_begin(struct wait *wait, uint32_t kind, const void *object, const void *caller);
void wait_begin_shared(struct wait *wait, uint32_t kind, const void *object, const void *caller);
void wait_end(struct wait *wait);

/* What was begun turned out not to be a wait: the last to arrive at a barrier, say. */
void wait_discard(struct wait *wait);

#define WAIT_FROM(kind, object, caller)                                                            \
	__attribute__((cleanup(wait_end))) struct wait wait_;                                      \
	wait_begin(&wait_, kind, object, caller)

#define WAIT(kind, object) WAIT_FROM(kind, object, CALLER)

/* The read side of a lock. */
#define WAIT_SHARED(kind, object)                                                                  \
	__attribute__((cleanup(wait_end))) struct wait wait_;                                      \
	wait_begin_shared(&wait_, kind, object, CALLER)

/* A condition wait: the mutex is released, and taken again before it ends. */
void wait_begin_cond(struct wait *wait, const void *cond, const void *mutex, const void *caller);

#define WAIT_COND(cond, mutex)                                                                     \
	__attribute__((cleanup(wait_end))) struct wait wait_;                                      \
	wait_begin_cond(&wait_, cond, mutex, CALLER)

/* Notes whether the real call got what it waited for; yields its result. */
static inline int waited(struct wait *wait, int result)
{
	wait->has_failed = result != 0;
	return result;
}

/*
 * A thread that waits in an OpenMP barrier runs tasks meanwhile: that is work, and what the task
 * waits for is counted by itself. A struct task lives in the frame that runs the task.
 */
struct task {
	struct wait *interrupted; /* NULL: the thread was in none */
	uint64_t start_ns;
};

void task_begin(struct task *task);
void task_end(struct task *task);

/* For waits that are known only afterwards: `waits` of them that took `wait_ns` in all. */
void wait_add(uint32_t kind, uint64_t waits, uint64_t wait_ns, const void *caller);

/*
 * Loops of trylock: the time between two failed tries for the same object counts as waiting when
 * it is so short that the thread did nothing else. Keeps errno.
 */
void try_failed(uint32_t kind, const void *object, const void *caller);
void try_succeeded(const void *object);

/* What follows matters to a trace only. */

enum {
	ACQUIRE_SHARED = 2, /* TRACE_SHARED: the read side of a lock */
	ACQUIRE_ORDERED = 4096, /* TRACE_ORDERED */
	RELEASE_ALL = 8, /* TRACE_ALL: a broadcast */
};

void trace_acquired(uint32_t kind, const void *object, uint32_t flags, const void *caller);
uint64_t trace_now(void); /* of a release */
uint64_t trace_releases(const void *object); /* trace_now(), noted for who waits */
uint64_t trace_wakes(const void *object, int count); /* the same of so many of those who wait */
void trace_joined(const void *thread);
void trace_released(
	uint32_t kind, const void *object, uint32_t flags, uint64_t time_ns, const void *caller);

/* Without having to wait. `result` is that of the real call; yields it. */
static inline int acquired(uint32_t kind, const void *object, int result, const void *caller)
{
	if (is_tracing() && result == 0)
		trace_acquired(kind, object, 0, caller);
	else
		profiled_resume();
	return result;
}

static inline int acquired_shared(uint32_t kind, const void *object, int result, const void *caller)
{
	if (is_tracing() && result == 0)
		trace_acquired(kind, object, ACQUIRE_SHARED, caller);
	else
		profiled_resume();
	return result;
}

/*
 *	uint64_t time_ns = releases(mutex);		before: those who wait read the time
 *	int result = real()->pthread_mutex_unlock(mutex);
 *	return released(SYNC_LOCK, mutex, 0, time_ns, result, CALLER);	after: the lock is free
 */
static inline uint64_t releases(const void *object)
{
	return is_tracing() ? trace_releases(object) : 0;
}

/* The same of what lets so many of those who wait go, whom WAKE_ALL means: a condition, a futex. */
static inline uint64_t wakes(const void *object, int count)
{
	return is_tracing() ? trace_wakes(object, count) : 0;
}

/* The next thread may have the same handle, and be joined before it could tell its number. Yields the result. */
static inline int joined(const void *thread, int result)
{
	if (is_tracing() && result == 0)
		trace_joined(thread);
	return result;
}

static inline int released(uint32_t kind, const void *object, uint32_t flags, uint64_t time_ns,
	int result, const void *caller)
{
	if (is_tracing() && result == 0)
		trace_released(kind, object, flags, time_ns, caller);
	else
		profiled_resume();
	return result;
}

#endif
