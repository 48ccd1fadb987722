/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/machine_speed.h"

#include "base/order.h"

#include "machine/busy.h"
#include "machine/chain.h"
#include "machine/core_watch.h"
#include "machine/locked_speed.h"
#include "machine/pin.h"
#include "machine/speed_clock.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of each kind many short tries, so that some are not disturbed, however busy the machine is. */
enum {
	LINE = 64,
	CHAIN = 10000, /* instructions of a try: some ten microseconds, in which nobody else need be there */
	CHAINS = 30000, /* a third of a second */
	WINDOW = 1000, /* of them: some ticks of any system */
	SHARED_WORDS = 4, /* half a line */
	ADDITIONS = 2000, /* of a try */
	ADD_TRIES = 300,
	LOCKS = 5000,
	LOCK_TRIES = 100,
	OVERLAP_LINKS = 10,
	SWAPS = 20000, /* of a line between two cores */
	LOOKS = 3, /* at a pair of cores */
	WAKES = 20, /* probes */
	INTERRUPTS = 5,
};

/* Busy processors: more than the system's own work and the watch take. */
static const double OTHERS_NOTABLE = 0.1;

static const double SLICE_NS = 0.5e6; /* what is longer is somebody's turn, no interrupt */
static const double MOST_NS =
	0.5e9; /* for the tries of each kind, or others on the machine make it long */

/* Of many tries: others only make them longer, and a few are shorter than it is, by the clock that tells. */
static double lower_tenth(double *values, size_t count)
{
	order_doubles(values, count);
	return values[count / 10];
}

struct interruptions {
	double lost_ns, all_ns; /* of */
	unsigned count;
};

/* Adds tries, each of which takes free_ns: not the clock's own changes, and not what schedulers give to others. */
static void see_interruptions(const double *tries_ns, double free_ns, struct interruptions *ret)
{
	for (unsigned i = 0; i < WINDOW; i++) {
		double more_ns = tries_ns[i] - free_ns;
		if (more_ns > SLICE_NS)
			continue;
		ret->all_ns += tries_ns[i];
		if (more_ns > free_ns / 5) {
			ret->lost_ns += more_ns;
			ret->count++;
		}
	}
}

/*
 * A core does not keep one clock: the fastest of many short tries is a twentieth above what programs get. Of windows of
 * tries the median is what is lost by interrupts, of the kernel or below it.
 */
static void measure_clock(struct machine_speed *ret)
{
	static double tries_ns[CHAINS], sorted_ns[CHAINS];
	double shares[CHAINS / WINDOW];
	double all_ns = speed_now_ns();
	size_t count = 0, windows = 0;
	while (count < CHAINS && speed_now_ns() - all_ns < MOST_NS)
		tries_ns[count++] = chain_run_ns(CHAIN);
	memcpy(sorted_ns, tries_ns, count * sizeof *tries_ns);
	double free_ns = lower_tenth(sorted_ns, count);
	ret->hz = CHAIN_CYCLES * (double)CHAIN / free_ns * 1e9;
	struct interruptions all = { 0 };
	for (; windows < count / WINDOW; windows++) {
		struct interruptions window = { 0 };
		see_interruptions(&tries_ns[windows * WINDOW], free_ns, &window);
		shares[windows] = window.all_ns > 0 ? window.lost_ns / window.all_ns : 0;
		all.lost_ns += window.lost_ns;
		all.count += window.count;
	}
	order_doubles(shares, windows);
	ret->interrupted = windows > 0 ? shares[windows / 2] : 0;
	ret->interruption_ns = all.count > 0 ? all.lost_ns / all.count : 0;
}

/* Two threads, each on a core of its own. */
struct pair {
	_Alignas(LINE) atomic_uint turn;
	_Alignas(LINE) sem_t done;
	pthread_mutex_t mutex;
	_Alignas(
		LINE) volatile uint64_t words[2][SHARED_WORDS]; /* in one line: each thread's own */
	_Alignas(LINE) atomic_bool is_contended; /* the other thread adds to its words, too */
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
static void add_to_words(volatile uint64_t *words)
{
	for (unsigned i = 0; i < ADDITIONS; i++)
		words[i % SHARED_WORDS]++;
}

static void *answer(void *context)
{
	struct pair *pair = context;
	pin_to(1);
	for (unsigned i = 0; await_turn(pair, 2 * i + 1); i++)
		atomic_store_explicit(&pair->turn, 2 * i + 2, memory_order_release);
	while (atomic_load(&pair->is_contended))
		add_to_words(pair->words[1]);
	while (sem_wait(&pair->done) < 0)
		continue;
	return NULL;
}

/* Of an addition; the median, since others make some longer, and some shorter while the other thread is not there. */
static double addition_ns(struct pair *pair)
{
	double tries_ns[ADD_TRIES], all_ns = speed_now_ns();
	size_t count = 0;
	while (count < ADD_TRIES && speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns();
		add_to_words(pair->words[0]);
		tries_ns[count++] = (speed_now_ns() - began_ns) / ADDITIONS;
	}
	order_doubles(tries_ns, count);
	return tries_ns[count / 2];
}

/*
 * How many additions one thread does each time that a line is there which both add to: in the time of two transfers, if they are what it
 * waits for.
 */
static double additions_of_a_stay(struct pair *pair, double transfer_ns)
{
	static const double slower = 2;
	double contended_ns = addition_ns(pair);
	atomic_store(&pair->is_contended, false);
	double alone_ns = addition_ns(pair);
	return contended_ns > slower * alone_ns ? 2 * transfer_ns / contended_ns : 0;
}

enum { GROUP = 20 };

static double swap_lines(struct pair *pair)
{
	double rounds_ns[SWAPS / GROUP], all_ns = speed_now_ns();
	unsigned count = 0;
	while (count < SWAPS / GROUP && speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns();
		for (unsigned k = count * GROUP; k < (count + 1) * GROUP; k++) {
			atomic_store_explicit(&pair->turn, 2 * k + 1, memory_order_release);
			(void)await_turn(pair, 2 * k + 2); /* it comes: there are more */
		}
		rounds_ns[count++] = (speed_now_ns() - began_ns) / GROUP;
	}
	atomic_store(&pair->turn, NO_MORE_TURNS);
	return lower_tenth(rounds_ns, count) / 2; /* a round trip is two transfers */
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

/* What was measured, 0 being nothing. */
static double least(double a, double b)
{
	return a > 0 && b > 0 ? speed_least(a, b) : a > b ? a : b;
}

/* Of what was measured (not 0): 0 if that is nothing. */
static double middle(double *values, size_t count)
{
	order_doubles(values, count);
	size_t unknown = 0;
	while (unknown < count && values[unknown] == 0)
		unknown++;
	return unknown < count ? values[unknown + (count - unknown) / 2] : 0;
}

/*
 * 0: it was never alone. What goes by way of a hypervisor takes twice as long at one moment as at another (11 to 30 us to wake a thread,
 * within 20 s), and a program has its share of all of them: the middle counts, not the least.
 */
static void measure_wakes(struct machine_speed *ret)
{
	double latencies_ns[WAKES], costs_ns[WAKES];
	for (int i = 0; i < WAKES; i++) {
		struct wake_probe probe = wake_probe_measure();
		latencies_ns[i] = probe.latency_ns;
		costs_ns[i] = probe.cost_ns;
		ret->doze_ns = least(ret->doze_ns, probe.doze_ns);
	}
	ret->wake_ns = middle(latencies_ns, WAKES);
	ret->wake_cost_ns = middle(costs_ns, WAKES);
	ret->halt = halt_probe_measure();
	double interrupt_costs_ns[INTERRUPTS], queued_costs_ns[INTERRUPTS], losses_ns[INTERRUPTS];
	for (int i = 0; i < INTERRUPTS; i++) {
		struct interrupt_probe probe = interrupt_probe_measure();
		interrupt_costs_ns[i] = probe.cost_ns;
		queued_costs_ns[i] = probe.queued_cost_ns;
		losses_ns[i] = probe.lost_ns;
	}
	ret->interrupt.cost_ns = middle(interrupt_costs_ns, INTERRUPTS);
	ret->interrupt.queued_cost_ns = middle(queued_costs_ns, INTERRUPTS);
	ret->interrupt.lost_ns = middle(losses_ns, INTERRUPTS);
}

/* Two cores of a virtual machine may be near one another now and far apart a second later: it is looked at several times. */
struct looks {
	struct look {
		double transfer_ns, stay;
	} list[LOOKS];
	unsigned count;
	double lock_ns, lock_overlap;
};

/* The calling thread is pinned in a child of its own, so that the process stays as it was. */
static void *ask(void *context)
{
	struct looks *looks = context;
	struct look *look = &looks->list[looks->count];
	struct pair pair = { .mutex = PTHREAD_MUTEX_INITIALIZER, .is_contended = true };
	pthread_t thread;
	(void)sem_init(&pair.done, 0, 0); /* these arguments are valid */
	if (pthread_create(&thread, NULL, answer, &pair) != 0)
		return NULL;
	pin_to(0);
	look->transfer_ns = swap_lines(&pair);
	look->stay = additions_of_a_stay(&pair, look->transfer_ns);
	looks->count++;
	/* The other thread waits meanwhile: with one thread the C library leaves the atomics out. */
	looks->lock_ns = least(looks->lock_ns, lock_ns(&pair.mutex, 0));
	looks->lock_overlap = fmax(looks->lock_overlap, lock_overlap(&pair.mutex, looks->lock_ns));
	(void)sem_post(&pair.done); /* it cannot overflow */
	(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&pair.done);
	return NULL;
}

static void look_at_pair(const struct machine *machine, struct looks *looks)
{
	pthread_t thread;
	if (machine->usable > 1 && pthread_create(&thread, NULL, ask, looks) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
}

static int compare_looks(const void *a, const void *b)
{
	const struct look *x = a, *y = b;
	return (x->transfer_ns > y->transfer_ns) - (x->transfer_ns < y->transfer_ns);
}

static int measure_once(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	struct looks looks = { .count = 0 };
	int code = memory_levels_measure(machine, &ret->memory, err);
	if (code < 0)
		return code;
	measure_clock(ret);
	look_at_pair(machine, &looks);
	memory_rates_measure(machine, &ret->memory);
	look_at_pair(machine, &looks);
	ret->front = front_speed_measure();
	ret->fetch = fetch_speed_measure(machine->topology.l1i_bytes, machine->topology.l2_bytes,
		machine->topology.l3_bytes);
	ret->locked_miss_ns = locked_miss_measure(machine->topology.l1d_bytes);
	ret->sets = set_speed_measure();
	if (machine->usable > 1)
		measure_wakes(ret);
	for (int i = 0; i < WAKES; i++)
		ret->switch_ns = least(ret->switch_ns, switch_probe_measure());
	ret->call = call_probe_measure();
	look_at_pair(machine, &looks);
	qsort(looks.list, looks.count, sizeof *looks.list, compare_looks);
	ret->transfer_ns = looks.list[looks.count / 2].transfer_ns;
	ret->stay = looks.list[looks.count / 2].stay;
	if (looks.count > 0) {
		ret->transfer_least_ns = looks.list[0].transfer_ns;
		ret->transfer_most_ns = looks.list[looks.count - 1].transfer_ns;
	}
	ret->lock_ns = looks.lock_ns;
	ret->lock_overlap = looks.lock_overlap;
	return 0;
}

/* Busy processors since `before` that were not busy with this process, whose time since then is own_ns. */
static double busy_others(const struct busy_ticks *before, double wall_ns, double own_ns)
{
	struct busy_ticks after;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (before->total == 0 || online < 1 || busy_read(&after) < 0)
		return 0;
	double others = busy_between(before, &after, (uint32_t)online) - own_ns / wall_ns;
	return others > 0 ? others : 0;
}

/* And what others did meanwhile. */
static int measure_round(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = core_watch_new();
	struct busy_ticks before;
	if (busy_read(&before) < 0)
		before = (struct busy_ticks){ 0 };
	double began_ns = speed_now_ns();
	uint64_t own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int code = measure_once(machine, ret, err);
	own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
	ret->others = busy_others(&before, speed_now_ns() - began_ns, (double)own_ns);
	ret->shared = core_watch_seen(watch).shared;
	return code;
}

bool machine_speed_is_disturbed(const struct machine_speed *speed)
{
	return speed->others > OTHERS_NOTABLE || speed->shared >= CORE_SHARING_NOTABLE;
}

bool machine_speed_cores_move(const struct machine_speed *speed)
{
	const double apart = 2;
	return speed->transfer_least_ns > 0 &&
	       speed->transfer_most_ns > apart * speed->transfer_least_ns;
}

int machine_speed_measure(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = NULL;
	if (!machine_shows_smt(&machine->topology))
		watch = core_watch_new();
	struct machine_speed rounds[MACHINE_ROUNDS] = { 0 };
	for (unsigned i = 0; i < MACHINE_ROUNDS; i++) {
		int code = measure_round(machine, &rounds[i], err);
		if (code < 0)
			return code;
	}
	*ret = machine_speed_settle(rounds, MACHINE_ROUNDS);
	struct core_sharing seen = core_watch_seen(watch);
	ret->sibling_busy = seen.shared >= CORE_SHARING_NOTABLE ? seen.taken : 0;
	ret->sibling_spell_ns = ret->sibling_busy > 0 ? seen.spell_ns : 0;
	ret->start = start_probe_measure("/proc/self/exe"); /* which others would seem to do */
	return 0;
}
