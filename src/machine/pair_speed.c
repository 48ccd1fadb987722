/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/pair_speed.h"

#include "base/order.h"

#include "machine/chain.h"
#include "machine/pin.h"
#include "machine/probe_threads.h"
#include "machine/speed_clock.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* Of each kind many short tries, so that some are not disturbed, however busy the machine is. */
enum {
	LINE = 64,
	SHARED_WORDS = 4, /* half a line */
	ADDITIONS = 2000, /* of a try */
	ADD_TRIES = 300,
	LOCKS = 5000,
	LOCK_TRIES = 100,
	OVERLAP_LINKS = 10,
	SWAPS = 20000, /* of a line between two cores */
	PAGE = 4096,
	LINES = 47, /* that the other core writes, each in a page of its own: the TLB knows all */
	STEP = 5, /* the next after the n-th is the STEP * n-th, modulo LINES: all but the 0th, and no prefetcher knows the order */
	LINE_TRIES = 500,
};

static const double MOST_NS = 0.5e9; /* for the tries of each kind, or others make it long */

/* One line of a page, in each page another one, so that the first cache has room for all. */
struct apart {
	struct apart *_Atomic next;
	char rest[PAGE + LINE - sizeof(void *)];
};

/* Two threads, each on a core of its own. */
struct pair {
	_Alignas(LINE) atomic_uint turn;
	struct apart
		*lines; /* that the other thread writes before it gives the turn back; NULL: none */
	_Alignas(LINE) sem_t done;
	pthread_mutex_t mutex;
	_Alignas(
		LINE) volatile uint64_t words[2][SHARED_WORDS]; /* in one line: each thread's own */
	_Alignas(LINE) atomic_uint adds; /* so the other thread adds to its words, too */
};

enum adding {
	ADD_NONE,
	ADD_FREELY,
	ADD_IN_CHAIN, /* each needs the one before */
	ADD_LOCKED, /* nobody comes between the reading and the writing: each comes behind the one before */
	ADDINGS
};

/* The n-th processor that this process may use; if there is none, it is only less exact. */
static void pin_to(unsigned n)
{
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && n-- == 0)
			(void)pin_self(i); /* likewise */
}

enum { NO_MORE_TURNS = INT_MAX };

/*
 * Whether it comes. A core is at times somebody else's: who waits for it gives its own away, rather than spin for
 * nothing.
 */
static bool await_turn(struct pair *pair, unsigned turn)
{
	unsigned now, spins = 0;
	while ((now = atomic_load_explicit(&pair->turn, memory_order_acquire)) != turn &&
		now != NO_MORE_TURNS)
		if (++spins % 4096 == 0)
			(void)sched_yield(); /* it cannot fail */
	return now == turn;
}

/* In turn, so that none is forwarded from the one before. */
static void add_freely(volatile uint64_t *words)
{
	for (unsigned i = 0; i < ADDITIONS; i++)
		words[i % SHARED_WORDS]++;
}

static void add_in_chain(volatile uint64_t *words)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < ADDITIONS; i++) {
		sum = words[(i + sum) % SHARED_WORDS] + 1;
		words[0] = sum;
	}
}

static void add_locked(volatile uint64_t *words)
{
	for (unsigned i = 0; i < ADDITIONS; i++)
		(void)__atomic_fetch_add(&words[i % SHARED_WORDS], 1, __ATOMIC_SEQ_CST);
}

static void (*const add[ADDINGS])(volatile uint64_t *words) = {
	[ADD_FREELY] = add_freely,
	[ADD_IN_CHAIN] = add_in_chain,
	[ADD_LOCKED] = add_locked,
};

static void write_lines(struct apart *lines)
{
	for (unsigned i = 1; i < LINES; i++)
		atomic_store_explicit(
			&lines[i].next, &lines[i * STEP % LINES], memory_order_relaxed);
}

static void *answer(void *context)
{
	struct pair *pair = context;
	pin_to(1);
	for (unsigned i = 0; await_turn(pair, 2 * i + 1); i++) {
		if (pair->lines)
			write_lines(pair->lines);
		atomic_store_explicit(&pair->turn, 2 * i + 2, memory_order_release);
	}
	unsigned adding;
	while ((adding = atomic_load(&pair->adds)) != ADD_NONE)
		add[adding](pair->words[1]);
	probe_await(&pair->done);
	return NULL;
}

/* Of an addition; the median, since others make some longer, and some shorter while the other thread is not there. */
static double addition_ns(struct pair *pair, enum adding adding)
{
	double tries_ns[ADD_TRIES], all_ns = speed_now_ns();
	size_t count = 0;
	while (count < ADD_TRIES && speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns();
		add[adding](pair->words[0]);
		tries_ns[count++] = (speed_now_ns() - began_ns) / ADDITIONS;
	}
	order_doubles(tries_ns, count);
	return tries_ns[count / 2];
}

/*
 * A line that came is held for h from another core that wants it, and comes back a turn t after that. Additions that go one behind the
 * other, each taking a while nobody else wants the line, are 1 + h / a in t + h; that many take c each. More than t is not told from it: additions
 * that hardly take longer may have had no competition.
 */
static double hold_of(double alone_ns, double both_ns, double turn_ns)
{
	double more = both_ns / alone_ns - 1;
	if (both_ns >= turn_ns)
		return 0;
	return more > 0 ? fmin((turn_ns - both_ns) / more, turn_ns) : turn_ns;
}

/* In the mean of both kinds; and how many of the others are done each time that the line is here, if they are what it waits for. */
static void measure_stay(struct pair *pair, struct pair_speed *ret)
{
	static const double slower = 2;
	double both_ns[ADDINGS], alone_ns[ADDINGS];
	for (enum adding adding = ADD_FREELY; adding < ADDINGS; adding++) {
		atomic_store(&pair->adds, adding);
		both_ns[adding] = addition_ns(pair, adding);
	}
	atomic_store(&pair->adds, ADD_NONE);
	for (enum adding adding = ADD_FREELY; adding < ADDINGS; adding++)
		alone_ns[adding] = addition_ns(pair, adding);
	if (both_ns[ADD_FREELY] <= slower * alone_ns[ADD_FREELY])
		return;
	for (enum adding adding = ADD_IN_CHAIN; adding < ADDINGS; adding++)
		ret->hold_ns += hold_of(alone_ns[adding], both_ns[adding], ret->turn_ns) / 2;
	ret->stay = (ret->turn_ns + ret->hold_ns) / both_ns[ADD_FREELY];
}

/* The other thread's turn, and back. */
static void give_turn(struct pair *pair, unsigned *turns)
{
	atomic_store_explicit(&pair->turn, 2 * *turns + 1, memory_order_release);
	(void)await_turn(pair, 2 * ++*turns); /* it comes: there are more */
}

/* Of lines that the other thread has just written, one behind the other; 0: there is no memory for them. */
static double fetch_lines(struct pair *pair, unsigned *turns)
{
	double tries_ns[LINE_TRIES], all_ns = speed_now_ns();
	unsigned count = 0;
	struct apart *lines = aligned_alloc(LINE, LINES * sizeof(*lines));
	if (!lines)
		return 0;
	pair->lines = lines;
	while (count < LINE_TRIES && speed_now_ns() - all_ns < MOST_NS) {
		give_turn(pair, turns);
		double began_ns = speed_now_ns();
		struct apart *line = &lines[1];
		for (unsigned i = 1; i < LINES; i++)
			line = atomic_load_explicit(&line->next, memory_order_acquire);
		double took_ns = speed_now_ns() - began_ns;
		tries_ns[count++] = line ? took_ns / (LINES - 1) : 0;
	}
	pair->lines = NULL;
	free(lines);
	return speed_lower_tenth(tries_ns, count);
}

enum { GROUP = 20 };

static double swap_lines(struct pair *pair, unsigned *turns)
{
	double rounds_ns[SWAPS / GROUP], all_ns = speed_now_ns();
	unsigned count = 0;
	while (count < SWAPS / GROUP && speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns();
		for (unsigned k = 0; k < GROUP; k++)
			give_turn(pair, turns);
		rounds_ns[count++] = (speed_now_ns() - began_ns) / GROUP;
	}
	atomic_store(&pair->turn, NO_MORE_TURNS);
	return speed_lower_tenth(rounds_ns, count) / 2; /* a round trip is two turns */
}

/* Of a free mutex (NULL: none), with a chain of so many instructions between its lock and its unlock. */
static double lock_ns(pthread_mutex_t *mutex, unsigned links)
{
	double best_ns = 0;
	double all_ns = speed_now_ns();
	uint64_t value = 3;
	for (int i = 0; i < LOCK_TRIES && speed_now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = speed_now_ns();
		for (int k = 0; k < LOCKS; k++) {
			if (mutex)
				(void)pthread_mutex_lock(mutex); /* a plain mutex that is ours */
			value = chain_links(value, links);
			if (mutex)
				(void)pthread_mutex_unlock(mutex);
		}
		best_ns = speed_least(best_ns, (speed_now_ns() - began_ns) / LOCKS);
	}
	return best_ns;
}

/*
 * How much of a lock's time a chain goes on in it: 0 .. 1; 0 where no chain's clock is known. Twice as long as the lock: where both take
 * the same, they end in each other's way by a quarter of it, which looks like half of no overlap.
 */
static double lock_overlap(pthread_mutex_t *mutex, double alone_ns)
{
	double link_ns = lock_ns(NULL, OVERLAP_LINKS) / OVERLAP_LINKS;
	if (CHAIN_CYCLES == 0 || !(link_ns > 0) || !(alone_ns > 0))
		return 0;
	unsigned links = (unsigned)(2 * alone_ns / link_ns + 0.5);
	double both_ns = alone_ns + lock_ns(NULL, links) - lock_ns(mutex, links);
	return fmin(fmax(both_ns / alone_ns, 0), 1);
}

/* The calling thread is pinned in a child of its own, so that the process stays as it was. */
static void *ask(void *context)
{
	struct pair_speed *look = context;
	struct pair pair = { .mutex = PTHREAD_MUTEX_INITIALIZER, .adds = ADD_FREELY };
	pthread_t thread;
	(void)sem_init(&pair.done, 0, 0); /* these arguments are valid */
	if (pthread_create(&thread, NULL, answer, &pair) != 0)
		return NULL;
	pin_to(0);
	unsigned turns = 0;
	look->transfer_ns = look->transfer_least_ns = look->transfer_most_ns =
		fetch_lines(&pair, &turns);
	look->turn_ns = swap_lines(&pair, &turns);
	measure_stay(&pair, look);
	/* The other thread waits meanwhile: with one thread the C library leaves the atomics out. */
	look->lock_ns = lock_ns(&pair.mutex, 0);
	look->lock_overlap = lock_overlap(&pair.mutex, look->lock_ns);
	(void)sem_post(&pair.done); /* it cannot overflow */
	(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&pair.done);
	return look;
}

bool pair_speed_measure(struct pair_speed *ret)
{
	pthread_t thread;
	void *look = NULL;
	*ret = (struct pair_speed){ 0 };
	if (pthread_create(&thread, NULL, ask, ret) == 0)
		(void)pthread_join(thread, &look); /* it ends by itself */
	return look != NULL;
}

static int compare_looks(const void *a, const void *b)
{
	const struct pair_speed *x = a, *y = b;
	return (x->transfer_ns > y->transfer_ns) - (x->transfer_ns < y->transfer_ns);
}

struct pair_speed pair_speed_settle(struct pair_speed *looks, size_t count)
{
	if (count == 0)
		return (struct pair_speed){ 0 };
	qsort(looks, count, sizeof *looks, compare_looks);
	struct pair_speed middle = looks[count / 2];
	for (size_t i = 0; i < count; i++) {
		middle.lock_ns = speed_least(middle.lock_ns, looks[i].lock_ns);
		middle.lock_overlap = fmax(middle.lock_overlap, looks[i].lock_overlap);
	}
	middle.transfer_least_ns = looks[0].transfer_ns;
	middle.transfer_most_ns = looks[count - 1].transfer_ns;
	return middle;
}
