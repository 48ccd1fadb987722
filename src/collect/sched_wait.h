/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a program's threads, all together, were ready to run but had no core. From the best
 * source that this machine and privilege allow:
 *
 *	exact	the kernel's accounting of ended threads (taskstats.h)
 *	polled	/proc/PID/task/TID/schedstat of every living thread, a few times a second: what a
 *		thread waited after it was last seen is missed, so the sum is a lower bound
 *	none	the kernel keeps no such figure (no CONFIG_SCHED_INFO)
 */
#ifndef COLLECT_SCHED_WAIT_H
#define COLLECT_SCHED_WAIT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/launch.h"

#include <stdint.h>
#include <sys/types.h>

enum sched_wait_source { SCHED_WAIT_NONE, SCHED_WAIT_POLLED, SCHED_WAIT_EXACT };

/* How long the threads that a process has now have waited for a core since they began; 0 where that is not known. */
uint64_t sched_wait_living_ns(pid_t pid);

struct sched_wait; /* opaque */

/*
 * `best`: no better source than this is tried (SCHED_WAIT_EXACT for normal use). NULL without
 * memory.
 */
struct sched_wait *sched_wait_new(enum sched_wait_source best);
void sched_wait_free(struct sched_wait *wait);

enum sched_wait_source sched_wait_source(const struct sched_wait *wait);

/* What the figure is worth and how to get a better one: a sentence; "" if it is exact. */
const char *sched_wait_caveat(const struct sched_wait *wait);

/* For the launch; the context is `wait`. */
struct launch_hooks sched_wait_hooks(struct sched_wait *wait);

/* Of the last launch, seconds; NAN if not known. */
double sched_wait_s(const struct sched_wait *wait);

/*
 * The exact source also tells the peak memory of the largest process, bytes; NAN if not known. Unlike
 * wait4(), which starts at the size of the process that forked: a few megabytes of ours.
 */
double sched_wait_rss_bytes(const struct sched_wait *wait);

CLEANUP_DEFINE(sched_wait, sched_wait_free)

#endif
