/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model as the engine's plug: each simulated thread walks its group's graph of fragments, drawing
 * times, counts and ways; and what happens on the way is counted.
 *
 * Counts are cumulative and are copied at `mark_count` moments evenly spread over the run's progress (ended
 * requests, or time), so that it can be decided afterwards which part of the run was warming up.
 *
 *	tally: GRAPH_FIXED | GRAPH_OBJECT per object | GRAPH_TIMED per part | GRAPH_TIMED per fragment
 */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H

#include "model/model.h"
#include "sim/sim.h"

/* Places in a tally. */
enum {
	GRAPH_TIME_S,
	GRAPH_BUSY_S, /* of all cores */
	GRAPH_SERVED, /* requests */
	GRAPH_FAILED,
	GRAPH_DROPPED, /* refused by a full queue or an exhausted limit */
	GRAPH_FAILED_S, /* response times of failed ones */
	GRAPH_TICKS,
	GRAPH_FIXED,
};
enum {
	GRAPH_USES,
	GRAPH_WAITS,
	GRAPH_WAITED_S,
	GRAPH_HELD_S,
	GRAPH_AREA, /* length times seconds */
	GRAPH_REFUSED,
	GRAPH_OBJECT,
};
enum { GRAPH_COUNT, GRAPH_SPENT_S, GRAPH_TIMED };

enum { GRAPH_MARKS = 64 };

struct graph_options {
	const struct model *model; /* passes model_check_at() with these parameters. Borrowed */
	const double *parameters; /* of all; NULL: the defaults. Copied */
	uint64_t seed;
	uint64_t request_limit; /* stops when so many have ended; 0: none */
	double duration_s; /* stops then; 0: not */
	uint64_t event_limit; /* -E2BIG beyond; 0: none */
};

struct graph;

/* 0, -EINVAL, -ENOMEM. */
int graph_new(const struct graph_options *options, struct graph **ret, struct err *err);
void graph_free(struct graph *graph);
CLEANUP_DEFINE(graph, graph_free)

/* Once. 0; -EDEADLK, -E2BIG, -EINVAL (it does not advance), -ENOMEM. */
int graph_run(struct graph *graph, struct err *err);

/* Numbers in a tally of this model. */
size_t graph_tally_size(const struct model *model);
size_t graph_object_at(const struct model *model, size_t object);
size_t graph_part_at(const struct model *model, size_t part);
size_t graph_fragment_at(const struct model *model, size_t group, size_t fragment);

/* After graph_run(): the tally at the end, and at marks 0 .. graph_mark_count() - 1, ascending in time. */
const double *graph_tally(const struct graph *graph);
size_t graph_mark_count(const struct graph *graph);
const double *graph_mark(const struct graph *graph, size_t mark);

/* Response times of served requests, s, in the order of their ends. Borrowed. */
const double *graph_responses(const struct graph *graph, size_t *ret_count);
uint64_t graph_object_peak(const struct graph *graph, size_t object); /* greatest length */
uint32_t graph_cores(const struct graph *graph); /* 0: as many as threads */
uint32_t graph_threads(const struct graph *graph); /* that existed at the start */
uint64_t graph_lent(const struct graph *graph); /* more than few: see sim_lent_beyond_few() */
/* Threads that still wait for others at the end of a program, while some of their group have come to their own. */
uint64_t graph_stranded(const struct graph *graph);
uint64_t graph_unended(const struct graph *graph); /* requests that had arrived and not ended */
uint64_t graph_event_count(const struct graph *graph);

#endif
