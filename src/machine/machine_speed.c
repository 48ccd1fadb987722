/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/machine_speed.h"

#include "base/order.h"

#include "machine/busy.h"
#include "machine/chain.h"
#include "machine/core_watch.h"
#include "machine/locked_speed.h"
#include "machine/speed_clock.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
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
	SWAPS = 20000, /* of a line between two cores */
	WAKES = 20, /* probes */
	INTERRUPTS = 5,
};

enum { ROUNDS_MAX = 3 };
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

/* Of these tries, each of which takes free_ns: not the clock's own changes, and not what schedulers give to others. */
static double interrupted_share(const double *tries_ns, double free_ns)
{
	double all_ns = 0, lost_ns = 0;
	for (unsigned i = 0; i < WINDOW; i++) {
		double more_ns = tries_ns[i] - free_ns;
		if (more_ns > SLICE_NS)
			continue;
		all_ns += tries_ns[i];
		if (more_ns > free_ns / 5)
			lost_ns += more_ns;
	}
	return all_ns > 0 ? lost_ns / all_ns : 0;
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
	for (; windows < count / WINDOW; windows++)
		shares[windows] = interrupted_share(&tries_ns[windows * WINDOW], free_ns);
	order_doubles(shares, windows);
	ret->interrupted = windows > 0 ? shares[windows / 2] : 0;
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

/* The n-th processor that this process may use. */
static void pin_to(unsigned n)
{
	cpu_set_t allowed, one;
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return;
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && n-- == 0)
			CPU_SET(i, &one);
	if (CPU_COUNT(&one) == 1)
		(void)sched_setaffinity(0, sizeof one, &one); /* else it is only less exact */
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

static double lock_ns(pthread_mutex_t *mutex)
{
	double best_ns = 0;
	double all_ns = speed_now_ns();
	for (int i = 0; i < LOCK_TRIES && speed_now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = speed_now_ns();
		for (int k = 0; k < LOCKS; k++) {
			(void)pthread_mutex_lock(mutex); /* a plain mutex that is ours */
			(void)pthread_mutex_unlock(mutex);
		}
		best_ns = speed_least(best_ns, (speed_now_ns() - began_ns) / LOCKS);
	}
	return best_ns;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* What was measured, 0 being nothing. */
static double least(double a, double b)
{
	return a > 0 && b > 0 ? speed_least(a, b) : most(a, b);
}

static struct interrupt_probe interrupt_better(
	const struct interrupt_probe *a, const struct interrupt_probe *b)
{
	return (struct interrupt_probe){
		.cost_ns = (uint32_t)least(a->cost_ns, b->cost_ns),
		.lost_ns = (uint32_t)least(a->lost_ns, b->lost_ns),
	};
}

/* 0: it was never alone. */
static void measure_wakes(struct machine_speed *ret)
{
	for (int i = 0; i < WAKES; i++) {
		struct wake_probe probe = wake_probe_measure();
		ret->wake_ns = least(ret->wake_ns, probe.latency_ns);
		ret->wake_cost_ns = least(ret->wake_cost_ns, probe.cost_ns);
		ret->doze_ns = least(ret->doze_ns, probe.doze_ns);
	}
	ret->halt = halt_probe_measure();
	for (int i = 0; i < INTERRUPTS; i++) {
		struct interrupt_probe probe = interrupt_probe_measure();
		ret->interrupt = interrupt_better(&ret->interrupt, &probe);
	}
}

/* The calling thread is pinned in a child of its own, so that the process stays as it was. */
static void *ask(void *context)
{
	struct machine_speed *ret = context;
	struct pair pair = { .mutex = PTHREAD_MUTEX_INITIALIZER, .is_contended = true };
	pthread_t thread;
	(void)sem_init(&pair.done, 0, 0); /* these arguments are valid */
	if (pthread_create(&thread, NULL, answer, &pair) != 0)
		return NULL;
	pin_to(0);
	double transfer_ns = swap_lines(&pair), stay = additions_of_a_stay(&pair, transfer_ns);
	if (ret->transfer_ns <= 0 || transfer_ns < ret->transfer_ns) {
		ret->transfer_ns = transfer_ns;
		ret->stay = stay;
	}
	/* The other thread waits meanwhile: with one thread the C library leaves the atomics out. */
	ret->lock_ns = least(ret->lock_ns, lock_ns(&pair.mutex));
	(void)sem_post(&pair.done); /* it cannot overflow */
	(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&pair.done);
	return NULL;
}

/* Two cores of a virtual machine may be near one another now and far apart a second later: it is done several times. */
static void measure_pair(const struct machine *machine, struct machine_speed *ret)
{
	pthread_t thread;
	if (machine->usable > 1 && pthread_create(&thread, NULL, ask, ret) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
}

static struct machine_speed measure_once(
	const struct machine *machine, const struct memory_speed *levels)
{
	struct machine_speed speed = { .memory = *levels, .rounds = 1 };
	measure_clock(&speed);
	measure_pair(machine, &speed);
	memory_rates_measure(machine, &speed.memory);
	measure_pair(machine, &speed);
	speed.front = front_speed_measure();
	speed.locked_miss_ns = locked_miss_measure(machine->topology.l1d_bytes);
	speed.sets = set_speed_measure();
	measure_pair(machine, &speed);
	if (machine->usable > 1)
		measure_wakes(&speed);
	for (int i = 0; i < WAKES; i++)
		speed.switch_ns = least(speed.switch_ns, switch_probe_measure());
	measure_pair(machine, &speed);
	return speed;
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
static struct machine_speed measure_round(
	const struct machine *machine, const struct memory_speed *levels)
{
	AUTO(core_watch) struct core_watch *watch = core_watch_new();
	struct busy_ticks before;
	if (busy_read(&before) < 0)
		before = (struct busy_ticks){ 0 };
	double began_ns = speed_now_ns();
	uint64_t own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct machine_speed speed = measure_once(machine, levels);
	own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
	speed.others = busy_others(&before, speed_now_ns() - began_ns, (double)own_ns);
	speed.shared = core_watch_seen(watch).shared;
	return speed;
}

bool machine_speed_is_disturbed(const struct machine_speed *speed)
{
	return speed->others > OTHERS_NOTABLE || speed->shared >= CORE_SHARING_NOTABLE;
}

struct machine_speed machine_speed_better(
	const struct machine_speed *a, const struct machine_speed *b)
{
	bool is_first = a->others + a->shared <= b->others + b->shared;
	struct machine_speed better = is_first ? *a : *b;
	better.hz = most(a->hz, b->hz);
	better.interrupted = fmin(a->interrupted, b->interrupted); /* 0 is a figure */
	better.locked_miss_ns = least(a->locked_miss_ns, b->locked_miss_ns);
	better.sets.first_ns = least(a->sets.first_ns, b->sets.first_ns);
	better.sets.second_ns = least(a->sets.second_ns, b->sets.second_ns);
	better.lock_ns = least(a->lock_ns, b->lock_ns);
	bool is_nearer = a->transfer_ns == least(a->transfer_ns, b->transfer_ns);
	better.transfer_ns = is_nearer ? a->transfer_ns : b->transfer_ns;
	better.stay = is_nearer ? a->stay : b->stay;
	better.wake_ns = least(a->wake_ns, b->wake_ns);
	better.wake_cost_ns = least(a->wake_cost_ns, b->wake_cost_ns);
	better.doze_ns = least(a->doze_ns, b->doze_ns);
	better.switch_ns = least(a->switch_ns, b->switch_ns);
	better.interrupt = interrupt_better(&a->interrupt, &b->interrupt);
	struct memory_speed *memory = &better.memory;
	for (unsigned i = 0; i < MEMORY_PAGED; i++) {
		memory->paged[i].more_ns =
			least(a->memory.paged[i].more_ns, b->memory.paged[i].more_ns);
	}
	memory->level_bytes_per_s = most(a->memory.level_bytes_per_s, b->memory.level_bytes_per_s);
	memory->core_bytes_per_s = most(a->memory.core_bytes_per_s, b->memory.core_bytes_per_s);
	memory->bytes_per_s = most(a->memory.bytes_per_s, b->memory.bytes_per_s);
	memory->fault_ns = least(a->memory.fault_ns, b->memory.fault_ns);
	better.front.mispredicted_ns = least(a->front.mispredicted_ns, b->front.mispredicted_ns);
	better.rounds = a->rounds + b->rounds;
	return better;
}

int machine_speed_measure(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = NULL;
	if (!machine_shows_smt(&machine->topology))
		watch = core_watch_new();
	struct memory_speed levels = { 0 };
	int code = memory_levels_measure(machine, &levels, err);
	if (code < 0)
		return code;
	struct machine_speed speed = measure_round(machine, &levels);
	while (speed.rounds < ROUNDS_MAX && machine_speed_is_disturbed(&speed)) {
		struct machine_speed again = measure_round(machine, &levels);
		speed = machine_speed_better(&speed, &again);
	}
	struct core_sharing seen = core_watch_seen(watch);
	speed.sibling_busy = seen.shared >= CORE_SHARING_NOTABLE ? seen.taken : 0;
	speed.start = start_probe_measure("/proc/self/exe"); /* which others would seem to do */
	*ret = speed;
	return 0;
}
