/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the condition variables of a timeline were used for. A recorded wake-up is the outcome of one
 * interleaving; what carries over to another one is the meaning: items in a queue, room in it,
 * arrivals at a barrier, a gate that opens.
 *
 * The unit is the critical section: from a PASS of a mutex to its RELEASE, a wait for a condition
 * included. Its type is the mutex and the call site of that PASS, so that a section that did not
 * happen to wait is known by those of its type that did. For a condition C of a mutex
 *
 *	W	types of which some section waited for C
 *	S	types of which some section signalled C (inside, or after it, before the next lock)
 *
 * and b the items put less the items got by the sections so far, in the order of the mutex:
 *
 *	queue	S puts, W gets: sections waited when there were too few items and went on otherwise.
		A section puts at its end, or before it waits for another condition (part.is_first).
 *		b at the decisions to wait tells how many items there were at first (of `has room`:
 *		the capacity). Room and items are two such conditions with S and W exchanged.
 *		Sections that put once, after all others, may close it instead; or it is closed for
 *		those who get by the last put.
 *		Sections of one type that put several items, or none, put as many as they signal.
 *		Who gets, finds nothing and signals may close it (tasks that make tasks), until something is put.
 *	latch	a queue of which one section gets many: it waits until all have come
 *	barrier	S and W are the same: the last of n to come wakes the others; of two, now one, now the
 *		other; every section of them waits or wakes
 *	gate	nobody waits after the first signal; or, used again, a thread's i-th pass needs the i-th
 *	drain	a queue of which a get takes all that there is, or up to so many (drain.c)
 *	progress	several things at one condition, each type of sections its own: see progress.c
 *
 * Sections of a type that puts, but that signalled nothing, found the queue full, if items would be left over otherwise and all that went on so did at
 * the most that there ever were.
 *
 * A condition that nobody waited for is a queue if its other sections get what was put: all of them, or
 * all but those that came after its end, or when it was empty, changed nothing, and went on elsewhere.
 *
 * Waits that timed out get nothing and are no evidence. Each is a hypothesis about all decisions to
 * wait or to go on; the share of them that it explains is the consistency. Below MEANING_EXPLAINED, or
 * if it does not explain most of the waits, the condition stays unknown.
 *
 *	AUTO(meaning) struct meaning *m = NULL;
 *	meaning_new(&m);
 *	struct event_sink sink = meaning_sink(m);
 *	... events, in order of time; the sink's finish() draws the conclusions ...
 *	const struct meaning_section *s = meaning_find(m, pid, mutex, site);
 */
#ifndef MEANING_MEANING_H
#define MEANING_MEANING_H

#include "base/cleanup.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stddef.h>

/* One decision in twenty may be unexplained: clocks of threads differ by less than a section. */
#define MEANING_EXPLAINED 0.95

enum meaning_kind {
	MEANING_UNKNOWN,
	MEANING_QUEUE,
	MEANING_BARRIER,
	MEANING_GATE,
	MEANING_GENERATIONS, /* a gate used again: a thread's i-th pass needs the i-th opening */
	MEANING_DRAIN, /* a queue of which a get takes what there is, up to `most` */
	MEANING_UNUSED, /* signalled, never waited for, and no counterpart was found */
	MEANING_PROGRESS, /* each section waits for how far others have come: see struct meaning_need */
};

struct meaning_cond {
	uint32_t pid;
	uint64_t object, mutex;
	enum meaning_kind kind;
	double consistency; /* share of `decisions` that the meaning explains */
	uint64_t decisions, waits;
	uint64_t initial; /* queue: items at first */
	bool is_initial_known; /* somebody waited */
	bool is_seen; /* some section waited: else inferred from equal counts of puts and gets */
	uint32_t put_items, get_items; /* queue: of one section */
	uint64_t most; /* drain: items of one section; 0: all */
	bool puts_taken; /* queue: sections put different numbers of items, see meaning_taken(): as many as they signal, or as much room as they took items */
	uint32_t taken_of; /* room: the drain; else itself */
	uint64_t
		capacity; /* queue: items at which sections that came to put were refused, see meaning_is_refused(); 0: none was */
	uint32_t participants; /* barrier */
	bool ends_itself; /* queue: closed by sections that get, find nothing, and signal that; until something is put again */
	bool is_closed; /* queue: by the sections with MEANING_CLOSES, or */
	uint64_t closing_put; /* by this one, from 1: nobody waits after the last; 0: not so */
	bool tells_in_vain; /* those who give tell each time, and wake who waits for more; else only when it is enough */
	bool is_partial; /* progress: not all types of sections that wait have needs */
};

enum meaning_role {
	MEANING_GETS,
	MEANING_PUTS,
	MEANING_CLOSES,
	MEANING_ARRIVES,
	MEANING_OPENS,
	MEANING_ENTERS,
	MEANING_TRIES, /* gets if there is something to get, else goes on: see meaning_is_refused() */
	/* Progress: it waits until its needs are met; it is counted as a source; it is counted as having passed. */
	MEANING_AWAITS,
	MEANING_COUNTS,
	MEANING_ENDS,
	MEANING_BEGINS, /* it is counted as having begun */
};

/* Which of the sink's sections a need counts. */
enum meaning_sink {
	MEANING_ENDED, /* those that have passed */
	MEANING_BEGUN, /* those that have begun, also those that wait */
	MEANING_BEFORE, /* those that had begun before this one: its ticket */
	MEANING_SINCE, /* none, but the source's that had been there when this one began; after the last one it need not wait */
};

/*
 * A section of this type goes on when
 *
 *	each * (sections of `source` so far) - per * (sections of `sink` so far) >= level
 *
 * in all threads; `counts` says which of the sink's. With a tid it is a need of that thread only, and of `sink`, which is its own type, counts what it
 * ended itself; with a source_tid, of `source` what that thread did; with a period only if it has ended `phase` more than a
 * multiple of so many. All needs have to be met.
 */
struct meaning_need {
	uint32_t cond, type, sink; /* types: indices, see meaning_sections() */
	uint32_t source; /* UINT32_MAX: all types with MEANING_COUNTS but its own */
	uint32_t tid, source_tid; /* 0: any */
	uint32_t each, per;
	uint32_t period, phase; /* period 0: always */
	enum meaning_sink counts;
	int64_t level;
	uint64_t total; /* of the source's sections in the recording */
};

/* A type of critical sections, and what each of them does to conditions. */
struct meaning_section {
	uint32_t pid;
	uint64_t mutex, site;
	uint64_t executions;
	struct meaning_part {
		uint32_t cond; /* index, see meaning_conds() */
		enum meaning_role role;
		bool is_first; /* it provides before it waits for another condition, else at its end */
	} * parts;
	size_t part_count;
};

struct meaning;

/* 0 or -ENOMEM. */
int meaning_new(struct meaning **ret);
void meaning_free(struct meaning *meaning);
CLEANUP_DEFINE(meaning, meaning_free)

/*
 * Its events, which come after this, are of another pace than the program's own, as in an emulator: of a queue that is signalled when it
 * was empty, and only then, a get takes all that there is, which at the program's pace is more.
 */
void meaning_of_other_pace(struct meaning *meaning);

/* Borrows the meaning. event(): -ENOMEM. */
struct event_sink meaning_sink(struct meaning *meaning);

/* After the finish. NULL: no such sections. */
const struct meaning_section *meaning_find(
	const struct meaning *meaning, uint32_t pid, uint64_t mutex, uint64_t site);
const struct meaning_section *meaning_sections(const struct meaning *meaning, size_t *ret_count);
const struct meaning_cond *meaning_conds(const struct meaning *meaning, size_t *ret_count);
/* Index of a condition, UINT32_MAX if there is none. */
uint32_t meaning_find_cond(const struct meaning *meaning, uint32_t pid, uint64_t object);

/* Of conditions of the kind MEANING_PROGRESS; in order of conditions, then types. */
const struct meaning_need *meaning_needs(const struct meaning *meaning, size_t *ret_count);

/*
 * Progress: did this section (see meaning_is_refused()) go on though its needs were not met? Then it waits for nothing but that
 * sections of other types were counted as often as then: what it waited for was to be had no more.
 */
bool meaning_is_exempt(
	const struct meaning *meaning, uint32_t cond, uint64_t section, uint64_t *ret_given);

/* Leaves a condition without a meaning from now on: what was found did not work. */
void meaning_forget(struct meaning *meaning, uint32_t cond);

/* The same for all queues that end themselves: a replay knows who found nothing in the recording, which is not who does so in another order. */
void meaning_forget_ends(struct meaning *meaning);

/*
 * Sections are numbered from 0 as they begin in the stream (a PASS of a mutex that is not implicit):
 * did this one go on without the items that it came for, because the queue was closed, or empty; or without putting any, because it was full?
 */
bool meaning_is_refused(const struct meaning *meaning, uint64_t section);

/*
 * Did it come to get, wait once, and go on with nothing since another one had come between? Such sections do not wait again
 * themselves: their thread comes back. It is as if this one had not been.
 */
bool meaning_is_vain(const struct meaning *meaning, uint64_t section);

/* Items that this section (see meaning_is_refused()) took of a drain; of a queue with puts_taken, that it put. */
uint64_t meaning_taken(const struct meaning *meaning, uint32_t cond, uint64_t section);

#endif
