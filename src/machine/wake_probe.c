/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/wake_probe.h"

#include "base/clock.h"
#include "base/order.h"
#include "machine/pin.h"
#include "machine/probe_threads.h"

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
	WORK_NS = 10000, /* between two wake-ups: time to fall asleep */
	MOST_NS = 20000000,
	LONG_ROUNDS = 31, /* between which a core may idle until it is halted: */
	LONG_LEAST_NS = 20000,
	LONG_MOST_NS = 2560000,
	LONG_STEPS = 8,
	HALVINGS = 3, /* of the last step, to find where it is halted */
	SHORT_TRIES =
		5, /* to count how often it is found halted that had been so for long before, */
	LONG_FIRST = 6, /* several times: something else may wake it in between */
	BUSY_NS =
		40000, /* the same for a core at work, which the work is to have again in between */
	GAP_NS = 1000, /* more between two looks at the clock than the looks take */
};

/* A halted core takes so many times as long as one that is not. */
static const double HALTED = 1.5;

struct probe {
	int cpus[2];
	sem_t there, is_ready;
	_Atomic uint64_t ran_ns; /* when the woken thread did; 0: not yet */
	atomic_bool is_over,
		is_asked_for; /* where it is patient: the core, by a thread that was woken */
	bool is_apart; /* the woken thread is where it should be */
	bool is_busy; /* its core is at work meanwhile, */
	bool is_patient; /* and gives itself away: the woken thread takes nobody's place */
	_Atomic uint64_t lost_ns; /* by that work */
	uint64_t work_ns; /* between two wake-ups */
	uint64_t warm_ns; /* of wake-ups that do not count, before those that do */
	uint32_t long_rounds; /* so many first ones have LONG_MOST_NS for it */
	uint32_t rounds_most, rounds;
	uint32_t costs_ns[ROUNDS], latencies_ns[ROUNDS], losses_ns[ROUNDS];
};

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

static void *sleeper(void *context)
{
	struct probe *probe = context;
	probe->is_apart = pin_self(probe->cpus[1]);
	if (probe->is_patient && sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }) < 0)
		probe->is_apart = false;
	(void)sem_post(&probe->is_ready); /* it cannot overflow */
	for (;;) {
		probe_await(&probe->there);
		uint64_t ran_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (atomic_load(&probe->is_over))
			return NULL;
		atomic_store(&probe->ran_ns, ran_ns);
	}
}

/* Work beside which the other thread sleeps: notes how long it has not had the core. */
static void *worker(void *context)
{
	struct probe *probe = context;
	(void)pin_self(probe->cpus[1]); /* as that thread's */
	(void)sem_post(&probe->is_ready); /* it cannot overflow */
	uint64_t last_ns = clock_now_ns(CLOCK_MONOTONIC);
	while (!atomic_load(&probe->is_over)) {
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (now_ns - last_ns > GAP_NS)
			atomic_fetch_add(&probe->lost_ns, now_ns - last_ns);
		last_ns = now_ns;
		if (atomic_load(&probe->is_asked_for))
			(void)sched_yield(); /* it cannot fail */
	}
	return NULL;
}

static void wake_rounds(struct probe *probe)
{
	uint64_t warm_ns = clock_now_ns(CLOCK_MONOTONIC) + probe->warm_ns;
	uint64_t end_ns = warm_ns + MOST_NS + 2 * probe->work_ns * probe->rounds_most;
	uint64_t began_ns = 0, lost_ns = 0;
	while (probe->rounds < probe->rounds_most && began_ns < end_ns) {
		uint64_t ran_ns = 0;
		probe_work(probe->rounds < probe->long_rounds ? LONG_MOST_NS : probe->work_ns);
		uint64_t lost_now_ns = atomic_load(&probe->lost_ns);
		if (probe->rounds > 0)
			probe->losses_ns[probe->rounds - 1] = in_ns(lost_now_ns - lost_ns);
		lost_ns = lost_now_ns;
		atomic_store(&probe->ran_ns, 0);
		began_ns = clock_now_ns(CLOCK_MONOTONIC);
		(void)sem_post(&probe->there); /* it cannot overflow */
		uint64_t posted_ns = clock_now_ns(CLOCK_MONOTONIC);
		atomic_store(&probe->is_asked_for, probe->is_patient);
		while ((ran_ns = atomic_load(&probe->ran_ns)) == 0) {
			bool is_late = clock_now_ns(CLOCK_MONOTONIC) > end_ns;
			if (is_late && probe->is_busy)
				return; /* at a real-time priority that work makes no room */
			if (is_late)
				(void)sched_yield(); /* it cannot fail */
		}
		atomic_store(&probe->is_asked_for, false);
		probe->costs_ns[probe->rounds] = in_ns(posted_ns - began_ns);
		probe->latencies_ns[probe->rounds] =
			in_ns(ran_ns > began_ns ? ran_ns - began_ns : 0);
		probe->rounds += began_ns >= warm_ns;
	}
}

/* In a thread of its own: the caller stays on the processors that it may use. */
static void *waker(void *context)
{
	struct probe *probe = context;
	pthread_t thread, busy;
	bool is_pinned = pin_self(probe->cpus[0]);
	if (pthread_create(&thread, NULL, sleeper, probe) != 0)
		return NULL;
	probe_await(
		&probe->is_ready); /* it begins on this processor, which at a real-time priority is not shared */
	bool is_busy = probe->is_busy && pthread_create(&busy, NULL, worker, probe) == 0;
	if (is_busy)
		probe_await(&probe->is_ready);
	if (is_pinned && is_busy == probe->is_busy)
		wake_rounds(probe);
	atomic_store(&probe->is_over, true);
	(void)sem_post(&probe->there); /* as above */
	(void)pthread_join(thread, NULL); /* both end by themselves */
	if (is_busy)
		(void)pthread_join(busy, NULL);
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
	turns->are_together = pin_self(turns->cpu);
	for (int i = 0; i < SWITCHES * GROUPS; i++) {
		probe_await(&turns->go[1]);
		(void)sem_post(&turns->go[0]); /* it cannot overflow */
	}
	return NULL;
}

static void *take_turns(void *context)
{
	struct turns *turns = context;
	pthread_t thread;
	if (!pin_self(turns->cpu) || pthread_create(&thread, NULL, answer_turns, turns) != 0)
		return NULL;
	for (int group = 0; group < GROUPS; group++) {
		uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < SWITCHES; i++) {
			(void)sem_post(&turns->go[1]); /* as above */
			probe_await(&turns->go[0]);
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

/* False: there is only one processor, or others kept them busy. */
static bool run(struct probe *probe)
{
	pthread_t thread;
	if (!choose(probe->cpus) || sem_init(&probe->there, 0, 0) < 0 ||
		sem_init(&probe->is_ready, 0, 0) < 0)
		return false;
	if (pthread_create(&thread, NULL, waker, probe) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	(void)sem_destroy(&probe->there);
	(void)sem_destroy(&probe->is_ready);
	return probe->rounds >= probe->rounds_most / 3 && probe->rounds > 1 && probe->is_apart;
}

struct wake_probe wake_probe_measure(uint64_t warm_ns)
{
	struct probe probe = { .work_ns = WORK_NS, .warm_ns = warm_ns, .rounds_most = ROUNDS };
	if (!run(&probe))
		return (struct wake_probe){ 0 };
	uint32_t latency_ns = median(probe.latencies_ns, probe.rounds); /* they are in order now */
	uint32_t tenth = probe.rounds / 10;
	return (struct wake_probe){
		.cost_ns = median(probe.costs_ns, probe.rounds),
		.latency_ns = latency_ns,
		.latency_spread = wake_probe_spread(
			probe.latencies_ns[tenth], latency_ns, probe.latencies_ns[9 * tenth]),
		.doze_ns = futex_look_ns(),
	};
}

/* Of wake-ups of a core that idles for idle_ns each time. */
static bool wake_idle(uint64_t idle_ns, uint32_t *ret_latency_ns, uint32_t *ret_cost_ns)
{
	struct probe probe = { .work_ns = idle_ns, .rounds_most = LONG_ROUNDS };
	if (!run(&probe))
		return false;
	*ret_latency_ns = median(probe.latencies_ns, probe.rounds);
	*ret_cost_ns = median(probe.costs_ns, probe.rounds);
	return true;
}

/*
 * Each wake-up that finds it halted doubles how long it stays awake, as of KVM's halt polling (Linux, virt/kvm/halt-polling.rst): from how
 * many do, behind long ones, until half of after_ns is no longer too long.
 */
static double halt_start_ns(double after_ns, double halted_ns)
{
	uint32_t counts[SHORT_TRIES];
	double idle_ns = after_ns / 2;
	for (uint32_t i = 0; i < SHORT_TRIES; i++) {
		struct probe probe = { .work_ns = (uint64_t)idle_ns,
			.long_rounds = LONG_FIRST,
			.rounds_most = LONG_ROUNDS };
		if (!run(&probe))
			return 0;
		uint32_t first = LONG_FIRST;
		while (first < probe.rounds && probe.latencies_ns[first] >= halted_ns)
			first++;
		counts[i] = first - LONG_FIRST;
	}
	uint32_t count = median(counts, SHORT_TRIES);
	static const double middle =
		0.7; /* of what doubles to more than idle_ns with the last of these */
	return count == 0 || count > LONG_FIRST ? 0
						: idle_ns / middle / (double)(1u << (count - 1));
}

struct halt_probe halt_probe_measure(void)
{
	uint32_t costs_ns[LONG_STEPS], latencies_ns[LONG_STEPS];
	uint64_t idle_ns = LONG_LEAST_NS;
	for (uint32_t i = 0; i < LONG_STEPS; i++, idle_ns *= 2)
		if (!wake_idle(idle_ns, &latencies_ns[i], &costs_ns[i]))
			return (struct halt_probe){ 0 };
	uint32_t latency_ns = latencies_ns[LONG_STEPS - 1];
	if (latency_ns < HALTED * latencies_ns[0])
		return (struct halt_probe){ 0 };
	uint32_t halted_ns = (latencies_ns[0] + latency_ns) / 2;
	uint32_t first =
		LONG_STEPS - 1; /* of those that are all nearer to the last than to the first */
	while (first > 1 && latencies_ns[first - 1] > halted_ns)
		first--;
	double awake_ns = (double)((uint64_t)LONG_LEAST_NS << (first - 1)), after_ns = 2 * awake_ns;
	for (int i = 0; i < HALVINGS; i++) {
		double middle_ns = (awake_ns + after_ns) / 2;
		uint32_t cost, latency;
		if (!wake_idle((uint64_t)middle_ns, &latency, &cost))
			return (struct halt_probe){ 0 };
		*(latency > halted_ns ? &after_ns : &awake_ns) = middle_ns;
	}
	after_ns = (awake_ns + after_ns) / 2;
	/* Not of the longest, which take longer again: threads that meet often idle for less. */
	uint32_t usual = first + 1 < LONG_STEPS ? first + 1 : first;
	return (struct halt_probe){ .after_ns = after_ns,
		.start_ns = halt_start_ns(after_ns, halted_ns),
		.cost_ns = costs_ns[usual],
		.latency_ns = latencies_ns[usual] };
}

struct interrupt_probe interrupt_probe_measure(void)
{
	struct probe probe = { .work_ns = BUSY_NS, .rounds_most = ROUNDS, .is_busy = true };
	struct probe patient = probe;
	patient.is_patient = true;
	if (!run(&probe))
		return (struct interrupt_probe){ 0 };
	return (struct interrupt_probe){
		.cost_ns = median(probe.costs_ns, probe.rounds),
		.queued_cost_ns = run(&patient) ? median(patient.costs_ns, patient.rounds) : 0,
		.lost_ns = median(probe.losses_ns, probe.rounds - 1),
	};
}
