/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include "branches.h"
#include "fetch.h"
#include "out.h"
#include "pending.h"
#include "reuse.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FIRST_TABLE_BITS = 4,
	LANES_HOLD = 65535, /* each instruction adds 1 at most */
};

struct vcpu vcpu_table[VCPUS];
unsigned vcpu_end;
static atomic_uint thread_count;
static atomic_uint_fast64_t instructions_written;

void vcpu_look(struct vcpu *vcpu, enum vcpu_looks who)
{
	if (!vcpu->looks)
		reuse_tell_all(true);
	vcpu->looks |= (uint8_t)who;
}

void vcpu_look_no_more(struct vcpu *vcpu, enum vcpu_looks who)
{
	bool looked = vcpu->looks;
	vcpu->looks &= (uint8_t)~who;
	if (looked && !vcpu->looks)
		reuse_tell_all(false);
}

uint64_t thread_gap(struct thread *thread, enum thread_randoms what, double mean)
{
	double uniform = ((double)(thread_random(thread, what) >> 11) + 0.5) / 9007199254740992.0;
	/* mean - 1/2: -1 / log(1 - 1 / mean), but for 1 / (12 mean) */
	return 1 + (uint64_t)(-log(uniform) * (mean - 0.5));
}

struct thread *thread_new(void)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->table_bits = FIRST_TABLE_BITS;
	thread->table = calloc(1u << FIRST_TABLE_BITS, sizeof(*thread->table));
	if (!thread->table) {
		free(thread);
		return NULL;
	}
	thread->number = atomic_fetch_add(&thread_count, 1);
	thread->pid = (uint32_t)getpid();
	thread->tid = (uint32_t)syscall(SYS_gettid);
	for (uint64_t i = 0; i < THREAD_RANDOMS; i++)
		thread->random[i] =
			(thread->number * THREAD_RANDOMS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return thread;
}

void thread_free(struct thread *thread)
{
	if (!thread)
		return;
	while (thread->sums) {
		struct sum *sum = thread->sums;
		thread->sums = sum->next;
		free(sum);
	}
	free(thread->table);
	free(thread->recorder.words);
	free(thread->reuse.entries);
	free(thread->taken.entries);
	free(thread->touched.lines);
	branches_free(thread);
	free(thread);
}

static struct sum **find_place(struct sum **table, unsigned bits, uint64_t stretch)
{
	uint32_t mask = (1u << bits) - 1;
	uint32_t at = (uint32_t)((stretch * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
	while (table[at] && table[at]->stretch != stretch)
		at = (at + 1) & mask;
	return &table[at];
}

/* Keeps the table at most half full. */
static bool grow_table(struct thread *thread)
{
	if (thread->sum_count * 2 < 1u << thread->table_bits)
		return true;
	unsigned bits = thread->table_bits + 1;
	struct sum **table = calloc(1u << bits, sizeof(*table));
	if (!table)
		return false;
	for (struct sum *sum = thread->sums; sum; sum = sum->next)
		*find_place(table, bits, sum->stretch) = sum;
	free(thread->table);
	thread->table = table;
	thread->table_bits = bits;
	return true;
}

struct sum *thread_sum(struct thread *thread, uint64_t stretch)
{
	struct sum **place = find_place(thread->table, thread->table_bits, stretch);
	if (*place)
		return *place;
	struct sum *sum = grow_table(thread) ? calloc(1, sizeof(*sum)) : NULL;
	if (!sum)
		return NULL;
	sum->stretch = stretch;
	sum->index = thread->sum_count++;
	sum->next = thread->sums;
	thread->sums = sum;
	*find_place(thread->table, thread->table_bits, stretch) = sum;
	return sum;
}

/* Lanes are 16 bits, and stretches often end before they have counted a hundred. */
static void expand(struct sum *sum)
{
	uint16_t counts[RAW_MIX];
	memcpy(counts, sum->pending, sizeof(counts));
	sum->counts.loads += counts[LANE_LOADS];
	sum->counts.stores += counts[LANE_STORES];
	for (unsigned i = 0; i < LANE_LOADS; i++)
		sum->counts.mix[i] += counts[i];
	memset(sum->pending, 0, sizeof(sum->pending));
	sum->pending_instructions = 0;
}

void vcpu_settle(struct vcpu *vcpu)
{
	struct sum *sum = vcpu->sum;
	pending_settle(vcpu);
	uint64_t instructions = vcpu->slot->instructions - vcpu->counted_instructions;
	uint64_t accesses = vcpu->slot->accesses - vcpu->counted_accesses;
	vcpu->counted_instructions = vcpu->slot->instructions;
	vcpu->counted_accesses = vcpu->slot->accesses;
	uint64_t fetches = vcpu->fetches - vcpu->counted_fetches;
	vcpu->counted_fetches = vcpu->fetches;
	if (sum) {
		if (sum->pending_instructions + instructions > LANES_HOLD)
			expand(sum);
		for (unsigned i = 0; i < LANE_PARTS; i++)
			sum->pending[i] += vcpu->counts[i];
		sum->pending_instructions += (uint32_t)instructions;
		sum->instructions += instructions;
		sum->accesses += accesses;
		sum->fetches += fetches;
		sum->counts.instructions += instructions;
		sum->counts.fetches += fetches;
	}
	memset(vcpu->counts, 0, sizeof(vcpu->counts));
}

static void write_sum(const struct thread *thread, struct sum *sum)
{
	struct raw_counts *counts = &sum->counts;
	expand(sum);
	if (counts->stretches == 0 && counts->instructions == 0 && counts->system_calls == 0)
		return;
	instructions_written += counts->instructions;
	counts->thread = thread->number;
	counts->stretch = sum->stretch;
	out_record(RAW_COUNTS, counts, sizeof(*counts), NULL, 0);
	memset(counts, 0, sizeof(*counts));
}

void thread_write(struct vcpu *vcpu, bool is_end)
{
	struct thread *thread = vcpu->thread;
	vcpu_settle(vcpu);
	struct raw_thread record = { .thread = thread->number,
		.pid = thread->pid,
		.tid = thread->tid,
		.instructions = vcpu->slot->instructions,
		.accesses = vcpu->slot->accesses };
	out_record(RAW_THREAD, &record, sizeof(record), NULL, 0);
	for (struct sum *sum = thread->sums; sum; sum = sum->next)
		write_sum(thread, sum);
	reuse_write(thread, is_end);
	branches_write(thread, is_end);
}

uint64_t thread_instructions_written(void)
{
	return instructions_written;
}
