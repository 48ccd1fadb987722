/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a running program's threads did since one looked last, and in all: differences between the
 * snapshots of a bpf_watch. Memory grows with the threads that live, not with time: those that have
 * ended are kept as one row for each name.
 */
#ifndef RECORD_LIVE_H
#define RECORD_LIVE_H

#include "record/bpf_watch.h"

enum { LIVE_NAMES_MAX = 64 }; /* rows of ended threads; more names share the last one */

struct live_row {
	char name[WATCH_NAME_BYTES];
	uint32_t tid, pid; /* 0: ended threads of this name */
	uint32_t count; /* threads that it stands for */
	bool is_active; /* when it was read */
	double criticality_s, active_s; /* since the update before */
	double total_s; /* criticality since watching began */
	uint64_t waits; /* since the update before */
	uint64_t criticality, active_ns, all_waits; /* as in the snapshot */
};

struct live_rows {
	struct live_row *items;
	size_t count, capacity;
};

/* { 0 } has seen nothing. */
struct live {
	struct live_rows threads; /* by tid */
	struct live_rows ended; /* by name */
	struct live_rows next; /* memory to build the next `threads` in */
	struct watch_total total;
	double elapsed_s, idle_s; /* since the update before; idle: no thread active */
	double watched_s; /* since watching began */
	double parallelism; /* threads active on average while there was one; 0: there was none */
	uint64_t lost_threads;
};

void live_release(struct live *live);

/* Takes in the next snapshot of the same watch. 0 or -ENOMEM. */
int live_update(struct live *live, const struct bpf_snapshot *snapshot);

/*
 * All rows into *ret (released by the caller), most critical since the update before first; those
 * behind the first `names` keep the name that their thread had when it started. 0 or -ENOMEM.
 */
int live_list(const struct live *live, size_t names, struct live_rows *ret);
void live_rows_release(struct live_rows *rows);

#endif
