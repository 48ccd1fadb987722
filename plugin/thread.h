/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread of the guest, and what is counted of it: one sum for each stretch (preload/profile_page.h) that it has been
 * in. Only the host thread that runs it touches it, but for what others read without lock (`accesses`).
 *
 * struct vcpu is what each executed block touches; a virtual cpu's index belongs to another thread after the
 * first one's exit, so all else is in struct thread.
 */
#ifndef PLUGIN_THREAD_H
#define PLUGIN_THREAD_H

#include "blocks.h"
#include "preload/profile_page.h"

#include <stdbool.h>
#include <stdint.h>

/* Counts of one stretch that are not yet written; written, they begin again. */
struct sum {
	uint64_t stretch;
	uint64_t instructions; /* since the thread's start: not set to 0 when written */
	struct raw_counts counts;
	struct sum *next; /* of the thread's, in the order of their making */
};

struct thread {
	uint32_t number, pid, tid;
	struct sum **table; /* by stretch, open addressing */
	uint32_t table_bits;
	uint32_t sum_count;
	struct sum *sums;
	uint64_t written_ns; /* monotonic clock */
};

enum vcpu_mode {
	VCPU_UNSTARTED = 1, /* no thread yet */
	VCPU_OFF = 2, /* the guest said PROFILE_NOT_COUNTED */
	VCPU_IGNORED = 4, /* a process that is not profiled: only its clock goes on */
};

struct vcpu {
	lanes counts[LANE_PARTS]; /* not yet in `sum` */
	struct profile_slot *slot; /* shared with the guest, or `own` */
	uint64_t stretch; /* that is counted */
	uint64_t next_instructions; /* of the slot: when to attend to the thread */
	const struct block *previous; /* executed before; NULL: unknown */
	uint64_t counted_instructions; /* of the slot, when `counts` was emptied */
	uint32_t mode; /* enum vcpu_mode; 0: counts */
	struct thread *thread;
	struct sum *sum;
	struct profile_slot own;
} __attribute__((aligned(64)));

/* A new thread, known by the next number. NULL without memory. */
struct thread *thread_new(void);

/* Frees it; what is not written is lost. */
void thread_free(struct thread *thread);

/* The sum of a stretch, made if it is new. NULL without memory. */
struct sum *thread_sum(struct thread *thread, uint64_t stretch);

/* Adds what the virtual cpu has counted since the last time to its sum. */
void vcpu_settle(struct vcpu *vcpu);

/* Writes what is not yet written of the thread. */
void thread_write(struct vcpu *vcpu);

#endif
