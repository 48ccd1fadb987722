/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graph of a group of threads: states, and how often each follows which.
 *
 * A state is an operation at a call site on an object, and where that changes what comes next (or how
 * much CPU time it takes) the state before it, and the one before that: a state is split by its
 * predecessors when a chi-squared test of "what comes next does not depend on where it comes from"
 * fails, in up to SPLIT_ROUNDS rounds.
 *
 * A branch is a draw by probabilities unless its runs say otherwise. Take one way x out of a state:
 * between two x the thread goes other ways k times. If draws were independent k would be geometric,
 * with the variance m^2 + m at mean m. Runs that vary much less (always 100 times) or much more are
 * a law of their own: the counts as seen. A way after which a thread does not come back (the end
 * of its only loop), or arrives at a barrier, is always such a law, since its length is the amount of work.
 */
#ifndef BUILDER_GRAPH_H
#define BUILDER_GRAPH_H

#include "builder/group.h"

enum { STATE_END = UINT32_MAX - 1, LAWS_MAX = 6 };

struct build_edge {
	uint32_t to; /* state, or STATE_END: the recording ended */
	uint64_t count;
};

/* k times other ways, then `to`. */
struct build_law {
	uint32_t to;
	bool is_once; /* the thread does not come to the branch again */
	uint64_t *runs; /* k each time */
	size_t run_count, run_capacity;
	uint64_t rest; /* other ways of threads that did not take it any more, or never did */
	size_t threads; /* that came to the branch */
};

struct build_state {
	uint8_t op;
	uint8_t class; /* DISK: enum request_class */
	bool is_background; /* DISK */
	uint64_t site;
	uint32_t object; /* first of those it was done on */
	uint32_t count; /* most frequent: items, threads */
	uint32_t region;
	bool is_refused_at_times;
	size_t first, visits; /* in order[] of the graph: the steps */
	struct build_edge *edges, *refused_edges; /* most frequent first */
	size_t edge_count, edge_capacity, refused_count, refused_capacity;
	struct build_law laws[LAWS_MAX]; /* the first one decides first */
	size_t law_count;
	double *factors; /* of CPU times in the course of the work, taken off the steps (course.h) */
	uint32_t factor_count; /* 0: they do not change */
	bool are_pieces; /* each thread has a piece of the course, one behind the other */
};

/* A step of the group's threads, all of them in one row. */
struct build_visit {
	const struct build_step *step;
	uint32_t thread; /* position in the group */
	uint32_t symbol, state;
};

struct build_graph {
	struct build_visit *visits;
	size_t visit_count;
	size_t *order; /* visits by state, in order of time within a thread */
	struct build_state *states;
	size_t state_count, state_capacity;
	struct build_edge *starts;
	size_t start_count, start_capacity;
	bool has_order; /* of rounds that repeats itself (period.h) */
};

/* A way out of its own: the step did not get what it came for. */
static inline bool is_refusal(const struct build_step *step)
{
	return (step->op == STEP_GET || step->op == STEP_TRY_GET || step->op == STEP_TAKE) &&
	       step->flags & STEP_REFUSED;
}

/* Of its thread. */
static inline bool build_is_last_visit(const struct build_graph *graph, size_t visit)
{
	return visit + 1 == graph->visit_count ||
	       graph->visits[visit + 1].thread != graph->visits[visit].thread;
}

void build_graph_release(struct build_graph *graph);

/* `in_order`: if there is an order of rounds, it parts the states. 0 or -ENOMEM. */
int build_graph_make(const struct build_trace *trace, const struct build_group *group,
	bool in_order, struct build_graph *ret);

#endif
