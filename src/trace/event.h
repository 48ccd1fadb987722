/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline: every source of events (preload library, BPF, simulator, a file) produces these,
 * every reader (trace file, criticality, model builder, exporters) consumes them through a sink.
 *
 * A thread is active (running or runnable) or it waits. It starts active with THREAD_START; WAIT
 * begins a wait and the next PASS of the same thread ends it. The instant at which it became
 * runnable again may lie before the PASS, which is recorded only once the thread has a core: a
 * PASS that waited carries it in `woken_ns`, and a stream of events in order of time contains a
 * WOKEN event at that instant, so that waiting for a core is never counted as waiting for a lock.
 *
 *	mutex, free		PASS
 *	mutex, held		WAIT ... PASS (waited)
 *	unlock			RELEASE
 *	condition wait		RELEASE(mutex, implicit) WAIT(cond, value = mutex) ... PASS(cond,
 *				waited) [WAIT(mutex, implicit)] PASS(mutex, implicit)
 *	signal, broadcast	RELEASE(cond), RELEASE(cond, all)
 *	barrier			WAIT at arrival (value: of work that the threads shared out since they met
 *				last how many pieces it had, plus one; 0: it asked for none), PASS at
 *				leaving; the last to arrive does not wait
 *	semaphore		PASS, or WAIT ... PASS; post is RELEASE
 *	join			WAIT(value = joined tid) ... PASS
 *	sleep, read, write	WAIT(value: enum event_io) ... PASS
 *	descriptors		PASS(io) without a wait: one was opened; RELEASE(io): closed;
 *				TRY_FAILED(io): none is left. value: how many there may be
 *	futex			WAIT(value: code that entered the kernel, 0 if unknown) ... PASS
 *
 * A recorder that has a budget (preload/budget.h) does not record every free mutex: it says how many it
 * left out, in LEFT_OUT events. What is waited for is always there, and so is what held it up: a lock of
 * those left out that others come to wait for, or that is held while its thread waits, has a PASS at the
 * moment from which that is known.
 *
 * A request to a disk is no state of its thread, which may go on meanwhile. `object` numbers it:
 *
 *	DISK_QUEUE		the thread hands it to the kernel
 *	DISK_START		the device has it: what came before was queueing
 *	DISK_END		it is done: what came since DISK_START was service
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_NONE,
	EVENT_THREAD_START, /* object: start routine; value: parent tid, 0 if unknown */
	EVENT_THREAD_EXIT, /* by the scheduler, since the thread began; 0: unknown: object: CPU time, value:
				time in which it waited for a core, in ns */
	EVENT_WAIT, /* value: see above */
	EVENT_WOKEN, /* value: tid of the waker, 0 if unknown */
	EVENT_PASS, /* acquired, left, returned; value, if it waited: tid of the waker, 0 if unknown */
	EVENT_RELEASE,
	EVENT_TRY_FAILED, /* a trylock that did not get the lock; what: spin, object: site: sched_yield() */
	EVENT_REGION_BEGIN, /* object: id of a name */
	EVENT_REGION_END,
	EVENT_REQUEST_BEGIN, /* value: the request's number; what: WHAT_NONE, or WHAT_IO: from accepting
				a connection, the descriptor `object`, to closing it or
				shutting it down for writing;
				EVENT_IMPLICIT: what came over one, from reading to answering */
	EVENT_REQUEST_END,
	EVENT_TICK, /* value: units of work done */
	EVENT_RUN, /* got a core; value: core, or EVENT_CORE_UNKNOWN */
	EVENT_PREEMPT, /* lost it while runnable */
	/*
	 * What it was running, at a moment chosen by a timer. site: the instruction; object: the
	 * stack of its callers, named by a WHAT_STACK before; 0 if unknown; value: where the
	 * program spins, if it only waits there (code/spin_loop.h): in a library for all, who called that; as of a
	 * call, an address behind it; 0: it works.
	 */
	EVENT_SAMPLE,
	EVENT_NAME, /* text: name of `object`, of the kind that `what` says */
	EVENT_LOST, /* value: events that could not be recorded before this one */
	/* object: number of the request, unique in a timeline; value: event_disk_value() */
	EVENT_DISK_QUEUE,
	EVENT_DISK_START,
	EVENT_DISK_END,
	EVENT_INIT, /* `object` was initialised; site: by whom; value: of a semaphore, its value then,
		       plus one; 0: unknown */
	EVENT_FRAME, /* a call on the thread's stack: object: where its frame begins; value: where
			that ends, the canonical frame address; site: where in the function; in
			profiles all 0: the thread creates another one */
	EVENT_LEFT_OUT, /* value: mutexes that the thread took without waiting since its last such
			   event, or its start, and gave back, of which no event tells; object: how many
			   of the next ones are recorded for these, too (0: none, its end) */
	EVENT_CALLER, /* the thread waits for `object`; site: a call that led there, value: how many are
			 inside it */
	EVENT_KINDS,
};

/* What is waited for, held or named. */
enum event_what {
	WHAT_NONE,
	WHAT_MUTEX,
	WHAT_RWLOCK,
	WHAT_SPIN,
	WHAT_COND,
	WHAT_BARRIER,
	WHAT_SEM,
	WHAT_JOIN,
	WHAT_SLEEP,
	WHAT_IO, /* object: descriptor */
	WHAT_QUEUE, /* of the simulator; a pipe, a direction of a pair of sockets, an eventfd: value: bytes that were read (0: its
		       end), or written (0: closed) */
	WHAT_DISK,
	WHAT_FUTEX, /* seen by the kernel only: object is the address */
	WHAT_OTHER, /* blocked, reason unknown */
	WHAT_THREAD, /* named: tid */
	WHAT_REGION, /* named: id of a region */
	WHAT_MODULE, /* named: load bias of an ELF file; value: end of its addresses */
	WHAT_PROGRAM, /* named: the command line */
	WHAT_STACK, /* named: id of a stack; text: return addresses, hexadecimal, innermost first */
	WHAT_COUNT,
};

/* Of a WHAT_QUEUE's object: an eventfd, of which each read takes all that was written. */
#define EVENT_EVENTFD (UINT64_C(1) << 48)

/* What a wait for WHAT_IO is for: its value. */
enum event_io {
	EVENT_IO_UNKNOWN,
	EVENT_IO_FILE, /* or a block device */
	EVENT_IO_SOCKET,
	EVENT_IO_PIPE,
	EVENT_IO_ACCEPT, /* a new connection */
	EVENT_IO_POLL, /* any of several descriptors, with select(), poll(), epoll_wait() */
	EVENT_IO_CHILD, /* a process */
	EVENT_IO_SIGNAL,
	EVENT_IO_OTHER, /* a terminal, an eventfd, a timer */
	EVENT_IOS,
};

enum event_flags {
	EVENT_WAITED = 1, /* PASS: a WAIT came before */
	EVENT_SHARED = 2, /* read side of a read-write lock */
	EVENT_IMPLICIT = 4, /* a condition wait's own release and re-acquisition; of a request: by
				reading and writing */
	EVENT_ALL = 8, /* broadcast */
	EVENT_TIMED_OUT = 16, /* PASS: without what was waited for */
	EVENT_BEFORE = 32, /* the state when recording began (attached): not a moment */
	/* 64 and 128 are the file's own (preload/trace_record.h). */
	EVENT_WRITE = 256, /* DISK_*: else it reads */
	EVENT_METADATA = 512, /* DISK_*: of the file system itself */
	EVENT_AHEAD = 1024, /* DISK_*: read because it may be needed */
	EVENT_FLUSH = 2048, /* DISK_*: makes earlier writes durable, or is durable itself */
	EVENT_ORDERED =
		4096, /* PASS of a mutex: in an order that the program prescribes (OpenMP's ordered) */
	/* 8192 is the file's own. */
	EVENT_SPINS =
		16384, /* WAIT: in a runtime that spins before it sleeps, where each of its threads has a core (OpenMP's) */
	EVENT_TRIED =
		32768, /* PASS of a mutex: by a try, which would not have waited, and gone on without it */
};

#define EVENT_CORE_UNKNOWN UINT64_MAX

struct event {
	uint64_t time_ns; /* CLOCK_MONOTONIC, or the simulator's clock */
	uint64_t cpu_ns; /* the thread's own CPU time so far; 0 if unknown */
	uint64_t object; /* address or id; unique within a process and a `what` */
	uint64_t site; /* code address of the call, or id of a stack; 0 if unknown */
	uint64_t value; /* by kind */
	uint64_t woken_ns; /* PASS that waited: when it became runnable; 0 if unknown */
	uint32_t pid, tid;
	uint8_t kind; /* enum event_kind */
	uint8_t what; /* enum event_what */
	uint16_t flags;
	uint32_t reserved; /* 0: events without holes can be compared as bytes */
	const char *text; /* EVENT_NAME; borrowed for the duration of the call; else NULL */
};

/* Of a request to a disk: bytes, and the number of the device (0: unknown) as major << 20 | minor. */
static inline uint64_t event_disk_value(uint32_t bytes, uint32_t device)
{
	return (uint64_t)device << 32 | bytes;
}

static inline uint32_t event_disk_bytes(uint64_t value)
{
	return (uint32_t)value;
}

static inline bool event_kind_is_disk(uint8_t kind)
{
	return kind == EVENT_DISK_QUEUE || kind == EVENT_DISK_START || kind == EVENT_DISK_END;
}

/*
 * Whether an event is something that is seen of a thread, or said of it, not a step of its own: it
 * changes no state, and makes no thread known.
 */
static inline bool event_is_aside(const struct event *event)
{
	return event->kind == EVENT_SAMPLE || event_kind_is_disk(event->kind) ||
	       (event->kind == EVENT_NAME && event->what == WHAT_STACK) ||
	       event->kind == EVENT_INIT || event->kind == EVENT_FRAME ||
	       event->kind == EVENT_LEFT_OUT || event->kind == EVENT_CALLER;
}

/* Of a loop of sched_yield(), which waits for what only the program knows: of an object that is the place in its code. */
static inline bool event_is_at_place(const struct event *event)
{
	return event->what == WHAT_SPIN && event->object && event->object == event->site &&
	       (event->kind == EVENT_TRY_FAILED || event->kind == EVENT_WAIT ||
		       event->kind == EVENT_PASS);
}

/* A mutex that was taken without waiting: what a recorder with a budget may leave out. */
static inline bool event_is_free_lock(const struct event *event)
{
	return event->kind == EVENT_PASS && event->what == WHAT_MUTEX &&
	       !(event->flags & (EVENT_WAITED | EVENT_IMPLICIT | EVENT_TIMED_OUT | EVENT_BEFORE));
}

#endif
