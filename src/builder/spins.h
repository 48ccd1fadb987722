/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads spin outside of what is recorded: locks and flags of the program's own making, of which nobody knows who
 * lets them go. The model has such time as work; how much of it there is as samples tell (event.h, EVENT_SAMPLE).
 */
#ifndef BUILDER_SPINS_H
#define BUILDER_SPINS_H

#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct build_spin {
	uint32_t pid;
	uint64_t site; /* an address behind the place, as of a call */
	uint64_t samples;
};

struct build_spins {
	struct build_spin *places;
	size_t count, capacity;
	uint64_t samples; /* of all code */
	uint64_t spinning; /* of all places */
};

/* Takes a sample of a thread; `is_waiting`: within a wait that is recorded. 0 or -ENOMEM. */
int build_spins_add(struct build_spins *spins, const struct event *sample, bool is_waiting);

/* Of the CPU time, how much is spent so; *ret_most, where most of it is, unless it is 0: too few samples tell. */
double build_spins_share(const struct build_spins *spins, const struct build_spin **ret_most);

void build_spins_release(struct build_spins *spins);

#endif
