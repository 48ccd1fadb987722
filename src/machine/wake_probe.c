/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/wake_probe.h"

#include "base/clock.h"
#include "base/order.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 150,
	ROUNDS_LEAST = 50,
	WORK_NS = 10000, /* between two wake-ups: time to fall asleep */
	MOST_NS = 20000000,
};

struct probe {
	int cpus[2];
	sem_t there, is_ready;
	_Atomic uint64_t ran_ns; /* when the woken thread did; 0: not yet */
	atomic_bool is_over;
	bool is_apart; /* the woken thread is where it should be */
	uint32_t rounds;
	uint32_t costs_ns[ROUNDS], latencies_ns[ROUNDS];
};

static bool pin_to(int cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* The second one is the third where there are more: neighbours in number may share a core. False: there is only one. */
static bool choose(int ret_cpus[2])
{
	cpu_set_t allowed;
	int count = 0, found[3] = { 0 };
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return false;
	for (int i = 0; i < CPU_SETSIZE && count < 3; i++)
		if (CPU_ISSET(i, &allowed))
			found[count++] = i;
	if (count == 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		found[count++] = found[0] == 0;
	ret_cpus[0] = found[0];
	ret_cpus[1] = found[count - 1];
	return count > 1;
}

static uint32_t in_ns(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void await(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		continue;
}

static void *sleeper(void *context)
{
	struct probe *probe = context;
	probe->is_apart = pin_to(probe->cpus[1]);
	(void)sem_post(&probe->is_ready); /* it cannot overflow */
	for (;;) {
		await(&probe->there);
		uint64_t ran_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (atomic_load(&probe->is_over))
			return NULL;
		atomic_store(&probe->ran_ns, ran_ns);
	}
}

static void work(uint64_t ns)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + ns;
	while (clock_now_ns(CLOCK_MONOTONIC) < until_ns)
		continue;
}

static void wake_rounds(struct probe *probe)
{
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + MOST_NS, began_ns = 0;
	while (probe->rounds < ROUNDS && began_ns < end_ns) {
		uint64_t ran_ns = 0;
		work(WORK_NS);
		atomic_store(&probe->ran_ns, 0);
		began_ns = clock_now_ns(CLOCK_MONOTONIC);
		(void)sem_post(&probe->there); /* it cannot overflow */
		uint64_t posted_ns = clock_now_ns(CLOCK_MONOTONIC);
		while ((ran_ns = atomic_load(&probe->ran_ns)) == 0)
			if (clock_now_ns(CLOCK_MONOTONIC) > end_ns)
				(void)sched_yield(); /* it cannot fail */
		probe->costs_ns[probe->rounds] = in_ns(posted_ns - began_ns);
		probe->latencies_ns[probe->rounds++] =
			in_ns(ran_ns > began_ns ? ran_ns - began_ns : 0);
	}
}

/* In a thread of its own: the caller stays on the processors that it may use. */
static void *waker(void *context)
{
	struct probe *probe = context;
	pthread_t thread;
	bool is_pinned = pin_to(probe->cpus[0]);
	if (pthread_create(&thread, NULL, sleeper, probe) != 0)
		return NULL;
	await(&probe->is_ready); /* it begins on this processor, which at a real-time priority is not shared */
	if (is_pinned)
		wake_rounds(probe);
	atomic_store(&probe->is_over, true);
	(void)sem_post(&probe->there); /* as above */
	(void)pthread_join(thread, NULL); /* it ends by itself */
	return NULL;
}

static uint32_t median(uint32_t *values, uint32_t count)
{
	order_u32(values, count);
	return values[count / 2];
}

/* Of a wait that finds that there is nothing to wait for. */
static uint32_t futex_look_ns(void)
{
	uint32_t looks_ns[ROUNDS], word = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
		(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0); /* EAGAIN */
		looks_ns[i] = in_ns(clock_now_ns(CLOCK_MONOTONIC) - began_ns);
	}
	return median(looks_ns, ROUNDS);
}

enum { SWITCHES = 20, GROUPS = 60 };

struct turns {
	int cpu;
	sem_t go[2];
	bool are_together;
	double groups_ns[GROUPS];
};

static void *answer_turns(void *context)
{
	struct turns *turns = context;
	turns->are_together = pin_to(turns->cpu);
	for (int i = 0; i < SWITCHES * GROUPS; i++) {
		await(&turns->go[1]);
		(void)sem_post(&turns->go[0]); /* it cannot overflow */
	}
	return NULL;
}

static void *take_turns(void *context)
{
	struct turns *turns = context;
	pthread_t thread;
	if (!pin_to(turns->cpu) || pthread_create(&thread, NULL, answer_turns, turns) != 0)
		return NULL;
	for (int group = 0; group < GROUPS; group++) {
		uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < SWITCHES; i++) {
			(void)sem_post(&turns->go[1]); /* as above */
			await(&turns->go[0]);
		}
		turns->groups_ns[group] = (double)(clock_now_ns(CLOCK_MONOTONIC) - began_ns);
	}
	(void)pthread_join(thread, NULL); /* it ends by itself */
	return NULL;
}

double switch_probe_measure(void)
{
	int cpus[2] = { 0 };
	pthread_t thread;
	(void)choose(cpus); /* one processor is enough */
	struct turns turns = { .cpu = cpus[0] };
	if (sem_init(&turns.go[0], 0, 0) < 0 || sem_init(&turns.go[1], 0, 0) < 0)
		return 0;
	if (pthread_create(&thread, NULL, take_turns, &turns) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&turns.go[0]);
	(void)sem_destroy(&turns.go[1]);
	if (!turns.are_together)
		return 0;
	order_doubles(turns.groups_ns, GROUPS);
	return turns.groups_ns[GROUPS / 2] / (2 * SWITCHES);
}

struct wake_probe wake_probe_measure(void)
{
	struct probe probe = { 0 };
	pthread_t thread;
	if (!choose(probe.cpus) || sem_init(&probe.there, 0, 0) < 0 ||
		sem_init(&probe.is_ready, 0, 0) < 0)
		return (struct wake_probe){ 0 };
	if (pthread_create(&thread, NULL, waker, &probe) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&probe.there);
	(void)sem_destroy(&probe.is_ready);
	if (probe.rounds < ROUNDS_LEAST || !probe.is_apart)
		return (struct wake_probe){ 0 };
	return (struct wake_probe){
		.cost_ns = median(probe.costs_ns, probe.rounds),
		.latency_ns = median(probe.latencies_ns, probe.rounds),
		.doze_ns = futex_look_ns(),
	};
}
