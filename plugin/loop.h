/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that jump to their own begin: while one repeats, and nothing is due, executions are only numbered.
 *
 *	executed after itself            another block, loop_left is 0
 *	--------------------> VCPU_LOOPS ------------------------------>
 *	 loop_enter()          is_in_loop()   loop_leave()
 */
#ifndef PLUGIN_LOOP_H
#define PLUGIN_LOOP_H

#include "fetch.h"
#include "thread.h"

/* Fewer are not worth the way in and out. */
enum { LOOP_LEAST = 8 };

/* Whether this execution of the block is another of the loop, and no more than that. */
static inline bool is_in_loop(struct vcpu *vcpu, const struct block *block)
{
	if (block != vcpu->loop || vcpu->loop_left == 0)
		return false;
	vcpu->loop_left--;
	return true;
}

/*
 * The block has been executed twice, and none of its lines is watched: it loops until something is due. An instruction
 * has one access and comes to two lines at most.
 */
static inline void loop_enter(struct vcpu *vcpu, const struct block *block)
{
	uint64_t left = vcpu->next_instructions - vcpu->slot->instructions;
	uint64_t accesses = vcpu->next_access - vcpu->slot->accesses;
	uint64_t fetches = (vcpu->next_fetch - vcpu->fetches) / 2;
	if (accesses < left)
		left = accesses;
	if (fetches < left)
		left = fetches;
	uint32_t times = (uint32_t)left / block->count;
	if (times < LOOP_LEAST)
		return;
	vcpu->loop = block;
	vcpu->loop_times = vcpu->loop_left = times;
	vcpu->mode |= VCPU_LOOPS;
}

/* Whether the block, executed after `previous`, begins a loop. */
static inline bool loop_begins(
	const struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	return block->loops & (previous == block) & (vcpu->mode == 0);
}

/* Something else is executed. */
static inline void loop_leave(struct vcpu *vcpu)
{
	loop_settle(vcpu);
	vcpu->loop = NULL;
	vcpu->mode &= ~(uint32_t)VCPU_LOOPS;
}

#endif
