/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs whose threads meet at the same place for one thing after the other, and over and over in the same order: the levels of a multigrid
 * cycle, a step with an output each tenth time. Then where they are in that order says what comes next, and how large it is. Drawn
 * by each thread for itself, they would not even arrive at the same barriers.
 */
#ifndef BUILDER_PERIOD_H
#define BUILDER_PERIOD_H

#include "builder/graph.h"

/* Of a thread's arrivals at barriers: `prefix` that come once, then `length` that repeat themselves, up to `end`; then others, once each. */
struct build_period {
	size_t prefix, length, end; /* length 0: none */
};

/*
 * Of a group's graph: of all of its threads, which arrive at the same barriers in the same order. None if the barriers alone tell where a thread is.
 * 0 or -ENOMEM.
 */
int build_period_find(const struct build_graph *graph, struct build_period *ret);

/* Where a thread is that has arrived so often: the same for what is at the same place of the order. */
static inline uint64_t build_period_place(const struct build_period *period, uint64_t arrivals)
{
	if (period->length == 0 || arrivals < period->prefix)
		return arrivals;
	return arrivals < period->end
		       ? period->prefix + (arrivals - period->prefix) % period->length
		       : arrivals;
}

#endif
