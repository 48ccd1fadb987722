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
#include "events.h"
#include "kernel_time.h"
#include "line_set.h"
#include "preload/profile_page.h"

#include <stdbool.h>
#include <stdint.h>

/* Counts of one stretch that are not yet written; written, they begin again. */
struct sum {
	lanes pending[LANE_PARTS]; /* not yet in `counts` */
	uint64_t stretch;
	uint32_t pending_instructions;
	uint64_t instructions; /* since the thread's start: not set to 0 when written */
	struct raw_counts counts;
	uint64_t next_micro; /* `instructions` at which a micro-trace is due */
	uint64_t accesses; /* since the thread's start */
	uint64_t sample_in; /* accesses until the next sample, when it is not the current one */
	double sample_weight; /* of that: accesses that it stands for */
	uint64_t fetches; /* since the thread's start */
	uint64_t fetch_in; /* as sample_in, of fetches */
	double fetch_weight;
	uint64_t outcomes; /* of branches that were looked at, since the thread's start */
	/* Of what was looked at since the window at hand began: outcomes, indirect jumps, missed of them (foresight.h, jumps.h). */
	uint32_t looked, jumps;
	uint32_t missed_halves[RAW_HISTORIES];
	/* The same of windows before, each as often as it stands for; since they were written. */
	double all_looked, all_jumps, all_missed[RAW_HISTORIES];
	uint64_t looked_plain; /* outcomes, each once */
	uint32_t index; /* of the thread's */
	struct sum *next; /* of the thread's, the newest first */
};

/* What record.h keeps of a thread. */
struct recorder {
	uint64_t *words;
	uint32_t used, capacity;
	uint32_t instructions; /* of this micro-trace */
	bool has_block; /* since it started */
	bool is_micro; /* a micro-trace is recorded */
	uint64_t at, class_at; /* as in raw_micro */
	uint64_t entered_at; /* as class_at, when the stretch began */
	uint64_t begin_ns, stretches; /* as in trace_chunk */
};

/* Sampled reuse distances that are not yet written: an open-addressing table. */
struct reuse_entry {
	uint64_t key; /* sum, code, scope, bin; 0: free */
	struct sum *sum;
	double count;
	uint32_t samples;
};

struct reuse_table {
	struct reuse_entry *entries;
	uint32_t bits, used;
};

/* Watched lines of instructions (fetch.h). */
enum { FETCH_WATCHES = 64 };

struct fetch_watch {
	uint64_t line, clock;
	double weight;
};

struct fetch_state {
	struct fetch_watch watches[FETCH_WATCHES];
	uint32_t count;
	double thinning; /* as in reuse.c */
};

/* Watched pages (pages.h). */
enum {
	PAGES_WATCHES = 64,
	PAGES_FILTER_BITS = 10,
	PAGES_FILTER_WORDS = 1 << (PAGES_FILTER_BITS - 6)
};

struct page_watch {
	uint64_t page, clock;
	struct sum *sum; /* what accessed it */
	uint32_t code;
	double weight;
};

struct page_state {
	struct page_watch watches[PAGES_WATCHES];
	uint32_t count;
	uint32_t thinning_bits; /* samples are so many times halved */
	uint64_t filter[PAGES_FILTER_WORDS]; /* of the watched ones */
};

struct branches;

enum { TOUCHED_OFTEN_BITS = 8, TOUCHED_OFTEN = 1 << TOUCHED_OFTEN_BITS };

/*
 * Who draws, each from a sequence of its own: what one samples does not change what the others do, so that profiles of a program
 * that always does the same sample the same.
 */
enum thread_randoms {
	RANDOM_REUSE,
	RANDOM_THINNING,
	RANDOM_PAGES,
	RANDOM_FETCHES,
	RANDOM_MICRO,
	RANDOM_BRANCHES,
	THREAD_RANDOMS,
};

struct thread {
	uint32_t number, pid, tid;
	struct sum **table; /* by stretch, open addressing */
	uint32_t table_bits;
	uint32_t sum_count;
	struct sum *sums;
	struct sum *last_sum; /* into which it was counted last */
	uint64_t written_ns, write_every_ns; /* monotonic clock */
	uint64_t random[THREAD_RANDOMS];
	struct recorder recorder;
	struct reuse_table reuse;
	/* Samples whose line others would have written meanwhile (sharing.h), where they may. */
	struct reuse_table taken;
	struct line_set touched;
	uint64_t touched_often[TOUCHED_OFTEN]; /* some of those, by hash; 0: none */
	struct fetch_state fetch;
	struct page_state pages;
	struct branches *branches; /* of branches.h */
	struct kernel_call kernel_call;
};

enum vcpu_mode {
	VCPU_UNSTARTED = 1, /* no thread yet */
	VCPU_OFF = 2, /* the guest said PROFILE_NOT_COUNTED */
	VCPU_IGNORED = 4, /* a process that is not profiled: only its clock goes on */
	VCPU_RECORDS = 8, /* record.h sees each block */
	VCPU_BRANCHES = 16, /* branches.h does */
	VCPU_CALLED = 32, /* it is in a function that calls.h watches */
};

/* Who wants to see each access, beside those of watched lines. */
enum vcpu_looks {
	LOOKS_RECORDER = 1,
	LOOKS_SAMPLER = 2, /* an access of this block is to be sampled */
};

struct vcpu {
	lanes counts[LANE_PARTS]; /* not yet in `sum` */
	struct profile_slot *slot; /* shared with the guest, or `own` */
	uint64_t stretch; /* that is counted */
	uint64_t entered; /* stretches so far */
	/* Blocks that are not yet counted (pending.h): their end, and the first whose accesses are not in the slot yet. */
	struct block **pending_end, **pending_accesses;
	uint64_t early_accesses; /* of pending blocks, that are in the slot */
	/* of the slot: when to attend to the thread, to sample an access; of `fetches` */
	uint64_t next_instructions, next_access, next_fetch;
	uint64_t fetches; /* of lines of instructions */
	const struct block *previous; /* that was counted last; blocks_none: unknown */
	uint32_t mode; /* enum vcpu_mode; 0: counts */
	uint16_t index; /* of the virtual cpu */
	int host_tid; /* of the thread that it runs in */
	uint8_t looks; /* enum vcpu_looks */
	struct sum *sum;
	struct thread *thread;
	/* Of the slot and of `fetches`, when `counts` was emptied. */
	uint64_t counted_instructions, counted_accesses, counted_fetches;
	/* The access last looked at: what the emulator splits, and a store after a load, is one access. */
	const struct place *last_place;
	uint64_t last_line, last_clock;
	/* The same of the leader of a group: others of the group come in between. */
	const struct place *last_leader;
	uint64_t last_leader_line, last_leader_clock;
	/* Of a static program (calls.h): the guest's registers; where the watched call returns to; when it was created. */
	const uint64_t *registers;
	uint64_t returns_to;
	struct events_birth birth;
	uint64_t string_lines[2]; /* that a string instruction last loaded from, stored to */
	uint16_t string_index; /* of it, in the block that it is counted in */
	/* Of the threads that had this virtual cpu before. */
	uint64_t earlier_accesses;
	struct profile_slot own;
} __attribute__((aligned(256)));

/* Its address is computed for each block and access. */
static_assert(sizeof(struct vcpu) == 512, "a power of 2");

/* Who wants to see each access of the thread, from now on; no more. */
void vcpu_look(struct vcpu *vcpu, enum vcpu_looks who);
void vcpu_look_no_more(struct vcpu *vcpu, enum vcpu_looks who);

enum { VCPUS = PROFILE_SLOTS };

extern struct vcpu vcpu_table[VCPUS];
extern unsigned vcpu_end; /* all that have been used are before */

/* A random number of one of the thread's own sequences (xorshift64*). */
static inline uint64_t thread_random(struct thread *thread, enum thread_randoms what)
{
	uint64_t x = thread->random[what];
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	thread->random[what] = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* When the next of events comes that each have the chance 1 / mean: at least 1. */
uint64_t thread_gap(struct thread *thread, enum thread_randoms what, double mean);

/* A new thread, known by the next number. NULL without memory. */
struct thread *thread_new(void);

/* Frees it; what is not written is lost. */
void thread_free(struct thread *thread);

/* The sum of a stretch, made if it is new. NULL without memory. */
struct sum *thread_sum(struct thread *thread, uint64_t stretch);

/* Adds what the virtual cpu has counted since the last time to its sum. */
void vcpu_settle(struct vcpu *vcpu);

/* Writes what is not yet written of the thread; at its end all that is left. */
void thread_write(struct vcpu *vcpu, bool is_end);

/* Of all threads. */
uint64_t thread_instructions_written(void);

#endif
