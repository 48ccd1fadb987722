/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside this room: the parts of blame.c. Functions return 0 or -ENOMEM unless they say otherwise. */
#ifndef CRITICALITY_BLAME_PARTS_H
#define CRITICALITY_BLAME_PARTS_H

#include "criticality/blame.h"

static inline uint32_t object_index(const struct blame *blame, const struct object *object)
{
	return (uint32_t)(object - blame->objects);
}

/* blame_tables.c. An object and a thread or site; NULL without memory. */
struct pairing *blame_pairing(struct pairing_table *table, uint32_t object, uint64_t other);
int blame_pair(struct pairing_table *table, uint32_t object, uint64_t other, uint64_t units);
int blame_pair_held(struct pairing_table *table, uint32_t object, uint64_t other, uint64_t units);
/* An address in the code of a process, called through a stack (0: unknown); NULL without memory. */
struct site *blame_site(struct blame *blame, struct site_table *table, const struct site *identity);

/* blame_holds.c. What the holders have accrued since anything about the object changed. */
void object_settle(struct object *object, const struct account *account);
/* A lock was taken, was given back, is about to be taken by who was woken for it. */
int hold_take(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
int hold_give_back(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
int hold_expect(struct blame *blame, const struct account *account, uint32_t index);
/* Free locks were left out; those that follow stand for them. */
void hold_burst(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
struct hold *hold_find(struct blame_thread *mine, uint32_t object); /* NULL: it has none */
/* One hold of a thread is over; all holds are that it was woken for and did not get. */
int hold_end(struct blame *blame, const struct account *account, uint32_t index, struct hold *hold);
int hold_end_coming(struct blame *blame, const struct account *account, uint32_t index);
/*
 * A thread that holds locks begins to wait for another one, and has waited: who waits for the former meanwhile waits for the
 * latter, too.
 */
void holds_await(struct blame *blame, const struct account *account, uint32_t index);
void holds_pass_on(
	struct blame *blame, const struct account *account, uint32_t index, struct object *to);
/* Before (by = -1) and after (by = 1) a thread may start or stop. */
void hold_recount(struct blame *blame, const struct account *account, uint32_t index, int by);

/* blame_signals.c. A barrier: an episode begins and is over; a thread comes, leaves, passes. */
int episode_begin(struct blame *blame, const struct account *account, struct object *object);
int episode_end(struct blame *blame, const struct account *account, struct object *object);
void episode_arrive(struct blame *blame, struct object *object, const struct account *account,
	uint32_t index, const struct event *event);
void episode_leave(struct object *object, const struct account *account);
int episode_pass(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
/*
 * Whether a thread waits at a barrier that the others have left: OpenMP's runtimes keep the threads of a team from the
 * end of one region to the start of the next. keep_end(): the thread that the event names has let it go, and had all
 * there was to do meanwhile; keep_forget(): nobody did, until the recording or the thread ended.
 */
bool is_kept(const struct blame *blame, uint32_t index);
int keep_end(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
void keep_forget(struct blame *blame, const struct account *account, uint32_t index);
/* A thread posts a semaphore: it gives back what it took, or signals, or both. */
int semaphore_post(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
/* A thread signals an object that others may wait for. */
int object_signal(
	struct blame *blame, const struct account *account, uint32_t index, struct object *object);
/* A futex: a waiter comes; it is woken by whom the event names; what the waker does next. */
void futex_arrive(struct object *object, const struct account *account, uint32_t index);
int futex_signal(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
/* A wait at what is signalled is over, by whom the event names. */
int turn_end(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event);
void futex_find_join(struct blame *blame, uint32_t index, const struct event *event);

#endif
