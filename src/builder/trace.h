/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recording as the model builder reads it: for each thread the operations that it did, one after
 * the other, with the CPU time before each and the time that it waited in it.
 *
 *	events --sink--> struct build_trace: threads, their steps, objects, names
 */
#ifndef BUILDER_TRACE_H
#define BUILDER_TRACE_H

#include "base/cleanup.h"
#include "base/map.h"
#include "builder/spins.h"
#include "trace/child.h"
#include "trace/sink.h"
#include "trace/wakes.h"

#include <stdbool.h>
#include <stddef.h>

#define BUILD_DESCRIPTORS UINT64_MAX /* address of the object that stands for all descriptors */

/* A wait that took more CPU time than WAIT_CPU_MAX_NS did not: it was clocked late. */
enum { BUILD_NONE = UINT32_MAX, WAIT_COSTS = 100000, WAIT_CPU_MAX_NS = 50000 };

/* Between the library's clocks of a call on a file: less than this beyond its CPU time is no wait. */
enum { CALLED_NS = 10000 };

/* The last four are what steps.h makes of mutexes and conditions. */
enum step_op {
	STEP_LOCK, /* mutex, spin lock, read-write lock to write */
	STEP_READ_LOCK,
	STEP_UNLOCK,
	STEP_TRY_FAILED,
	STEP_ARRIVE,
	STEP_COND_WAIT,
	STEP_SIGNAL,
	STEP_ACQUIRE,
	STEP_POST,
	STEP_SLEEP,
	STEP_IO,
	STEP_DISK,
	STEP_SPAWN,
	STEP_JOIN,
	STEP_BEGIN,
	STEP_END,
	STEP_TICK,
	STEP_EXIT,
	STEP_FAIL, /* END in an error */
	STEP_TAKE, /* one of a limit */
	STEP_GIVE,
	STEP_GET, /* of a queue */
	STEP_TRY_GET,
	STEP_PUT,
	STEP_CLOSE,
	STEP_NOTHING, /* to be left out */
	STEP_OPS,
};

enum step_flags {
	STEP_REFUSED = 1, /* GET: closed; TRY_GET: empty; TAKE: none left; COND_WAIT: timed out */
	STEP_WAITED = 2,
	STEP_IN_REFUSED = 4, /* in the section of a get that was refused */
	STEP_FROM_OUTSIDE = 8, /* BEGIN, END, GET: a connection, or what came over one */
	STEP_OVER = 16, /* BEGIN, END: the latter */
	STEP_BACKGROUND = 32, /* DISK: the thread goes on meanwhile */
	STEP_BY_NOBODY = 64, /* ARRIVE: it waited, and nobody is known to have let it go */
	STEP_TOLD =
		128, /* COND_WAIT: a signal that was seen ended it; SIGNAL: it ended `count` waits */
};

/* What decides how long a device takes (Tarvo and Reiss, 4.1.3). */
enum request_class {
	REQUEST_READ,
	REQUEST_METADATA,
	REQUEST_AHEAD, /* read because it may be needed */
	REQUEST_WRITE,
	REQUEST_CLASSES,
};

struct build_step {
	uint64_t begin_ns; /* when it was asked for */
	uint64_t cpu_ns; /* of the thread since the step before */
	uint64_t waited_ns; /* blocked, without waiting for a core */
	uint64_t site;
	uint64_t section; /* LOCK of a mutex: its number (meaning.h); BEGIN, END: the request's;
	                     IO: CPU time within the wait, ns; ARRIVE: the tid of who let it go, 0: not known (until teams.h
	                     has looked), then CPU time of a lead before cpu_ns (lead.c) */
	uint32_t object; /* index; SPAWN, JOIN: of a thread; BUILD_NONE */
	uint32_t count; /* TICK: units; PUT, GET: items; SPAWN: threads; IO: enum event_io;
	                   BEGIN, END: descriptor, if from outside; DISK: requests */
	uint32_t region; /* index of an object, BUILD_NONE */
	uint8_t op, flags;
	uint8_t class; /* DISK: enum request_class */
	bool is_late; /* waited_ns is until it ran: when it was woken was not seen */
	bool comes_first; /* SIGNAL: in its section it precedes what is got there (told.h) */
	uint8_t wakes; /* threads that had to wake up a core, woken within cpu_ns */
};

/* A request to a disk, of which only the kernel can tell. */
struct build_request {
	uint64_t queued_ns;
	uint64_t start_ns, end_ns; /* at the device; 0: not seen */
	uint32_t thread; /* that caused it: index, or BUILD_NONE */
	uint8_t class; /* enum request_class */
};

struct build_object {
	uint32_t pid;
	uint8_t what; /* enum event_what */
	uint64_t address;
	const char *name; /* as the recording says, or NULL */
	uint64_t uses; /* of a lock: how often it was taken */
	uint32_t user; /* of a lock: the thread that took it first, plus 1 */
	bool is_shared; /* of a lock: others did, too */
	bool is_drain; /* a queue of which a get takes what there is, */
	uint64_t most; /* up to so many; 0: all */
	uint32_t batch; /* the model's parameter of that, plus 1; 0: not yet */
	bool is_gate; /* a queue of which each thread gets once for each put: it opens for all of them */
	bool is_pipe; /* a queue of as many items as were put and got, however late that was told */
	bool spins; /* a barrier of a runtime, whose threads spin before they sleep */
	uint32_t maker; /* of a semaphore: the thread that initialised it, plus 1; 0: not seen */
	/* Of a semaphore: its value when it was initialised; of a queue that is looked into: its items at first; plus 1; 0: not known. */
	uint64_t first;
	bool has_tasks; /* a queue of tasks that make tasks (meaning.h: ends_itself) */
	bool has_writers_first; /* a read-write lock that the program made itself (made_locks.h) */
	bool are_replies; /* a queue of answers to the thread that asked (replies.h) */
	bool are_signals; /* a queue of wakes at a futex, or of signals by semaphores */
	bool are_calls; /* a queue of signals that are mostly given while nobody waits: a PUT of 0 is for all who do */
	uint32_t class; /* index of another one of its class; its own: the class's first */
};

struct build_thread {
	uint32_t pid, tid;
	uint32_t parent; /* index, or BUILD_NONE: there from the beginning */
	uint64_t routine;
	uint64_t spawn_site;
	uint64_t start_ns, end_ns; /* end: if it did not exit, of the recording, or of
	                             its last step, in which it waits */
	uint64_t cpu_ns; /* in all */
	char *name; /* or NULL */
	bool has_exited;
	bool is_started; /* it has no parent, but a step of another process's thread starts it */
	bool goes_on; /* it is_cut, and would have done the same again and again: tickers.h */
	uint32_t
		stopped_by; /* if it goes_on: index of a condition that only told it to stop; BUILD_NONE */
	bool is_cut; /* the end of its process was its own */
	bool has_request_at_first; /* that of who began it, and no other */
	bool keeps_requests; /* those that it begins it ends itself, one after the other, or begins a thread for, as it may be one */
	bool has_cpu; /* the recording has its CPU time; else it is the time between steps */
	struct build_step *steps;
	size_t step_count, step_capacity;
};

struct build_module {
	uint32_t pid;
	uint64_t bias, end;
	char *path;
};

struct build_trace {
	struct build_thread *threads;
	size_t thread_count, thread_capacity;
	struct build_object *objects;
	size_t object_count, object_capacity;
	struct build_module *modules;
	size_t module_count, module_capacity;
	struct build_request *requests; /* in the order in which they were queued */
	size_t request_count, request_capacity;
	struct map thread_index, object_index, name_index, request_index;
	struct children children;
	char **names; /* of objects, by name_index */
	size_t name_count, name_capacity;
	char *program; /* command line, or NULL */
	uint64_t start_ns, end_ns;
	uint64_t lost;
	uint64_t left_out; /* locks that a recorder with a budget did not record */
	uint64_t sections; /* so far */
	double *wait_costs_s; /* CPU time of waits that blocked: of the first WAIT_COSTS */
	size_t wait_cost_count, wait_cost_capacity;
	uint64_t descriptors; /* that may be open, as told last */
	uint64_t futexes; /* events that only name an address: recorded from the kernel */
	uint64_t
		told_futexes; /* waits there that another thread was seen to end: they are gets of signals */
	uint64_t slept_futexes; /* the rest of them */
	uint64_t named; /* events that say what was taken or waited for: recorded by the library */
	struct build_spins spins;
	struct wakes *wakes; /* NULL: nobody asks what wake-ups take */
	struct build_live *live; /* private: what each thread is in the middle of */
	size_t live_capacity;
};

/* BUILD_NONE: it is not known. */
uint32_t build_find_thread(const struct build_trace *trace, uint32_t pid, uint64_t tid);

/* disk_steps.c: an event of a request to a disk. Of those that were queued before recording began nothing is kept. 0 or -ENOMEM. */
int build_trace_add_request(struct build_trace *trace, const struct event *event);

/* Adds what no event names; its class is its own. 0 or -ENOMEM. */
int build_add_object(struct build_trace *trace, struct build_object with, uint32_t *ret);

/* Counts a use of a lock by a thread. */
void build_use_lock(struct build_object *lock, uint32_t thread);

/* CPU time of all threads. */
uint64_t build_trace_cpu_ns(const struct build_trace *trace);

/* The first object of an object's class. */
uint32_t build_class_of(const struct build_trace *trace, uint32_t object);

/* What a step is about: the class of its object; a group. BUILD_NONE: nothing that the model has. */
uint32_t build_object_of(const struct build_trace *trace, const struct build_step *step);

/* Where a thread's round ends: all of its team make as many. */
static inline bool build_meets(const struct build_trace *trace, const struct build_step *step)
{
	return step->op == STEP_ARRIVE || (step->op == STEP_GET && step->object != BUILD_NONE &&
						  trace->objects[step->object].is_gate);
}

/* Of input and output: calls on files are recorded also if they did not. */
static inline bool build_has_blocked(const struct build_step *step)
{
	return step->count != EVENT_IO_FILE || step->waited_ns > step->section + CALLED_NS;
}

/* BEGIN, END: of a request that came over a connection. */
static inline bool build_came_over(const struct build_step *step)
{
	return step->flags & STEP_FROM_OUTSIDE && step->flags & STEP_OVER;
}

/* A wait for a condition that nobody ended. */
static inline bool build_has_timed_out(const struct build_step *step)
{
	return step->op == STEP_COND_WAIT && step->flags & STEP_REFUSED;
}

/*
 * A thread's steps written again, in their place, some left out: their CPU time goes to the next that is kept.
 *
 *	struct build_rewrite rewrite = { .thread = thread };
 *	for each step: rewrite_keep() or rewrite_leave_out(), then rewrite_end()
 */
struct build_rewrite {
	struct build_thread *thread;
	size_t kept;
	uint64_t cpu_ns; /* of those left out since the last that was kept */
};

static inline void rewrite_keep(struct build_rewrite *rewrite, struct build_step step)
{
	step.cpu_ns += rewrite->cpu_ns;
	rewrite->cpu_ns = 0;
	rewrite->thread->steps[rewrite->kept++] = step;
}

static inline void rewrite_leave_out(struct build_rewrite *rewrite, struct build_step step)
{
	rewrite->cpu_ns += step.cpu_ns;
}

static inline void rewrite_end(const struct build_rewrite *rewrite)
{
	rewrite->thread->step_count = rewrite->kept;
}

/* What has been made STEP_NOTHING is left out. */
static inline void rewrite_without_nothing(struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++)
		if (thread->steps[i].op == STEP_NOTHING)
			rewrite_leave_out(&rewrite, thread->steps[i]);
		else
			rewrite_keep(&rewrite, thread->steps[i]);
	rewrite_end(&rewrite);
}

void build_trace_release(struct build_trace *trace);

/* Borrows the trace, { 0 } at first. event(): -ENOMEM. */
struct event_sink build_trace_sink(struct build_trace *trace);

#endif
