/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watching the threads of one program, and of all that it has started and starts, in the kernel: any language, no
 * preparation, also when it already runs. The criticality account is kept there (bpf/watch.bpf.c),
 * so that watching for hours takes constant memory and almost no time; on request every change is
 * told as well.
 *
 *	bpf_watch_open(&(struct bpf_watch_opts){ .pid = 4711 }, &watch, err)
 *	... bpf_watch_read(watch, &snapshot, err), now and then
 *	bpf_watch_stop(watch)			from here the account stands still
 *	bpf_watch_read(watch, &snapshot, err)	adds up to the last 1/256 ns
 *
 * Nothing stays in the kernel when the process ends, however it does.
 */
#ifndef RECORD_BPF_WATCH_H
#define RECORD_BPF_WATCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_watch; /* opaque */

struct bpf_watch_opts {
	pid_t pid; /* of the process to begin with; it may be stopped before its exec */
	bool is_on_cpu; /* active means on a core: waiting for one does not count */
	bool has_disk; /* tell requests to disks, too; needs events */
	uint32_t
		threads_max; /* records, also of ended threads that were not read; 0: WATCH_THREADS_MAX */
	size_t event_bytes; /* buffer for events, rounded up to a power of two; 0: no events */
};

/* What the account says at one moment. */
struct bpf_snapshot {
	struct watch_total total;
	struct watch_thread *threads; /* in no order; one that has ended comes once */
	size_t count, capacity;
	uint64_t losses[WATCH_LOSSES];
};

void bpf_snapshot_release(struct bpf_snapshot *snapshot);

/*
 * Loads, attaches, and takes up the threads that are there. 0; -ESRCH (no such process), what
 * bpf_check() returns, or what the kernel says.
 */
int bpf_watch_open(const struct bpf_watch_opts *opts, struct bpf_watch **ret, struct err *err);
void bpf_watch_free(struct bpf_watch *watch);
CLEANUP_DEFINE(bpf_watch, bpf_watch_free)

/* Detaches: nothing changes any more. What was gathered can still be read. */
void bpf_watch_stop(struct bpf_watch *watch);

/*
 * Replaces *snapshot, whose memory is used again. Threads that have ended are forgotten in the
 * kernel after this. While the program runs, each thread's figures are those of its own moment.
 * 0, -ENOMEM, -EIO.
 */
int bpf_watch_read(struct bpf_watch *watch, struct bpf_snapshot *snapshot, struct err *err);

/* Who is active now, in constant time. */
struct bpf_glance {
	uint64_t active; /* threads */
	uint32_t only; /* tid of the one that is active alone; 0: none, or several */
	bool is_active; /* the thread that was asked for */
};

/* `tid` 0: nobody is asked for. 0 or what the kernel says. */
int bpf_watch_glance(
	const struct bpf_watch *watch, uint32_t tid, struct bpf_glance *ret, struct err *err);

/* What could not be seen so far. */
void bpf_watch_losses(const struct bpf_watch *watch, uint64_t ret[WATCH_LOSSES]);

/*
 * Calls `take` for each event that has arrived, almost in order of time; a negative errno from it
 * ends the reading and is returned. 0.
 */
int bpf_watch_drain(struct bpf_watch *watch,
	int (*take)(void *context, const struct watch_event *event), void *context);

#endif
