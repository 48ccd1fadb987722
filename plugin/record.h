/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording what a thread executes, one word for each block and address (trace_raw.h): for the micro-traces of
 * a profile, and for full traces.
 */
#ifndef PLUGIN_RECORD_H
#define PLUGIN_RECORD_H

#include "thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Every thread records everything from now on. */
void record_everything(void);

/* A thread begins; false without memory. */
bool record_start(struct vcpu *vcpu);
void record_end(struct vcpu *vcpu);

/* The thread enters the stretch of vcpu->sum; leaves it (sum may be NULL). */
void record_enter(struct vcpu *vcpu);
void record_leave(struct vcpu *vcpu);

/* Starts a micro-trace if one is due; after vcpu_settle(). Instructions from now to the next look. */
uint64_t record_look(struct vcpu *vcpu);

/* A block is about to be executed, in mode VCPU_RECORDS. */
void record_block(struct vcpu *vcpu, const struct block *block);

/* Before the access of a string instruction, of which a block may have any number. */
void record_make_room(struct vcpu *vcpu);

/* By the instruction of this index in the block. */
static inline void record_access(struct recorder *recorder, uint32_t index, uint64_t address)
{
	if (recorder->has_block && recorder->used < recorder->capacity)
		recorder->words[recorder->used++] =
			(uint64_t)index << 48 | (address & ((UINT64_C(1) << 48) - 1));
}

/* Micro-traces written. */
uint64_t record_count(void);

#endif
