/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/machine_speed.h"

#include "base/rng.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Of each kind many short tries, so that some are not disturbed, however busy the machine is. */
enum {
	LINE = 64,
	CHAIN = 50000, /* multiplications of a try */
	CHAINS = 400,
	STEPS = 5000, /* loads */
	CHASES = 200,
	LOCKS = 5000,
	LOCK_TRIES = 100,
	SWAPS = 20000, /* of a line between two cores */
	WAKES = 1000,
	READERS_MAX = 256,
};

static const size_t MEMORY_LEAST = (size_t)64 << 20, MEMORY_MOST = (size_t)256 << 20;
static const size_t READ_BYTES = (size_t)32 << 20; /* of each thread */
static const double READ_S = 0.4;
static const double MOST_NS =
	0.5e9; /* for the tries of each kind, or others on the machine make it long */

static double now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* that clock is always there */
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

/* 3 cycles each on every x86-64 of the last ten years, 1 for an addition of registers on Arm's. */
static double measure_hz(void)
{
	double best_ns = 0;
	unsigned cycles = 0;
	double all_ns = now_ns();
	for (int i = 0; i < CHAINS && now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = now_ns();
		uint64_t value = 3;
		for (int k = 0; k < CHAIN; k++) {
#if defined(__x86_64__)
			__asm__ volatile("imul %0, %0" : "+r"(value) : : "cc");
			cycles = 3;
#elif defined(__aarch64__)
			__asm__ volatile("add %0, %0, %0" : "+r"(value));
			cycles = 1;
#endif
		}
		best_ns = least(best_ns, now_ns() - began_ns);
	}
	return cycles ? (double)cycles * CHAIN / best_ns * 1e9 : 0;
}

/* Room on huge pages if there are any; NULL: none. */
static void *map_room(size_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	(void)madvise(room, bytes, MADV_HUGEPAGE); /* only advice */
	return room;
}

/* Links the lines of a room to one ring in random order (Sattolo). */
static void link_lines(char *room, size_t lines, struct rng *rng, uint32_t *order)
{
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines; i-- > 1;) {
		size_t other = rng_below(rng, i);
		uint32_t kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < lines; i++)
		*(void **)(void *)(room + (size_t)order[i] * LINE) =
			room + (size_t)order[(i + 1) % lines] * LINE;
}

static double chase_ns(char *room, size_t lines, struct rng *rng, uint32_t *order)
{
	double best_ns = 0;
	link_lines(room, lines, rng, order);
	void *at = room;
	for (size_t i = 0; i < lines && i < STEPS * CHASES; i++)
		at = *(void *volatile *)at;
	double all_ns = now_ns();
	for (int i = 0; i < CHASES && now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = now_ns();
		for (int k = 0; k < STEPS; k++)
			at = *(void *volatile *)at;
		best_ns = least(best_ns, (now_ns() - began_ns) / STEPS);
	}
	return best_ns;
}

/* Sizes that one level holds and the one before it does not. */
static int measure_latencies(const struct machine *machine, struct machine_speed *ret)
{
	const struct machine_topology *t = &machine->topology;
	const uint64_t sizes[MACHINE_SPEED_LEVELS] = { t->l1d_bytes, t->l2_bytes, t->l3_bytes };
	size_t memory = 4 * (size_t)(t->l3_bytes ? t->l3_bytes : t->l2_bytes);
	memory = memory < MEMORY_LEAST ? MEMORY_LEAST : memory > MEMORY_MOST ? MEMORY_MOST : memory;
	struct rng rng;
	rng_init(&rng, 1);
	uint32_t *order = calloc(memory / LINE, sizeof *order);
	char *room = order ? map_room(memory) : NULL;
	if (!room) {
		free(order);
		return -ENOMEM;
	}
	uint64_t before = 0;
	for (unsigned i = 0; i < MACHINE_SPEED_LEVELS; i++) {
		/* Half of a small cache; of a large one, that others use too, not much more than the last. */
		uint64_t size = sizes[i] / 2 > 4 * before && before ? 4 * before : sizes[i] / 2;
		if (sizes[i] == 0 || size <= before || size > memory)
			continue;
		ret->level_ns[i] = chase_ns(room, size / LINE, &rng, order);
		before = sizes[i];
	}
	ret->memory_ns = chase_ns(room, memory / LINE, &rng, order);
	free(order);
	(void)munmap(room, memory); /* it was mapped by us */
	return 0;
}

/* Two threads, each on a core of its own. */
struct pair {
	_Alignas(LINE) atomic_uint turn;
	_Alignas(LINE) sem_t there, back;
	atomic_bool is_over; /* what they do now: the last message says so */
	pthread_mutex_t mutex;
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

/* A core is at times somebody else's: who waits for it gives its own away, rather than spin for nothing. */
static void await_turn(struct pair *pair, unsigned turn)
{
	for (unsigned spins = 0; atomic_load_explicit(&pair->turn, memory_order_acquire) != turn;)
		if (++spins % 4096 == 0)
			(void)sched_yield(); /* it cannot fail */
}

static void *answer(void *context)
{
	struct pair *pair = context;
	pin_to(1);
	for (unsigned i = 0; !atomic_load(&pair->is_over); i++) {
		await_turn(pair, 2 * i + 1);
		atomic_store_explicit(&pair->turn, 2 * i + 2, memory_order_release);
	}
	do {
		while (sem_wait(&pair->there) < 0)
			continue;
		(void)sem_post(&pair->back); /* it cannot overflow */
	} while (atomic_load(&pair->is_over));
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* A round trip is two transfers, or two wakes. Of many, the lower tenth: others only make them longer. */
static double lower_tenth(double *values, size_t count)
{
	qsort(values, count, sizeof *values, by_value);
	return values[count / 10] / 2;
}

enum { GROUP = 20 };

static double swap_lines(struct pair *pair)
{
	double rounds_ns[SWAPS / GROUP], all_ns = now_ns();
	unsigned count = 0;
	while (count < SWAPS / GROUP && now_ns() - all_ns < MOST_NS) {
		double began_ns = now_ns();
		for (unsigned k = count * GROUP; k < (count + 1) * GROUP; k++) {
			atomic_store_explicit(&pair->turn, 2 * k + 1, memory_order_release);
			await_turn(pair, 2 * k + 2);
		}
		rounds_ns[count++] = (now_ns() - began_ns) / GROUP;
	}
	atomic_store(&pair->is_over, true);
	unsigned last = 2 * count * GROUP;
	atomic_store(&pair->turn, last + 1); /* the other thread looks after its turn */
	await_turn(pair, last + 2);
	return lower_tenth(rounds_ns, count);
}

static double wake_each_other(struct pair *pair)
{
	double rounds_ns[WAKES], all_ns = now_ns();
	unsigned count = 0;
	while (count < WAKES && now_ns() - all_ns < MOST_NS) {
		double began_ns = now_ns();
		(void)sem_post(&pair->there); /* it cannot overflow */
		while (sem_wait(&pair->back) < 0)
			continue;
		rounds_ns[count++] = now_ns() - began_ns;
	}
	atomic_store(&pair->is_over, false);
	(void)sem_post(&pair->there); /* as above: the last one */
	return lower_tenth(rounds_ns, count);
}

static double lock_ns(pthread_mutex_t *mutex)
{
	double best_ns = 0;
	double all_ns = now_ns();
	for (int i = 0; i < LOCK_TRIES && now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = now_ns();
		for (int k = 0; k < LOCKS; k++) {
			(void)pthread_mutex_lock(mutex); /* a plain mutex that is ours */
			(void)pthread_mutex_unlock(mutex);
		}
		best_ns = least(best_ns, (now_ns() - began_ns) / LOCKS);
	}
	return best_ns;
}

/* The calling thread is pinned in a child of its own, so that the process stays as it was. */
static void *ask(void *context)
{
	struct machine_speed *ret = context;
	struct pair pair = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	(void)sem_init(&pair.there, 0, 0); /* these arguments are valid */
	(void)sem_init(&pair.back, 0, 0);
	if (pthread_create(&thread, NULL, answer, &pair) != 0)
		return NULL;
	pin_to(0);
	ret->transfer_ns = swap_lines(&pair);
	/* The other thread waits meanwhile: with one thread the C library leaves the atomics out. */
	ret->lock_ns = lock_ns(&pair.mutex);
	ret->wake_ns = wake_each_other(&pair);
	(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&pair.there);
	(void)sem_destroy(&pair.back);
	return NULL;
}

struct reader {
	pthread_t thread;
	const atomic_bool *is_over;
	double bytes;
	uint64_t sum; /* or the compiler would leave the reading out */
};

static void *read_room(void *context)
{
	struct reader *reader = context;
	uint64_t *room = map_room(READ_BYTES);
	if (!room)
		return NULL;
	memset(room, 1, READ_BYTES); /* or all pages are one of zeros */
	while (!atomic_load_explicit(reader->is_over, memory_order_relaxed)) {
		uint64_t sum = 0;
		for (size_t i = 0; i < READ_BYTES / sizeof *room; i++)
			sum += room[i];
		/* It may have changed for all the compiler knows, so that it is read again. */
		__asm__ volatile("" : "+r"(sum) : : "memory");
		reader->sum += sum;
		reader->bytes += (double)READ_BYTES;
	}
	(void)munmap(room, READ_BYTES); /* it was mapped by us */
	return NULL;
}

static double measure_bandwidth(uint32_t threads)
{
	static struct reader readers[READERS_MAX];
	atomic_bool is_over = false;
	uint32_t count = 0;
	double began_ns = now_ns(), bytes = 0;
	for (; count < threads && count < READERS_MAX; count++) {
		readers[count] = (struct reader){ .is_over = &is_over };
		if (pthread_create(&readers[count].thread, NULL, read_room, &readers[count]) != 0)
			break;
	}
	(void)usleep((useconds_t)(READ_S * 1e6)); /* an early end is only a shorter measurement */
	atomic_store(&is_over, true);
	for (uint32_t i = 0; i < count; i++) {
		(void)pthread_join(readers[i].thread, NULL); /* they end by themselves */
		bytes += readers[i].bytes;
	}
	return bytes / (now_ns() - began_ns) * 1e9;
}

int machine_speed_measure(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	struct machine_speed speed = { .hz = measure_hz() };
	if (measure_latencies(machine, &speed) < 0)
		return err_set(err, -ENOMEM, "no memory to measure caches with");
	pthread_t thread;
	if (machine->usable > 1 && pthread_create(&thread, NULL, ask, &speed) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	double bytes_per_s = 0;
	for (int i = 0; i < 2; i++) {
		double now = measure_bandwidth(machine->usable);
		bytes_per_s = now > bytes_per_s ? now : bytes_per_s;
	}
	speed.bytes_per_s = bytes_per_s;
	*ret = speed;
	return 0;
}
