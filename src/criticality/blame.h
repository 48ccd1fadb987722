/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Criticality by lock and by line of code.
 *
 * For each object that threads wait for, in constant time for each event:
 *
 *	waited	the waiting of all threads, from WAIT to WOKEN (or PASS), summed
 *	held	the time it was held, summed over holders
 *	blame	what its holders' criticality amounts to while others waited. A lock: G of its
 *		active holders while there is at least one waiter (a thread that was woken to take
 *		it counts as a holder: the hand-over is part of what the lock costs), and idle time
 *		while a holder sleeps or waits for a device. A barrier: G of the last to arrive,
 *		from when the first one waits, as far as it lies in the last one's current active
 *		stretch. What is signalled (condition, semaphore, queue, futex): G of the thread
 *		that signals, from the first wait since the last signal, within its current
 *		active stretch. A semaphore is a lock with as many holders as it has tokens if
 *		those who post it hold one: if such posts ended most of the time waited for
 *		a post, counted from the first wait or the post before.
 *	loss	the sum over waits of the growth of W (account.h): how much shorter the run would
 *		be if those who wait for it had done their share of the work meanwhile. A wait
 *		that timed out was not for another thread and loses nothing; waits for signals
 *		lose nothing while no thread is active at all.
 *	turns	of the losses at what is signalled, those of threads that let others go on themselves: of each
 *		thread what it lost, where another one ended its wait, but no more than what others
 *		lost until it ended theirs. Who only serves others, or is only served, takes no turns;
 *		threads that pass something on do: a lock made of conditions, an uneven round. A
 *		wait that timed out and was begun again counts with the one that was ended.
 *	passed on	of the loss at a mutex, what accrues while its holder itself waits for another lock: it
 *		counts for that one, of which it is taken over. The holder there is the root
 *	contended	time with at least one waiter: no path through the run is shortened by
 *		more when the object is removed
 *
 * What a recorder with a budget left out (EVENT_LEFT_OUT) was waited for by nobody, so none of the above
 * changes but the acquisitions and the time held: both are made up from the free acquisitions that
 * were recorded, n left out before m recorded ones as n/m of each.
 *
 * Blames of nested locks overlap; each is at most the elapsed time (shared holders apart).
 *
 * Code: a sample carries the criticality of its thread since that one's previous sample, whatever
 * waits lie between; what follows the last one counts for where that was, and a thread that was
 * never sampled for its start routine. Without samples, an active stretch between two events of a
 * thread counts for the call site of the later one: the code that leads up to that call. Either
 * way the sites of a thread add up to its criticality.
 *
 * Idle time, in which no thread was active, counts for the call site of the wait that was the first to end.
 */
#ifndef CRITICALITY_BLAME_H
#define CRITICALITY_BLAME_H

#include "criticality/account.h"

#define SHARE_ONE (1ull << 16)

/* A mutex, barrier, ... that somebody waited for or held. Units as in account.h. */
struct object {
	uint32_t pid;
	uint8_t what;
	uint64_t address;
	char *name; /* NULL if it has none */
	uint64_t site; /* of its first use, by which an object without a name is called */
	uint64_t entry; /* futex: where its first waiter entered the kernel; 0 if unknown */
	uint64_t init_site; /* where it was initialised last; 0: not seen */
	uint64_t
		*callers; /* of a wait for it: LOCK_CALLERS_MAX return addresses; NULL: not known */
	uint64_t acquisitions, waits, try_failures;
	uint64_t spins; /* of the waits: loops of failed tries */
	uint64_t held_ns, waited_ns, contended_ns;
	/* Of free acquisitions that the recorder left out, by those that it recorded for them. */
	uint64_t unseen_shares, unseen_held_ns; /* acquisitions: in 1 / SHARE_ONE */
	uint64_t blame; /* units; but for what holders are blamed for */
	uint64_t loss, idle_loss; /* units; idle_loss: while no thread was active */
	/* The same up to now, of all that wait; and what of it is for another lock, or was for others than this one. */
	uint64_t queued, queued_idle;
	uint64_t passed_on, passed_on_idle, taken_over, taken_over_idle;
	double waited_ns2; /* the sum of the squares of its waits */
	uint64_t held_blame; /* units */
	uint64_t returned_ns,
		signalled_ns; /* semaphore: waiting that posts by holders, others ended */
	uint64_t serial_ns; /* barrier: length of episodes in which only the last had work to do */
	uint64_t episodes; /* barrier */
	uint64_t wakes, wakes_by_waiters; /* futex: by threads that wait for it at other times */
	uint64_t exit_wakes; /* futex: the last thing that the waker did */
	uint64_t most_units; /* the signal that is blamed most, */
	uint32_t
		most_sample; /* and what its thread ran when last sampled: as in struct blame_thread */

	/* Now. */
	uint32_t waiters, active_holders, blocked_holders;
	uint64_t settled_g, settled_idle_ns, settled_w, settled_w_idle;
	uint64_t own_g,
		own_idle; /* units: what an active, a blocked holder is blamed for, by now */
	uint64_t busy_since_ns; /* there are waiters */
	uint64_t wait_g; /* when the first waiter came, or at the last signal */
	uint64_t open_ns; /* when the first waiter came; barrier: when this episode began */
	uint64_t others_ns,
		late_ns; /* barrier: work before arriving, of the last and of the others */
	uint32_t arrivals; /* barrier: in this episode */
	uint64_t end_g, end_ns; /* barrier: end of this episode, once a waiter has left */
	uint64_t late_units; /* barrier: blame of the last to arrive so far */
	uint32_t late_thread;
	bool is_open, has_left; /* barrier: an episode is under way; somebody has left it */
	uint64_t kept_g,
		kept_ns; /* barrier: since when who still waits there is kept (blame_parts.h) */
};

/* What an object and a thread, or an object and a call site, have to do with one another. */
struct pairing {
	uint32_t object;
	uint64_t other; /* index of the thread, or the site */
	uint64_t blame, held_blame; /* units; as of the object */
	uint64_t waited_ns, count; /* by sites; by threads: where these spin */
	uint64_t lost; /* units: by waits of the thread at the object that others ended */
	uint64_t blocked_ns; /* the thread held it while it slept or waited for a device */
};

struct site {
	uint32_t pid;
	uint64_t address;
	uint64_t stack; /* id of the callers', of samples; 0: unknown */
	uint64_t blame; /* units */
	uint64_t count;
	uint64_t alone_ns; /* of samples: no other thread was active; of idles: none was */
	uint8_t what; /* of idles: waited for there */
};

struct site_table {
	struct site *items;
	size_t count, capacity;
	struct index index;
};

struct pairing_table {
	struct pairing *items;
	size_t count, capacity;
	struct index index;
};

struct hold {
	uint32_t object, depth;
	uint64_t since_ns, blame; /* units; but for the current stretch */
	uint64_t mark; /* the object's own_g or own_idle when the thread's current stretch began */
	uint64_t mark_ns, blocked_ns; /* when that was; of the stretches before, those blocked */
	uint64_t queued,
		queued_idle; /* the object's when its holder began to wait for another lock */
	uint64_t site;
	uint64_t shares; /* of those left out that it stands for, in 1 / SHARE_ONE */
	bool is_coming; /* woken to take it */
};

/* What blame knows of a thread, beside the account's struct of the same index. */
struct blame_thread {
	struct hold *holds;
	size_t count, capacity;
	uint32_t object; /* waited for: its index plus one; 0: none */
	uint64_t site; /* of its last wait */
	uint64_t ended_idle_ns; /* the account's, of which idles know */
	uint32_t last_object; /* of the wait that ended last: its index plus one */
	uint64_t wait_ns, wait_w[RANKS], wait_w_idle[RANKS];
	uint64_t lost, lost_idle; /* by the wait that ended last; lost_idle: as of the object */
	uint64_t ended_by_others, ended; /* losses at signals: its own; of those that it ended */
	uint64_t timed_out; /* loss by waits at last_object since one that was ended */
	uint64_t segment_g;
	uint64_t sampled, sampled_alone_ns; /* criticality, and time alone, when last sampled */
	uint32_t sample; /* its last one: index into samples plus one; 0: none yet */
	uint64_t barrier_ns, barrier_cpu_ns; /* when it last passed a barrier */
	uint64_t begin_cpu_ns,
		unseen_ns; /* unseen: it slept, by the scheduler, and that is in no event */
	uint64_t queued_ns; /* it waited for a core, by the scheduler; 0: unknown */
	uint32_t woke; /* futex that it woke somebody at, with nothing since: its index plus one */
	/* A burst: the next free acquisitions, each of which stands for others that were left out. */
	uint64_t burst, burst_shares;
	uint64_t tried; /* object of the last trylock that failed */
	uint64_t tried_ns;
};

struct blame {
	struct object *objects;
	size_t object_count, object_capacity;
	struct index index;
	struct blame_thread *threads;
	size_t thread_count, thread_capacity;
	struct pairing_table by_thread, by_site; /* of objects */
	struct site_table segments, samples, idles;
	struct index stacks; /* (id, process) to a small number, from 1 */
	uint32_t stack_count;
	uint64_t sample_count;
	uint64_t free_locks,
		left_out; /* free acquisitions of mutexes; those that no event tells of */
};

void blame_release(struct blame *blame);

/*
 * One event of a thread, before (blame_before) and after (blame_after) the account has changed its
 * state. 0 or -ENOMEM.
 */
int blame_before(struct blame *blame, const struct account *account, uint32_t thread,
	const struct event *event);
int blame_after(struct blame *blame, const struct account *account, uint32_t thread,
	const struct event *event);

/* The object of this event's address, made if it is new; NULL without memory. */
struct object *blame_object(struct blame *blame, uint32_t pid, uint8_t what, uint64_t address);

/* Adds what is open at the end, so that the numbers above can be read. */
void blame_settle(struct blame *blame, const struct account *account);

static inline bool what_is_lock(uint8_t what)
{
	return what == WHAT_MUTEX || what == WHAT_RWLOCK || what == WHAT_SPIN;
}

static inline bool what_is_signalled(uint8_t what)
{
	return what == WHAT_COND || what == WHAT_SEM || what == WHAT_QUEUE || what == WHAT_FUTEX;
}

/* What a thread may hold. */
static inline bool what_is_held(uint8_t what)
{
	return what_is_lock(what) || what == WHAT_SEM;
}

/* A place where threads spin (analysis.h), not a lock of which it is known who has it. */
static inline bool object_is_code(const struct object *object)
{
	return object->what == WHAT_SPIN && object->address == object->site;
}

/* Whether its holders are to blame, so far. */
static inline bool object_is_lock(const struct object *object)
{
	return what_is_lock(object->what) || object->returned_ns > object->signalled_ns;
}

static inline uint64_t object_blame(const struct object *object)
{
	return object_is_lock(object) ? object->held_blame : object->blame;
}

static inline uint64_t pairing_blame(const struct pairing *pairing, const struct object *object)
{
	return object_is_lock(object) ? pairing->held_blame : pairing->blame;
}

static inline bool what_is_object(uint8_t what)
{
	return what_is_lock(what) || what_is_signalled(what) || what == WHAT_BARRIER;
}

#endif
