/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of instructions: a fetch is a change from one line to another. Reuse distances in the thread's own fetches are
 * sampled as those of data (reuse.h), with watches of the thread alone and a filter of its own.
 */
#ifndef PLUGIN_FETCH_H
#define PLUGIN_FETCH_H

#include "thread.h"

/* The last `changes` lines of the block are fetched: one may be watched, or is to be sampled. */
void fetch_look(struct vcpu *vcpu, const struct block *block, uint64_t changes);

/* `block` is executed after `previous`. */
static inline void fetch_block(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	uint64_t changes =
		block->last_line - block->first_line + (previous->last_line != block->first_line);
	uint64_t fetches = vcpu->fetches += changes;
	uint64_t watched = (vcpu->fetch_filter[block->line_words[0]] & block->line_masks[0]) |
			   (vcpu->fetch_filter[block->line_words[1]] & block->line_masks[1]);
	bool looks = (watched != 0) | (fetches > vcpu->next_fetch);
	if (__builtin_expect(looks & (changes != 0), 0))
		fetch_look(vcpu, block, changes);
}

void fetch_enter(struct vcpu *vcpu);
void fetch_leave(struct vcpu *vcpu);

/* The first execution of a block whose lines are new: they were never fetched before. */
void fetch_first(struct vcpu *vcpu, struct block *block);

#endif
