/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pending.h"

#include "branches.h"
#include "fetch.h"

#include <string.h>

struct block *pending_blocks[VCPUS][PENDING_MOST + 1];

static __attribute__((noinline)) void follow_lines(
	struct vcpu *vcpu, struct block **begin, struct block **end)
{
	uint64_t last_line = vcpu->previous->last_line;
	for (struct block **at = begin; at < end; at++) {
		fetch_block(vcpu, last_line, *at);
		last_line = (*at)->last_line;
	}
}

void pending_settle_accesses(struct vcpu *vcpu)
{
	uint64_t accesses = 0;
	for (struct block **at = vcpu->pending_accesses; at < vcpu->pending_end; at++)
		accesses += (*at)->accesses;
	vcpu->pending_accesses = vcpu->pending_end;
	vcpu->early_accesses += accesses;
	vcpu->slot->accesses += accesses;
}

/* Adds up what executions have in common; the lines one by one only if there is something about one of them. */
static void add_up(struct vcpu *vcpu, struct block **begin, struct block **end)
{
	lanes counts[LANE_PARTS];
	memcpy(counts, vcpu->counts, sizeof(counts));
	const uint64_t *filter = fetch_filters[vcpu->index];
	uint64_t last_line = vcpu->previous->last_line;
	uint64_t fetches = vcpu->fetches, accesses = 0, special = 0;
	for (struct block **at = begin; at < end; at++) {
		const struct block *block = *at;
#pragma GCC unroll 8
		for (unsigned i = 0; i < LANE_PARTS; i++)
			counts[i] += block->counts[i];
		accesses += block->accesses;
		uint64_t changes = fetch_changes(last_line, block);
		fetches += changes;
		special |= fetch_special(filter, block, changes);
		last_line = block->last_line;
	}
	memcpy(vcpu->counts, counts, sizeof(counts));
	vcpu->slot->accesses += accesses - vcpu->early_accesses;
	vcpu->early_accesses = 0;
	if (special || fetches > vcpu->next_fetch)
		follow_lines(vcpu, begin, end);
	else
		vcpu->fetches = fetches;
}

void pending_settle(struct vcpu *vcpu)
{
	struct block **begin = pending_blocks[vcpu->index], **end = vcpu->pending_end;
	if (begin == end)
		return;
	vcpu->pending_end = vcpu->pending_accesses = begin;
	if (vcpu->mode & VCPU_BRANCHES && vcpu->sum)
		branches_follow(vcpu, begin, end);
	add_up(vcpu, begin, end);
	vcpu->previous = end[-1];
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void pending_plan(struct vcpu *vcpu)
{
	struct profile_slot *slot = vcpu->slot;
	bool is_due = vcpu->mode & ~(uint32_t)VCPU_BRANCHES || slot->accesses > vcpu->next_access ||
		      slot->instructions >= vcpu->next_instructions;
	/* An instruction has one access at most. */
	uint64_t accesses = vcpu->next_access - slot->accesses;
	uint64_t left = smaller(accesses, vcpu->next_instructions - slot->instructions);
	slot->look_at = is_due ? 0 : slot->instructions + smaller(left, PENDING_MOST);
}
