/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts events over a child process and all the threads and processes that it starts.
 *
 *	counters_new(set, &counter_source_kernel, &counters, err);	once: resolves the names
 *	for each run:
 *		fork; the child waits before exec (a pipe)
 *		counters_attach(counters, child, err);
 *		let the child exec; wait until it has exited
 *		counters_read(counters, values, running_shares, err);
 *	counters_free(counters);
 *
 * Counting starts at the child's exec, so what happens before is not counted. The processor has few
 * counters: with more events the kernel takes turns, and values are scaled up by the share of the
 * time that each event was really counted. That share is reported: warn when it is low.
 */
#ifndef COLLECT_COUNTERS_H
#define COLLECT_COUNTERS_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/event_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

/* What one opened event has counted. Times are ns. */
struct counter_reading {
	uint64_t value;
	uint64_t enabled_ns; /* how long it was to be counted */
	uint64_t running_ns; /* how long it had a counter */
};

/* Where counts come from: the kernel, or a recording in tests. */
struct counter_source {
	/* As perf_event_open(2): a descriptor, or a negative errno. group: -1, or the descriptor of
	   the event that this one must be counted together with. */
	int (*open)(void *context, const struct perf_event_attr *attr, pid_t pid, int group);
	int (*read)(void *context, int fd, struct counter_reading *ret); /* 0, negative errno */
	void (*close)(void *context, int fd);
	void *context;
};

extern const struct counter_source counter_source_kernel;

struct counters;

/*
 * Below this share of the time with a counter, a scaled value should carry a warning: the kernel
 * changes turns about every 4 ms, so that a run of one second has fewer than 50 such samples.
 */
#define COUNTERS_LOW_SHARE 0.2

/*
 * Resolves every event of the set (libpfm4's name where libpfm4 knows it on this processor, else the
 * code in the set) and asks the source whether it can be opened. The kernel's part of the run is
 * counted too where that is allowed, else only the user's part: counters_user_only().
 * `set` and what `source` points to are borrowed and must live longer.
 * 0; -EACCES (err names perf_event_paranoid and the command that mends it), -ENODEV (this machine
 * has no hardware counters), -EOPNOTSUPP (an event is not on this processor; err names it), -EINVAL
 * (the set has no events), -ENOMEM. The caller frees *ret with counters_free().
 */
int counters_new(const struct event_set *set, const struct counter_source *source,
	struct counters **ret, struct err *err);
void counters_free(struct counters *counters);
CLEANUP_DEFINE(counters, counters_free)

/*
 * Opens the events on a child that has not called exec yet. Ends the previous attachment.
 * 0, or a negative errno as counters_new(); nothing stays open then.
 */
int counters_attach(struct counters *counters, pid_t pid, struct err *err);

/*
 * After the child's exit: one value for each event of the set, in its order: scaled for the time
 * without a counter, and less the events named by `minus` (never below 0). Events that never had a
 * counter yield NaN. ret_running_share (may be NULL): for each event, 0 to 1; 1 when it was counted
 * all the time. Ends the attachment. 0, -EINVAL (not attached), or the source's negative errno.
 */
int counters_read(
	struct counters *counters, double *ret_values, double *ret_running_share, struct err *err);

/*
 * True if what happens in the kernel is not counted (perf_event_paranoid forbids it). Switches and
 * migrations of event_set_software() happen there, and read 0 then.
 */
bool counters_user_only(const struct counters *counters);

/* How many events the set has: the length of the two arrays above. */
size_t counters_count(const struct counters *counters);

/*
 * How many events of the set the processor counts at once, found by opening groups on the calling
 * process: 1 to counters_count(). Negative errno when not even one can be opened.
 */
int counters_at_once(const struct counters *counters);

/*
 * The kernel's software events, which exist without hardware counters: task-clock (ns),
 * context-switches, cpu-migrations, page-faults. For counters_new(); never freed.
 */
const struct event_set *event_set_software(void);

#endif
