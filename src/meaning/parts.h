/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What meaning.c collects and judge.c reads. */
#ifndef MEANING_PARTS_H
#define MEANING_PARTS_H

#include "base/map.h"
#include "meaning/meaning.h"

/* What happened at a mutex, in its order. */
struct meaning_entry {
	enum { ENTRY_NOTHING, ENTRY_WAIT, ENTRY_SIGNAL, ENTRY_BROADCAST, ENTRY_END } what;
	uint32_t subject; /* the condition; of an END the type */
	uint64_t section;
	uint32_t type; /* of the section */
	uint32_t thread;
	bool is_again; /* WAIT: the section has waited before */
	bool is_timed_out; /* END: the last wait was */
	bool has_signalled; /* END: some condition */
	/* Of the condition that is judged, see judge_order(): what the section puts is there from here on, and it
	   signals that; END: the section has waited for it. */
	uint32_t signals; /* to one each, in the section, where it gives */
	bool gives, tells, has_waited, begins; /* begins: the section's first entry */
	uint64_t next; /* END: the site of what the thread did next, and what that was */
};

struct meaning_mutex {
	struct meaning_entry *log;
	size_t count, capacity;
};

struct meaning_open {
	uint32_t mutex, type;
	uint64_t section;
	size_t wait; /* the last one in the mutex's log, plus 1 */
	bool is_timed_out, has_signalled;
	size_t end; /* its END in the mutex's log, plus 1 */
	bool has_told; /* since its last wait: it has signalled some condition */
};

struct meaning_thread {
	uint32_t tid;
	struct meaning_open *open; /* sections that it is in */
	size_t open_count, capacity;
	struct meaning_open last; /* that it has left, no other since */
	bool awaits_next; /* `last` has no next yet */
	bool has_locked;
};

/* Of a condition: indices of types. */
struct meaning_use {
	uint32_t *waiters, *signallers;
	size_t waiter_count, waiter_capacity, signaller_count, signaller_capacity;
	uint64_t signals; /* that were no broadcasts */
	uint64_t
		again; /* waits of sections that had waited for it before and told nobody anything since */
	uint64_t
		turns; /* waits in sections that have waited before and told others something since */
};

struct meaning {
	struct meaning_section *types;
	size_t type_count, type_capacity;
	struct meaning_mutex *mutexes;
	size_t mutex_count, mutex_capacity;
	struct meaning_thread *threads;
	size_t thread_count, thread_capacity;
	struct meaning_cond *conds; /* as many as uses */
	struct meaning_use *uses;
	size_t cond_count, cond_capacity, use_capacity;
	struct map type_index, mutex_index, thread_index, cond_index;
	struct meaning_need *needs;
	size_t need_count, need_capacity;
	struct map exempt; /* condition, section -> sections of other types counted when it ended */
	uint64_t section_count;
	uint8_t *refused, *vain; /* a bit for each section */
	struct map taken; /* of drains: condition, section -> items */
	bool is_of_other_pace;
};

/* What a type of sections does to the condition that is judged. */
enum role { ROLE_NONE, ROLE_GET, ROLE_PUT, ROLE_CLOSE };

struct judge {
	struct meaning *m;
	uint32_t cond;
	const struct meaning_mutex *mutex;
	uint8_t *roles; /* enum role of each type */
	uint8_t *is_first; /* enum order of each type */
};

/* Whether a type of sections gives before it waits. */
enum order { ORDER_LAST, ORDER_FIRST, ORDER_UNSEEN /* and is taken for LAST */ };

/* Finds out, for the judged condition, which entries give. 0 or -ENOMEM. */
int judge_order(const struct judge *judge);
/* The same, with those that wait and of which no order was seen taken for FIRST. 1, 0: there are none, -ENOMEM. */
int judge_other_order(const struct judge *judge, const struct meaning_use *use);
/* What the section of an entry does there to the condition: puts and closes where it gives, gets at its end. */
enum role judge_role_at(const struct judge *judge, const struct meaning_entry *entry);

/*
 * The share of decisions that a hypothesis explains; 0 if it does not explain most of the waits: that
 * nobody ever needs to wait explains all other decisions, too.
 */
double judge_share(
	uint64_t decisions, uint64_t explained, uint64_t waits, uint64_t waits_explained);
/* Whether nobody of the other types that put comes after it; it is the last to put, or closes the queue. */
bool judge_comes_last(const struct judge *judge, uint32_t type);
/* This section went on without what it came for, or came in vain: in meaning.refused, meaning.vain. */
void meaning_mark(uint8_t *bits, uint64_t section);
/* Who waits gets, who signals puts. */
void judge_set_roles(const struct judge *judge, const struct meaning_use *use);
/* Of all sections of that role. */
uint64_t judge_executions(const struct judge *judge, enum role role);
/* Tells the types what they do to the condition. 0 or -ENOMEM. */
int judge_add_parts(const struct judge *judge, const enum meaning_role of_role[]);
int judge_add_part(const struct judge *judge, uint32_t type, enum meaning_role role, bool is_first);

/* Each: 1 if that is what the condition is (and it is noted), 0 if not, -ENOMEM. */
int judge_queue(const struct judge *judge, const struct meaning_use *use);
/* Signalled and never waited for. */
int judge_unseen(const struct judge *judge, const struct meaning_use *use);
/* Of as many items as another one, from the roles as they are. */
int judge_queue_like(const struct judge *judge, const struct meaning_cond *like);
int judge_gate(const struct judge *judge);
int judge_generations(const struct judge *judge, double least);
int judge_drain(const struct judge *judge, const struct meaning_use *use);
/* Signalled when, and only when, there was nothing: what a get finds is all that was put since the last one. */
bool judge_is_told_when_empty(const struct judge *judge);
/* The share of decisions that this would explain; roles change. 0 or -ENOMEM. */
int judge_drain_share(const struct judge *judge, const struct meaning_use *use, double *ret);
/* What a section took of, or put into, the judged condition's queue: see meaning_taken(). 0 or -ENOMEM. */
int judge_note_items(const struct judge *judge, uint64_t section, uint64_t items);
/* The room of such a queue, when all others are judged: what gets from it makes as much room as it took. */
int judge_room_of_drain(const struct judge *judge, const struct meaning_use *use);
/* Whether all who signal it take what there is at another condition. */
bool judge_is_told_in_rounds(const struct judge *judge, const struct meaning_use *use);
int judge_barrier(const struct judge *judge);
/* least: it must explain more. */
int judge_progress(const struct judge *judge, double least);

/* Decides on all conditions. 0 or -ENOMEM. */
int meaning_judge(struct meaning *meaning);

#endif
