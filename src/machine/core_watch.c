/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/core_watch.h"

#include "machine/core_width.h"
#include "machine/succession.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { BINS = 1024, PAUSE_NS = 10000000 };
static const double WIDTH_MOST = 16, HZ_MOST = 1e10;

/* Cores differ: each is compared with itself. */
struct watched {
	struct core_watch *watch;
	pthread_t thread;
	atomic_uint_fast64_t widths[BINS], clocks[BINS]; /* looks, by what they saw */
	pthread_mutex_t lock; /* of what follows */
	struct succession succession; /* of additions a ns */
};

struct core_watch {
	atomic_bool ends;
	struct watched *cores[CPU_SETSIZE];
	unsigned count;
};

/* Ahead of the program that is watched, where that is allowed: else a look waits for its turn. */
static void be_first(void)
{
	struct sched_param param = { .sched_priority = 2 };
	(void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

static void count(atomic_uint_fast64_t *bins, double value, double most)
{
	double bin = value / most * BINS;
	if (bin > 0)
		atomic_fetch_add(&bins[bin < BINS ? (unsigned)bin : BINS - 1], 1);
}

static void follow(struct watched *core, double rate)
{
	(void)pthread_mutex_lock(&core->lock);
	succession_add(&core->succession, rate);
	(void)pthread_mutex_unlock(&core->lock);
}

static void *watch_one(void *context)
{
	struct watched *core = context;
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	sigset_t all;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL); /* they are for who watches */
	be_first();
	while (!atomic_load(&core->watch->ends)) {
		struct core_look look = core_look();
		count(core->widths, look.width, WIDTH_MOST);
		count(core->clocks, look.hz, HZ_MOST);
		follow(core, look.width * look.hz / 1e9);
		(void)nanosleep(&pause, NULL); /* no signal cuts it short */
	}
	return NULL;
}

static void start(struct core_watch *watch, int processor)
{
	AUTO_FREE struct watched *core = calloc(1, sizeof *core);
	pthread_attr_t attr;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	if (!core || pthread_attr_init(&attr) != 0)
		return;
	core->watch = watch;
	(void)pthread_mutex_init(&core->lock, NULL); /* cannot fail on Linux */
	if (pthread_attr_setaffinity_np(&attr, sizeof one, &one) == 0 &&
		pthread_create(&core->thread, &attr, watch_one, core) == 0)
		watch->cores[watch->count++] = TAKE(core);
	(void)pthread_attr_destroy(&attr); /* it is valid */
}

struct core_watch *core_watch_new(void)
{
	cpu_set_t allowed;
	struct core_watch *watch = calloc(1, sizeof *watch);
	if (!watch || sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return watch;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed))
			start(watch, i);
	return watch;
}

void core_watch_free(struct core_watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->ends, true);
	for (unsigned i = 0; i < watch->count; i++) {
		(void)pthread_join(watch->cores[i]->thread, NULL); /* it ends by itself */
		free(watch->cores[i]);
	}
	free(watch);
}

/* Of what was counted: all, their mean, and the bin below which all but a fiftieth are, in the same unit. */
struct sum {
	uint64_t looks;
	double mean;
	unsigned most;
};

static struct sum sum_up(const atomic_uint_fast64_t *bins)
{
	struct sum sum = { 0 };
	for (unsigned i = 0; i < BINS; i++) {
		sum.looks += atomic_load(&bins[i]);
		sum.mean += (double)atomic_load(&bins[i]) * i;
	}
	sum.mean /= sum.looks ? (double)sum.looks : 1;
	uint64_t below = 0;
	while (sum.most < BINS - 1 && (below += atomic_load(&bins[sum.most])) * 50 < sum.looks * 49)
		sum.most++;
	return sum;
}

static uint64_t count_shared(const struct watched *core, unsigned most)
{
	uint64_t shared = 0;
	for (unsigned i = 0; i < CORE_WIDTH_SHARED * most; i++)
		shared += atomic_load(&core->widths[i]);
	return shared;
}

static double taken(const struct sum *widths, const struct sum *clocks)
{
	double most = (double)widths->most * clocks->most;
	double part = most > 0 ? 2 * (1 - widths->mean * clocks->mean / most) : 0;
	return part < 0 ? 0 : part > 1 ? 1 : part;
}

static double resemblance(struct watched *core)
{
	(void)pthread_mutex_lock(&core->lock);
	double alike = succession_resemblance(&core->succession);
	(void)pthread_mutex_unlock(&core->lock);
	return alike;
}

struct core_sharing core_watch_seen(const struct core_watch *watch)
{
	struct core_sharing seen = { 0 };
	double resembling = 0;
	for (unsigned i = 0; watch && i < watch->count; i++) {
		struct sum widths = sum_up(watch->cores[i]->widths);
		struct sum clocks = sum_up(watch->cores[i]->clocks);
		double looks = (double)widths.looks;
		seen.looks += widths.looks;
		seen.width += looks * widths.mean / BINS * WIDTH_MOST;
		seen.hz += looks * clocks.mean / BINS * HZ_MOST;
		seen.most_width += looks * widths.most / BINS * WIDTH_MOST;
		seen.most_hz += looks * clocks.most / BINS * HZ_MOST;
		seen.shared += (double)count_shared(watch->cores[i], widths.most);
		seen.taken += looks * taken(&widths, &clocks);
		resembling += looks * resemblance(watch->cores[i]);
	}
	double looks = seen.looks ? (double)seen.looks : 1;
	seen.width /= looks;
	seen.hz /= looks;
	seen.most_width /= looks;
	seen.most_hz /= looks;
	seen.shared /= looks;
	seen.taken /= looks;
	seen.spell_ns = succession_spell_ns(resembling / looks, PAUSE_NS, seen.taken);
	return seen;
}
