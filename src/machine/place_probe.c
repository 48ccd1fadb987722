/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/place_probe.h"

#include "base/order.h"
#include "machine/pin.h"
#include "machine/probe_threads.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum {
	ROUNDS = 20,
	FIRST_ROUNDS = 5, /* which do not count: */
	BUSY_NS =
		10000000, /* Linux settles whether threads look for idle cores by how busy these were of late, at some of a busy core's ticks */
	ASLEEP_NS = 500000, /* until the other thread surely sleeps, and the other core idles */
	WORK_NS = 50000, /* of the waker, behind the call: less than any scheduler's turn */
	NOT_YET = -1,
	PARTINGS = 10,
	BEFORE_NS = 10000000, /* that two threads sleep on one core: all are idle */
	PART_LOOK_NS = 30000000, /* between two looks, which disturb */
	PART_MOST_NS = 100000000,
};

struct probe {
	cpu_set_t allowed;
	int cpu; /* that both threads have, when one wakes the other */
	bool is_bound; /* they may be */
	unsigned in_place; /* of ROUNDS, without the first */
	sem_t is_ready, go;
	atomic_bool is_over;
	atomic_int ran_on;
};

/* On the waker's core each time that it sleeps, and free to run on any when it is woken. */
static void *sleeper(void *context)
{
	struct probe *probe = context;
	for (;;) {
		probe->is_bound = pin_self(probe->cpu) &&
				  sched_setaffinity(0, sizeof probe->allowed, &probe->allowed) == 0;
		(void)sem_post(&probe->is_ready); /* it cannot overflow */
		probe_await(&probe->go);
		if (atomic_load(&probe->is_over))
			return NULL;
		atomic_store(&probe->ran_on, sched_getcpu());
	}
}

static void pause_for(long ns)
{
	struct timespec rest = { .tv_nsec = ns };
	while (nanosleep(&rest, &rest) < 0)
		continue;
}

/* Whether the woken thread waited for the waker's core. */
static bool waits_in_place(struct probe *probe)
{
	probe_await(&probe->is_ready);
	pause_for(ASLEEP_NS);
	probe_work(BUSY_NS);
	atomic_store(&probe->ran_on, NOT_YET);
	(void)sem_post(&probe->go); /* it cannot overflow */
	probe_work(WORK_NS);
	while (atomic_load(&probe->ran_on) == NOT_YET)
		pause_for(WORK_NS);
	return atomic_load(&probe->ran_on) == probe->cpu;
}

/* In a thread of its own: the caller stays on the processors that it may use. */
static void *waker(void *context)
{
	struct probe *probe = context;
	pthread_t thread;
	if (!pin_self(probe->cpu) || pthread_create(&thread, NULL, sleeper, probe) != 0)
		return NULL;
	for (int i = 0; i < ROUNDS; i++) {
		bool is_in_place = waits_in_place(probe);
		probe->in_place += is_in_place && i >= FIRST_ROUNDS;
	}
	probe_await(&probe->is_ready);
	atomic_store(&probe->is_over, true);
	(void)sem_post(&probe->go); /* as above */
	(void)pthread_join(thread, NULL); /* it ends by itself */
	return NULL;
}

double place_probe_measure(void)
{
	struct probe probe = { .cpu = sched_getcpu() };
	pthread_t thread;
	if (probe.cpu < 0 || sched_getaffinity(0, sizeof probe.allowed, &probe.allowed) < 0 ||
		CPU_COUNT(&probe.allowed) < 2 || sem_init(&probe.is_ready, 0, 0) < 0 ||
		sem_init(&probe.go, 0, 0) < 0)
		return 0;
	if (pthread_create(&thread, NULL, waker, &probe) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&probe.is_ready);
	(void)sem_destroy(&probe.go);
	return probe.is_bound ? probe.in_place / (double)(ROUNDS - FIRST_ROUNDS) : 0;
}

struct parting {
	cpu_set_t allowed;
	int cpu;
	sem_t is_ready, go;
	atomic_bool is_over;
	_Atomic uint64_t
		parted_ns; /* when one of them was elsewhere for the first time; 0: not yet */
};

/* Sleeps on the core, and computes then, where the kernel lets it. */
static void *sharer(void *context)
{
	struct parting *parting = context;
	(void)pin_self(parting->cpu); /* it was allowed to */
	(void)sem_post(&parting->is_ready); /* it cannot overflow */
	probe_await(&parting->go);
	(void)sched_setaffinity(0, sizeof parting->allowed, &parting->allowed); /* as it was */
	while (!atomic_load(&parting->is_over)) {
		uint64_t not_yet = 0, now_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (sched_getcpu() != parting->cpu)
			(void)atomic_compare_exchange_strong(&parting->parted_ns, &not_yet, now_ns);
	}
	return NULL;
}

/* ns; PART_MOST_NS: for longer; 0: there are no two threads. */
static double part_once(struct parting *parting)
{
	pthread_t threads[2];
	unsigned count = 0;
	atomic_store(&parting->is_over, false);
	atomic_store(&parting->parted_ns, 0);
	while (count < 2 && pthread_create(&threads[count], NULL, sharer, parting) == 0)
		count++;
	for (unsigned i = 0; i < count; i++)
		probe_await(&parting->is_ready);
	pause_for(BEFORE_NS);
	uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < count; i++)
		(void)sem_post(&parting->go); /* it cannot overflow */
	while (count == 2 && atomic_load(&parting->parted_ns) == 0 &&
		clock_now_ns(CLOCK_MONOTONIC) - began_ns < PART_MOST_NS)
		pause_for(PART_LOOK_NS);
	atomic_store(&parting->is_over, true);
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL); /* they end by themselves */
	uint64_t parted_ns = atomic_load(&parting->parted_ns);
	if (count < 2)
		return 0;
	return parted_ns > began_ns ? (double)(parted_ns - began_ns) : PART_MOST_NS;
}

double part_probe_measure(void)
{
	struct parting parting = { .cpu = sched_getcpu() };
	double times_ns[PARTINGS];
	if (parting.cpu < 0 || sched_getaffinity(0, sizeof parting.allowed, &parting.allowed) < 0 ||
		CPU_COUNT(&parting.allowed) < 2 || sem_init(&parting.is_ready, 0, 0) < 0 ||
		sem_init(&parting.go, 0, 0) < 0)
		return 0;
	for (int i = 0; i < PARTINGS; i++)
		times_ns[i] = part_once(&parting);
	(void)sem_destroy(&parting.is_ready);
	(void)sem_destroy(&parting.go);
	order_doubles(times_ns, PARTINGS);
	return times_ns[PARTINGS / 2];
}
