/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The criticality of every thread, in constant time for each change.
 *
 * Du Bois, Eyerman, Sartor, Eeckhout: "Criticality Stacks: Identifying Critical Threads in Parallel
 * Programs using Synchronization Behavior", ISCA 2013, equation 1: while r threads are active, each
 * of them gets dt / r. With
 *
 *	G(t) = integral of dt / r over the time with r > 0
 *
 * a thread's criticality is the sum of G(end) - G(begin) over its active stretches, so that a
 * change of state touches one sum and one thread. Bottle graphs (Du Bois, Sartor, Eyerman,
 * Eeckhout, OOPSLA 2013): a thread's parallelism is its active time over its criticality.
 *
 * Why the shares add up to the last nanosecond. G counts in units of 2^-16 ns. A stretch of dt with
 * r active threads has x = dt * 2^16 + carry units to give away: each thread gets the whole part q
 * of x / r (G grows by q), and x - r q, less than r units, is the next carry. So after every stretch
 *
 *	sum over threads of what they got + carry = active time * 2^16
 *
 * by induction. Rounding to nanoseconds keeps the sum: with P(j) the sum of the first j threads'
 * units (the carry is added to the last), thread j is given floor(P(j) / 2^16) -
 * floor(P(j - 1) / 2^16), which telescopes to the active time. Active time and idle time (r = 0)
 * are plain integers and add up to the elapsed time. A stretch of no length changes nothing, so
 * the order of simultaneous events does not matter.
 *
 * More clocks run beside G for those who wait (blame.h): with w the number of threads that wait for
 * other threads and P that of the cores, p = min(r + w, P) threads could run, and the same work would
 * take r / p of the time. W(t) is the integral of (1 - r / p) dt / w over the time with 0 < r < P: what
 * each of those who wait could have saved. Without a limit to P that is dt / (r + w). The same while no
 * thread is active, as if one were (a lock's holder may sleep), and the idle time itself.
 * Threads that are there in case of need (a pool's, a runtime's) would do next to nothing if they did not wait: those are
 * not counted in w, nor save anything, while others wait that work. A thread is such a standby if it has been active for less than a
 * 32nd of its life and of what the most active thread was, once that is 32 ms: before, it may not have had its first turn. That is asked when it
 * begins to wait, and of all whenever the run is twice as long.
 *
 * Memory: one struct thread for each thread ever seen, and for each at most STRIP_BINS numbers of
 * the strip over time, whose bins double in width when the run outgrows them.
 */
#ifndef CRITICALITY_ACCOUNT_H
#define CRITICALITY_ACCOUNT_H

#include "criticality/index.h"
#include "trace/event.h"

#include <stdbool.h>

enum { UNIT_SHIFT = 16 }; /* of the fixed point: 1 ns is 2^16 units */
enum { STRIP_BINS = 64, STRIP_SHIFT_MIN = 14 }; /* the first bins are 2^14 ns wide */
enum { EXITED_MAX = 64 };
enum { PARALLELISM_MAX = 256 }; /* times at more than this are added to the last */

/*
 * Where others did less than a 32nd of one thread's work (until they met it at a barrier, or in all) that was a phase
 * of one thread rather than an uneven share of common work; and threads that do less than that are a standby.
 */
enum { SERIAL_RATIO = 32 };

enum rank { RANK_WORKER, RANK_STANDBY, RANKS };

struct thread {
	uint32_t pid, tid, parent;
	uint64_t routine; /* where it started; 0 if unknown */
	char *name; /* NULL if it has none */
	uint64_t start_ns, end_ns; /* of its life, on the account's clock */
	uint64_t criticality; /* units */
	uint64_t active_ns, alone_ns; /* running or runnable; and no other thread was */
	uint64_t ended_idle_ns; /* in which no thread was active, until this one was */
	uint64_t waited_ns[WHAT_OTHER + 1];
	uint64_t since_ns, since_g; /* of the stretch that it is in */
	uint64_t *bins; /* units in each bin of the strip, from first_bin on */
	uint32_t first_bin, bin_count;
	uint8_t what; /* that it waits for */
	uint8_t rank; /* enum rank, when it began to wait last, or since */
	bool is_waiting, is_on_core, is_active, is_alive;
	bool is_ready, is_running; /* it does not wait; and it has a core */
	bool is_spinning; /* it waits, on its core, by what its samples show (analysis.h) */
	uint64_t spins_at; /* where then; 0: in a runtime */
};

struct account {
	/* Settings, before the first event. */
	uint64_t window_from_ns, window_to_ns; /* since the first event; to = 0: no window */
	bool needs_core; /* active means on a core, where the events say who has one */
	uint32_t cores; /* that could have served those who waited; 0: any number */
	uint32_t run_cores; /* that the run had; 0: unknown */

	/* The clock: time since the first event, or the part of it inside the window. */
	uint64_t origin_ns, now_ns;
	bool has_begun, has_cores, is_inside; /* is_inside: the window */
	uint64_t g, carry, idle_ns; /* see above */
	uint64_t w[RANKS], w_idle[RANKS]; /* of threads of that rank */
	uint32_t active, held_up[RANKS]; /* r; threads that wait for other threads */
	uint64_t most_active_ns; /* of a thread */
	uint32_t ready, running; /* threads */
	uint64_t wanted_ns,
		denied_ns; /* of cores that ready threads could use; that they did not have */
	uint32_t live, live_max;
	uint64_t idle_told_ns; /* of idle_ns: known who ended it */
	uint64_t active_sum; /* of the indices of active threads: when there is one, who it is */
	uint64_t parallelism_ns[PARALLELISM_MAX + 1]; /* time with this many active threads */

	struct thread *threads;
	size_t thread_count, thread_capacity;
	struct index index; /* live threads by pid and tid */
	uint32_t exited[EXITED_MAX]; /* tids of those that ended last */
	uint32_t exit_count;

	uint64_t strip_g[STRIP_BINS + 1]; /* G at the begin of each bin */
	uint32_t strip_shift, strip_done; /* log2 of the bin's width; bins that are over */
};

void account_init(struct account *account);
void account_release(struct account *account);

/*
 * The clock moves to an event's time (an earlier one leaves it). -ERANGE: more than 39 hours,
 * beyond which units overflow.
 */
int account_advance(struct account *account, uint64_t time_ns);

/* The live thread's index; a new one, active, if it was not known. INDEX_NONE without memory. */
uint32_t account_thread(struct account *account, uint32_t pid, uint32_t tid);

/*
 * What an event changes in the state of its thread, at the clock's time: it waits, is woken, gets or loses a
 * core, ends, or nothing. Waiting again while waiting begins another wait.
 */
void account_apply(struct account *account, uint32_t thread, const struct event *event);

/* Adds what open stretches have accrued so far, so that the numbers above can be read. */
void account_settle(struct account *account);

/* G that a thread has accrued since its clock showed `g`, in the stretch that it is in. */
static inline uint64_t account_since(
	const struct account *account, const struct thread *thread, uint64_t g)
{
	if (!thread->is_active)
		return 0;
	/* Differences, so that a G that came round makes none. */
	uint64_t own = account->g - thread->since_g, asked = account->g - g;
	return own < asked ? own : asked;
}

/* Whether a thread that waits for this waits for another thread. */
static inline bool what_is_held_up(uint8_t what)
{
	return what != WHAT_NONE && what != WHAT_JOIN && what != WHAT_SLEEP && what != WHAT_IO &&
	       what != WHAT_DISK && what <= WHAT_FUTEX;
}

#endif
