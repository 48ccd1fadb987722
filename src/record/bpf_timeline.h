/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel tells of a program's threads, as events of the timeline: in order of time for
 * each thread, which is what the writer of trace files asks for.
 *
 *	BLOCK ... WAKE ... RUN		WAIT ... PASS (with when and by whom it was woken)
 *	PREEMPT ... RUN			PREEMPT ... RUN
 *
 * Also names: of threads, of the program, and of the files mapped into its processes.
 */
#ifndef RECORD_BPF_TIMELINE_H
#define RECORD_BPF_TIMELINE_H

#include "base/map.h"
#include "bpf/watch.h"
#include "code/address_space.h"
#include "trace/sink.h"

#include <stdbool.h>

struct timeline_thread {
	uint32_t pid, tid; /* 0: free */
	bool is_waiting;
	uint8_t what;
	uint64_t object, site;
	char inherited
		[WATCH_NAME_BYTES]; /* its parent's name, if what it runs is known and says more; else empty */
	uint32_t joined; /* what it waits for is the end of this thread; 0: of none */
	uint64_t ran_ns,
		ran_cpu_ns; /* when it got its core, and its processor time then; 0: not seen */
};

struct bpf_timeline {
	struct event_sink sink; /* set by the user */
	bool is_before_exec; /* set by the user: what is found is not yet the program */
	struct timeline_thread *threads;
	size_t count, capacity;
	size_t *free_places;
	size_t free_count, free_capacity;
	struct map index; /* tid to place */
	struct address_spaces spaces;
	/* Since the last bpf_timeline_pause(): processes whose maps were read, to when that was last; how often one was again. */
	struct map read;
	uint32_t again;
	struct map processes; /* all that were seen */
	bool has_program;
	struct err err; /* of the first failure */
};

void bpf_timeline_release(struct bpf_timeline *timeline);

/* One event, for bpf_watch_drain(); the context is the timeline. 0, -ENOMEM, or what the sink returns. */
int bpf_timeline_take(void *context, const struct watch_event *event);

/* Between two rounds of events: programs may have loaded other code meanwhile. */
void bpf_timeline_pause(struct bpf_timeline *timeline);

/* The end: names of threads that go on, how many events were lost. 0 or as bpf_timeline_take(). */
int bpf_timeline_finish(struct bpf_timeline *timeline, uint64_t end_ns, uint64_t lost);

#endif
