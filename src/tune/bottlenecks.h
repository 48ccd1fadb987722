/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads wait for, and who executes it: the bottleneck table of BIS (boost.h), from events.
 *
 *	lock				its holder
 *	barrier				the one of its threads that has not arrived, when there is one
 *	condition, semaphore, queue	who signalled, posted, put or got last
 *
 * Contention is the waiting time of all threads, halved every 50 us (100,000 cycles of 2 GHz); a
 * bottleneck counts from 1,024 cycles on. Threads are the account's indices. Two modes of a
 * read-write lock are not told apart: its last holder executes it.
 */
#ifndef TUNE_BOTTLENECKS_H
#define TUNE_BOTTLENECKS_H

#include "criticality/account.h"
#include "tune/boost.h"

struct contended {
	uint64_t contention, settled_ns;
	uint32_t waiters, executor;
	uint32_t *members; /* of a barrier: who ever came to it */
	size_t member_count, member_capacity;
	uint8_t what;
	bool is_listed;
	bool has_opened; /* a barrier, since somebody came to it last */
};

struct bottlenecks {
	struct index index; /* (address, process and kind) to all[] */
	struct contended *all;
	size_t count, capacity;
	uint32_t *waits; /* of each thread: what it waits for, index plus one; 0: nothing */
	size_t wait_capacity;
	uint32_t *listed; /* those with contention */
	size_t listed_count, listed_capacity;
	struct boost_bottleneck *view;
	size_t view_capacity;
	uint64_t now_ns;
};

void bottlenecks_release(struct bottlenecks *bottlenecks);

/* An event of a thread, in order of time. 0 or -ENOMEM. */
int bottlenecks_event(struct bottlenecks *bottlenecks, uint32_t thread, const struct event *event);

/* Those that count now, in *ret, valid until the next call. 0 or -ENOMEM. */
int bottlenecks_view(struct bottlenecks *bottlenecks, const struct account *account,
	const struct boost_bottleneck **ret, size_t *ret_count);

#endif
