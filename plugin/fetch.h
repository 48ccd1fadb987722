/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of instructions: a fetch is a change from one line to another. Reuse distances in the thread's own fetches are
 * sampled as those of data (reuse.h), with watches of the thread alone and a filter of its own.
 */
#ifndef PLUGIN_FETCH_H
#define PLUGIN_FETCH_H

#include "thread.h"

/* Lines that a block changes to, after one that ended in `last_line`. */
static inline uint64_t fetch_changes(uint64_t last_line, const struct block *block)
{
	return block->last_line - block->first_line + (last_line != block->first_line);
}

/* Which of its lines may be watched: bits. */
static inline uint64_t fetch_watched(const struct vcpu *vcpu, const struct block *block)
{
	return (vcpu->fetch_filter[block->line_words[0]] & block->line_masks[0]) |
	       (vcpu->fetch_filter[block->line_words[1]] & block->line_masks[1]);
}

/* The block is executed after `last_line`. Whether one of its lines may be watched, or is to be sampled. */
static inline bool fetch_block(struct vcpu *vcpu, uint64_t last_line, const struct block *block)
{
	uint64_t fetches = vcpu->fetches += fetch_changes(last_line, block);
	return fetch_watched(vcpu, block) != 0 || fetches > vcpu->next_fetch;
}

/* Those lines, if any, after fetch_block(). */
void fetch_look(struct vcpu *vcpu, uint64_t last_line, const struct block *block);

void fetch_enter(struct vcpu *vcpu);
void fetch_leave(struct vcpu *vcpu);

/* The first execution of a block whose lines are new: they were never fetched before. */
void fetch_first(struct vcpu *vcpu, struct block *block);

#endif
