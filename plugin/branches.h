/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entropy of the outcomes of conditional branches (entropy.h), in windows, so that the cost is bounded: all of a
 * class's first ones, then one window in so many.
 */
#ifndef PLUGIN_BRANCHES_H
#define PLUGIN_BRANCHES_H

#include "thread.h"

/* Instructions until the thread is to be looked at again; opens and closes windows. After vcpu_settle(). */
uint64_t branches_look(struct vcpu *vcpu);

/* These blocks are executed after vcpu->previous, in mode VCPU_BRANCHES. */
void branches_follow(struct vcpu *vcpu, struct block *const *begin, struct block *const *end);

/* Writes the sums of what was seen, if there is enough of it or at the end, and begins anew. */
void branches_write(struct thread *thread, bool is_end);

void branches_free(struct thread *thread);

#endif
