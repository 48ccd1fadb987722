/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/call_probe.h"

#include "base/clock.h"
#include "base/order.h"
#include "machine/pin.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 200, GROUPS = 25 };

static void do_nothing(void)
{
	(void)syscall(SYS_getppid);
}

static void yield(void)
{
	(void)sched_yield(); /* it cannot fail */
}

static double median_of(void (*call)(void))
{
	double groups_ns[GROUPS];
	for (int group = 0; group < GROUPS; group++) {
		uint64_t began_ns = clock_now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < CALLS; i++)
			call();
		groups_ns[group] = (double)(clock_now_ns(CLOCK_MONOTONIC) - began_ns) / CALLS;
	}
	order_doubles(groups_ns, GROUPS);
	return groups_ns[GROUPS / 2];
}

struct yielding {
	int cpu;
	atomic_bool is_there, is_over;
	bool are_together;
	double alone_ns, together_ns;
};

static void *yield_too(void *context)
{
	struct yielding *yielding = context;
	yielding->are_together = pin_self(yielding->cpu);
	atomic_store(&yielding->is_there, true);
	while (!atomic_load(&yielding->is_over))
		yield();
	return NULL;
}

/* In a thread of its own: the caller stays on the processors that it may use. */
static void *compare(void *context)
{
	struct yielding *yielding = context;
	pthread_t other;
	if (!pin_self(yielding->cpu))
		return NULL;
	yielding->alone_ns = median_of(yield);
	if (pthread_create(&other, NULL, yield_too, yielding) != 0)
		return NULL;
	while (!atomic_load(&yielding->is_there))
		yield();
	yielding->together_ns = median_of(yield);
	atomic_store(&yielding->is_over, true);
	(void)pthread_join(other, NULL); /* it ends by itself */
	return NULL;
}

struct call_probe call_probe_measure(void)
{
	struct yielding yielding = { .cpu = sched_getcpu() };
	struct call_probe ret = { .ns = median_of(do_nothing) };
	pthread_t thread;
	if (yielding.cpu >= 0 && pthread_create(&thread, NULL, compare, &yielding) == 0)
		(void)pthread_join(thread, NULL); /* it ends by itself */
	if (!yielding.are_together)
		return ret;
	ret.yield_ns = yielding.alone_ns;
	/* Two that yield in turn: each waits for both. */
	ret.yield_switch_ns = fmax(yielding.together_ns / 2 - yielding.alone_ns, 0);
	return ret;
}
