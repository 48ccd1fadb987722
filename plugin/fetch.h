/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of instructions: a fetch is a change from one line to another. Reuse distances in the thread's own fetches are
 * sampled as those of data (reuse.h), with watches of the thread alone and a filter of its own.
 */
#ifndef PLUGIN_FETCH_H
#define PLUGIN_FETCH_H

#include "thread.h"

/* Of each virtual cpu: lines of instructions that may be watched. */
extern uint64_t fetch_filters[VCPUS][BLOCK_FILTER_ALL + 1];

/* Lines that a block changes to, after one that ended in `last_line`. */
static inline uint64_t fetch_changes(uint64_t last_line, const struct block *block)
{
	return block->more_lines + (last_line != block->first_line);
}

/* Which of its lines may be watched, or are new, if it changes to `changes` of them: bits. */
static inline uint64_t fetch_special(
	const uint64_t *filter, const struct block *block, uint64_t changes)
{
	uint64_t if_any =
		-(uint64_t)(changes > 0); /* no branch: programs' own make it mispredicted */
	return filter[block->line_word] & block->line_mask & if_any;
}

/* The block is executed after `last_line`: counts its lines, one by one if there is something about one of them. */
void fetch_block(struct vcpu *vcpu, uint64_t last_line, struct block *block);

void fetch_enter(struct vcpu *vcpu);
void fetch_leave(struct vcpu *vcpu);

#endif
