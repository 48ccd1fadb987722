/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reuse distances of pages, for TLBs: a part of the accesses that are sampled for their line (reuse.h) are watched until the thread
 * accesses their page again, in watches of the thread's own; others' accesses count for nothing, since each core
 * has a TLB of its own. What is still watched when the thread ends was touched for the last time, which is
 * as often as pages are touched for the first: of an infinite distance.
 *
 * A page's lines are one word of the filter of lines, so that an access costs nothing more unless its page is watched.
 */
#ifndef PLUGIN_PAGES_H
#define PLUGIN_PAGES_H

#include "thread.h"

#include <stdint.h>

/* An access is sampled for its line, which stands for `weight`. */
void pages_sample(
	struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock, double weight);

/* The thread accesses a line that may be watched: its access number `clock`. */
void pages_access(struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock);

/* The process ends: what is watched counts. The thread ends: that, and nothing is watched any more. */
void pages_write(struct vcpu *vcpu);
void pages_end(struct vcpu *vcpu);

#endif
