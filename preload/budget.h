/* SPDX-License-Identifier: MIT */
/*
 * A thread that takes free mutexes so often that recording them costs more than the trace's budget
 * records them in bursts only:
 *
 *	        burst_pairs recorded         gap_pairs not recorded
 *	BURST ----------------------> GAP ----------------------------> BURST, and LEFT_OUT says how many
 *	  ^                            |     (or 0.1 s are over)
 *	  +---- within the budget -----+
 *
 * What somebody waits for is always recorded, also in a gap. The locks that a thread holds are known
 * to it, so one that was left out gets its PASS as soon as it matters: when it is released and others
 * wait for it, when its holder is about to wait, and when a burst begins.
 *
 * The length of a gap follows from what the burst before it cost: see budget.c.
 */
#ifndef PRELOAD_BUDGET_H
#define PRELOAD_BUDGET_H

#include "trace_record.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	/* Between two looks, at first and in the end. */
	BUDGET_WAITS_MIN = 16,
	BUDGET_WAITS = 256,
	BUDGET_HELD = 8, /* locks that a thread holds at once; more are always recorded */
};

struct held_lock {
	const void *object, *caller;
	bool is_recorded;
};

/* What a thread had done by then. */
struct budget_mark {
	uint64_t time_ns, cpu_ns, pairs;
	uint32_t waits, readings, marks;
};

struct budget {
	/* What a call that is left out looks at comes first, in one line of the cache. */
	uint32_t slice; /* of a gap, that is left before the clock is looked at; 0: recording */
	uint32_t held_count;
	uint32_t waits; /* and calls that might have been, so far */
	uint32_t
		owner; /* the thread's number, if it may take mutexes itself (plain_mutex.h); else 0 */
	bool is_on;
	bool is_over; /* pairs and waits would take more than the budget, when last looked at */
	bool is_silent; /* so would telling of requests, and of what is handed over */
	bool reads_much; /* the CPU clock's readings alone would take much of it */
	struct held_lock held[BUDGET_HELD];
	uint32_t slice_pairs; /* what slice was */
	uint32_t gap; /* left behind the slice */
	uint32_t burst; /* free locks to be recorded before the next gap */
	uint32_t look_waits; /* until the next look */
	uint32_t marks; /* requests and hand-overs that were told of, so far */
	uint32_t turn; /* of waits whose CPU time is read or estimated */
	uint64_t pairs; /* before this burst or slice */
	struct budget_mark burst_mark,
		look_mark; /* when the burst began, the thread was looked at */
	uint64_t left_out; /* not yet told */
	uint64_t gap_ns; /* when the gap began */
	uint64_t random;
} __attribute__((aligned(64)));

/* How much the trace allows, and what things cost here: when the library has the file. */
void budget_attach(struct trace_header *header);

/* A thread begins to record, and ends: enter() came before. */
void budget_start(void);
void budget_end(void);

/* In a gap, with room for one more: takes a mutex of a kind that needs a call. False: not free, or not of a usual kind. */
bool budget_tries(pthread_mutex_t *mutex, const void *caller);

/* Free locks that are held and not recorded get their PASS: enter() came before. */
void budget_tell_held(void);

/*
 * After look_waits waits: whether the thread is over its budget with everything it does. Then it reads its
 * CPU clock at fewer waits, and does not record calls at descriptors that do not block. And whether these readings
 * are much of what it may take.
 */
void budget_look(void);

/* The thread got a mutex, which was recorded. */
void budget_took(const void *mutex, const void *caller, bool was_free);

/* It gives the mutex back: true if nothing is to be recorded of that. */
bool budget_gives(const pthread_mutex_t *mutex);

/* It is about to wait at a condition, and gives the mutex back there: that is recorded. */
void budget_forget(const void *mutex);

#endif
