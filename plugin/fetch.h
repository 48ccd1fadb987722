/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of instructions: a fetch is a change from one line to another. Reuse distances in the thread's own fetches are
 * sampled as those of data (reuse.h), with watches of the thread alone and a filter of its own.
 */
#ifndef PLUGIN_FETCH_H
#define PLUGIN_FETCH_H

#include "thread.h"

/* `block`, executed after `previous`, is not all in the line that that ended in. */
void fetch_block(struct vcpu *vcpu, const struct block *previous, const struct block *block);

void fetch_enter(struct vcpu *vcpu);
void fetch_leave(struct vcpu *vcpu);

/* Another thread will have the virtual cpu. */
void fetch_forget(const struct vcpu *vcpu);

/* The first execution of a block whose lines are new: they were never fetched before. */
void fetch_first(struct vcpu *vcpu, struct block *block);

#endif
