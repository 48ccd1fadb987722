/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting for a core: from taskstats, or by polling schedstat of the tree's threads. */
#include "collect/sched_wait.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "collect/taskstats.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Polling may take this part of the time at most. */
static const double POLL_SHARE = 0.005;
enum { DEPTH_MAX = 32 };

struct thread_seen {
	pid_t tid;
	uint64_t wait_ns; /* when it was last seen */
};

struct sched_wait {
	enum sched_wait_source source;
	struct taskstats_socket taskstats;
	struct thread_seen *threads; /* ascending tids */
	size_t thread_count, thread_capacity;
	double next_poll_s; /* CLOCK_MONOTONIC */
	double wait_s;
	double rss_bytes;
};

/* schedstat is "running-ns waiting-ns slices": false if it is not there or not kept. */
static bool read_schedstat(const char *path, uint64_t *ret_wait_ns)
{
	AUTO_FILE FILE *f = fopen(path, "re");
	uint64_t run_ns, wait_ns, slices;
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run_ns, &wait_ns, &slices) != 3 ||
		slices == 0)
		return false;
	*ret_wait_ns = wait_ns;
	return true;
}

uint64_t sched_wait_living_ns(pid_t pid)
{
	char path[96];
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid); /* fits, as below */
	DIR *folder = opendir(path);
	const struct dirent *entry;
	uint64_t sum_ns = 0, wait_ns;
	while (folder && (entry = readdir(folder))) {
		(void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid,
			entry->d_name);
		if (isdigit((unsigned char)entry->d_name[0]) && read_schedstat(path, &wait_ns))
			sum_ns += wait_ns;
	}
	if (folder)
		(void)closedir(folder); /* read only */
	return sum_ns;
}

struct sched_wait *sched_wait_new(enum sched_wait_source best)
{
	AUTO(sched_wait) struct sched_wait *wait = calloc(1, sizeof *wait);
	if (!wait)
		return NULL;
	wait->taskstats.fd = -1;
	wait->wait_s = NAN;
	uint64_t unused;
	if (!read_schedstat("/proc/self/schedstat", &unused))
		wait->source = SCHED_WAIT_NONE;
	else if (best == SCHED_WAIT_EXACT && taskstats_open(&wait->taskstats, NULL) == 0)
		wait->source = SCHED_WAIT_EXACT;
	else
		wait->source = best == SCHED_WAIT_NONE ? SCHED_WAIT_NONE : SCHED_WAIT_POLLED;
	return TAKE(wait);
}

void sched_wait_free(struct sched_wait *wait)
{
	if (!wait)
		return;
	taskstats_release(&wait->taskstats);
	free(wait->threads);
	free(wait);
}

enum sched_wait_source sched_wait_source(const struct sched_wait *wait)
{
	return wait->source;
}

const char *sched_wait_caveat(const struct sched_wait *wait)
{
	switch (wait->source) {
	case SCHED_WAIT_NONE:
		return "the time that threads wait for a core is not known: this kernel keeps no "
		       "schedstat (CONFIG_SCHED_INFO)";
	case SCHED_WAIT_POLLED:
		return "the time that threads wait for a core is a lower bound, polled: run as "
		       "root, outside containers, for the exact figure";
	case SCHED_WAIT_EXACT:
		break;
	}
	return "";
}

static bool is_thread_before(const void *thread, const void *tid)
{
	return ((const struct thread_seen *)thread)->tid < *(const pid_t *)tid;
}

/* Where the thread is, or would be, in the sorted list. */
static size_t position(const struct sched_wait *wait, pid_t tid)
{
	return sorted_before(
		wait->threads, wait->thread_count, sizeof *wait->threads, is_thread_before, &tid);
}

static void see_thread(struct sched_wait *wait, pid_t tid, uint64_t wait_ns)
{
	size_t at = position(wait, tid);
	if (at == wait->thread_count || wait->threads[at].tid != tid) {
		if (mem_grow(&wait->threads, &wait->thread_capacity, wait->thread_count + 1,
			    sizeof *wait->threads) < 0)
			return; /* the sum stays a lower bound */
		for (size_t i = wait->thread_count++; i > at; i--)
			wait->threads[i] = wait->threads[i - 1];
		wait->threads[at] = (struct thread_seen){ .tid = tid };
	}
	wait->threads[at].wait_ns = wait_ns;
}

static void poll_process(struct sched_wait *wait, pid_t pid, int depth);

/* The processes that a thread has started, from its `children` file. */
static void poll_children(struct sched_wait *wait, pid_t pid, const char *tid, int depth)
{
	char path[96];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, tid); /* fits */
	AUTO_FILE FILE *f = fopen(path, "re");
	int child;
	while (f && fscanf(f, "%d", &child) == 1)
		poll_process(wait, child, depth + 1);
}

static void poll_process(struct sched_wait *wait, pid_t pid, int depth)
{
	char path[96];
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid); /* fits */
	DIR *folder = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!folder)
		return;
	const struct dirent *entry;
	while ((entry = readdir(folder))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		uint64_t wait_ns;
		(void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid,
			entry->d_name); /* fits */
		if (read_schedstat(path, &wait_ns))
			see_thread(wait, (pid_t)atol(entry->d_name), wait_ns);
		poll_children(wait, pid, entry->d_name, depth);
	}
	(void)closedir(folder); /* read only */
}

static int start(void *context, pid_t pid, struct err *err)
{
	(void)pid;
	(void)err;
	struct sched_wait *wait = context;
	wait->thread_count = 0;
	wait->next_poll_s = 0;
	wait->wait_s = NAN;
	wait->rss_bytes = NAN;
	if (wait->source == SCHED_WAIT_EXACT)
		taskstats_clear(&wait->taskstats);
	return 0;
}

static void tick(void *context, pid_t pid)
{
	struct sched_wait *wait = context;
	if (wait->source == SCHED_WAIT_EXACT)
		taskstats_drain(&wait->taskstats);
	double before_s = clock_now_s(CLOCK_MONOTONIC);
	if (wait->source != SCHED_WAIT_POLLED || before_s < wait->next_poll_s)
		return;
	poll_process(wait, pid, 0);
	double after_s = clock_now_s(CLOCK_MONOTONIC);
	wait->next_poll_s = after_s + (after_s - before_s) / POLL_SHARE;
}

static void end(void *context, pid_t pid)
{
	struct sched_wait *wait = context;
	if (wait->source == SCHED_WAIT_EXACT) {
		taskstats_drain(&wait->taskstats);
		struct taskstats_sum sum;
		if (taskstats_sum_tree(&wait->taskstats, pid, getpid(), &sum) < 0)
			return;
		wait->wait_s = sum.wait_s;
		wait->rss_bytes = sum.rss_bytes;
	} else if (wait->source == SCHED_WAIT_POLLED) {
		poll_process(wait, pid, 0); /* its first thread is still there, with its total */
		wait->wait_s = 0;
		for (size_t i = 0; i < wait->thread_count; i++)
			wait->wait_s += (double)wait->threads[i].wait_ns * 1e-9;
	}
}

struct launch_hooks sched_wait_hooks(struct sched_wait *wait)
{
	return (struct launch_hooks){
		.at_start = start, .at_tick = tick, .at_end = end, .context = wait
	};
}

double sched_wait_s(const struct sched_wait *wait)
{
	return wait->wait_s;
}

double sched_wait_rss_bytes(const struct sched_wait *wait)
{
	return wait->rss_bytes;
}
