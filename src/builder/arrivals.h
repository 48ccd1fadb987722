/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrivals at barriers, by place (a barrier and a call site) and round: the i-th arrivals of all threads there are one round. So are the exits
 * of threads with the same start routine.
 *
 *	for (size_t i = 0, to; i < all.count; i = to) {
 *		to = arrivals_place_end(&all, i);
 *		... of which arrivals_round_end() tells rounds apart
 *	}
 */
#ifndef BUILDER_ARRIVALS_H
#define BUILDER_ARRIVALS_H

#include "builder/trace.h"

struct build_arrival {
	uint64_t place, round;
	uint32_t thread;
	struct build_step *step; /* of the trace */
};

/* By place, round, and thread. */
struct build_arrivals {
	struct build_arrival *items;
	size_t count, capacity;
};

/* 0 or -ENOMEM. */
int build_arrivals_find(const struct build_trace *trace, struct build_arrivals *ret);
void build_arrivals_release(struct build_arrivals *all);

/* The first arrival of another round, or place. */
size_t arrivals_round_end(const struct build_arrivals *all, size_t from);
size_t arrivals_place_end(const struct build_arrivals *all, size_t from);

#endif
