/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a thread has executed and that are not yet counted. A block costs its execution a word here and an addition
 * to the thread's clock; all else is done for many at once, before anybody looks at the counts.
 */
#ifndef PLUGIN_PENDING_H
#define PLUGIN_PENDING_H

#include "thread.h"

/* Instructions that may be pending, and so blocks; the block that comes to so many is one more. */
enum { PENDING_MOST = 2048 };

extern struct block *pending_blocks[VCPUS][PENDING_MOST + 1];

/* Nothing is pending, and the next block will be looked at. */
static inline void pending_forget(struct vcpu *vcpu)
{
	vcpu->pending_end = vcpu->pending_accesses = pending_blocks[vcpu->index];
	vcpu->early_accesses = 0;
	vcpu->slot->look_at = 0;
}

/* The block of so many instructions is executed. Whether to look at it. */
static inline bool pending_add(struct vcpu *vcpu, struct block *block, uint32_t count)
{
	struct profile_slot *slot = vcpu->slot;
	*vcpu->pending_end++ = block;
	uint64_t instructions = slot->instructions + count;
	slot->instructions = instructions;
	return instructions >= slot->look_at;
}

/* Undoes the last pending_add(). */
static inline void pending_take_back(struct vcpu *vcpu)
{
	vcpu->slot->instructions -= (*--vcpu->pending_end)->count;
}

/* What was executed last; blocks_none: unknown. */
static inline const struct block *pending_last(const struct vcpu *vcpu)
{
	return vcpu->pending_end > pending_blocks[vcpu->index] ? vcpu->pending_end[-1]
							       : vcpu->previous;
}

/* Counts their accesses, which are the clock of reuse. */
void pending_settle_accesses(struct vcpu *vcpu);

/* Counts what is pending. */
void pending_settle(struct vcpu *vcpu);

/* Sets when the next block is looked at, for what is due then. Nothing is pending. */
void pending_plan(struct vcpu *vcpu);

#endif
