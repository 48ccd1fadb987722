/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the making of a graph (graph_make.c) and its playing (graph.c) share. */
#ifndef MODEL_GRAPH_PARTS_H
#define MODEL_GRAPH_PARTS_H

#include "base/rng.h"
#include "base/map.h"
#include "model/deck.h"
#include "model/graph.h"

struct graph_count {
	uint64_t fixed;
	double fraction; /* of one more, each time */
	double *owed; /* sum of the fractions that have not been drawn */
	const struct model_count_entry *entries; /* borrowed from the model */
	uint32_t entry_count;
	struct deck *deck; /* of the entries; NULL: draws are independent */
};

struct graph_edge {
	uint32_t to;
	double up_to; /* of a draw in [0, 1): probabilities summed so far */
};

struct graph_course {
	const double *factors; /* borrowed from the model */
	uint32_t factor_count; /* 0: none */
	double visits;
	uint64_t threads; /* 0: they go through it together */
	uint64_t visited; /* so far, if together */
	uint32_t index; /* else: which of the group's that threads go through apart */
};

struct graph_fragment {
	enum model_op op;
	enum sim_op_kind kind; /* for operations that are one of the engine's */
	uint32_t object; /* the engine's number; MODEL_SPAWN, _JOIN: group */
	uint32_t instances; /* of that lock or queue; 0, 1: one */
	const double *up_to; /* shares of its first instances, summed so far */
	uint32_t share_count;
	uint32_t other; /* mutex, class */
	bool has_cpu, is_plain, hands_on, is_background, is_paced;
	bool is_reply; /* its queue holds replies */
	bool is_call, is_for_all; /* PUT: only for who waits; for all of them */
	struct sim_dist cpu, time;
	struct graph_course course;
	struct deck *cpu_deck; /* of so many equal parts of cpu; NULL: draws are independent */
	uint32_t cpu_parts;
	struct graph_count count;
	uint64_t most; /* items of a get, at least 1 */
	bool by_taken; /* a loop: turns of as many as were taken, less so many */
	uint32_t less;
	uint32_t otherwise, body, loop; /* loop: which of the group's */
	bool is_together; /* a loop: threads have as many turns, the n-th time each */
	uint64_t *turns; /* that were drawn for that so far */
	size_t turn_count, turn_capacity;
	uint32_t part;
	struct graph_edge *edges;
	uint32_t edge_count;
	struct deck *deck; /* of the edges; NULL: draws are independent */
	/* Which edge, of a loop which entry, comes when; NULL: chance decides. Borrowed from the model; turns up to the end of each. */
	const struct model_turn *order;
	uint64_t *order_up_to;
	uint32_t order_count;
	uint32_t order_index; /* as that of a course */
	size_t tally_at;
};

struct graph_group {
	struct graph_fragment *fragments;
	uint32_t fragment_count, start, loop_count, course_count;
	uint64_t *cores; /* affinity, bit by bit; NULL: all */
	uint32_t thread_count; /* at the start */
	uint32_t started; /* so far */
	bool asks; /* its threads get replies */
};

struct walker;

struct graph {
	const struct model *model;
	double *parameters;
	uint64_t request_limit, duration_ns, way_ns;
	uint32_t cores, threads,
		filler_tid; /* filler: the thread that fills queues at first; 0: none */
	struct sim *sim;
	struct rng rng;
	struct graph_group *groups;
	struct graph_object {
		enum sim_object_kind kind;
		uint32_t number; /* of the first instance */
		uint32_t instances;
		double *up_to; /* as in fragments */
	} * objects;
	struct model *memory; /* only its allocator: what lives as long as the graph */

	struct walker *walkers; /* by tid - 1 */
	size_t walker_count, walker_capacity;
	uint32_t fill_object; /* the filler's place */
	uint64_t fill_left;
	bool is_over;
	bool has_replies; /* some queue: items say who asked */

	double *tally;
	double *marks;
	size_t mark_count, tally_size;
	double *responses;
	size_t response_count, response_capacity;
	uint64_t begun; /* requests that threads made themselves */
	struct map restarts; /* request of a source -> when a thread began it anew, ns */
	uint64_t piled_up; /* gets of threads that still had a request */
	struct map
		handed_on; /* thread that has not begun -> the request that it was started with */
	int failure; /* of a callback that cannot return one */
};

/* Locks of several instances that a thread holds: numbers of the engine, of the first instance and of the one. */
struct held_locks {
	struct held {
		uint32_t first, instance;
	} * items;
	size_t count, capacity;
};

enum { NO_REQUEST = 0 }; /* sources count from 1 */

/* A thread. */
enum phase { PHASE_ENTER, PHASE_CPU, PHASE_OPERATE, PHASE_RESULT };

struct walker {
	uint32_t group, fragment;
	uint32_t number; /* in its group, in the order of their starts */
	enum phase phase;
	uint32_t part;
	uint64_t left; /* repetitions of the operation still to come */
	uint64_t taken; /* items, by its last get */
	uint64_t request; /* that it is busy with */
	uint64_t unasked; /* replies of its to nobody's asking */
	uint64_t asked; /* who asked for what it got last: ASKED and a number; 0: nobody said */
	uint64_t *others; /* that came with it in one get, in that order */
	size_t other_first, other_count, other_capacity;
	uint64_t since_ns, part_since_ns; /* of the fragment, of the part */
	uint64_t due_ns; /* when its last paced sleep should have ended; 0: it has waited since */
	uint64_t *
		loops; /* passes still to come, of each loop of the group; then how often each has begun */
	uint64_t *
		courses; /* visits, of each course or order of the group that threads go through apart */
	struct held_locks held;
	struct spawned {
		uint32_t group, tid;
	} * spawned;
	size_t spawned_count, spawned_capacity;
	bool is_ready; /* it has been set up */
};

/* Of graph_locks.c. The instance to lock; MODEL_NONE: the thread holds the last one. 0 or -ENOMEM. */
int held_draw(struct held_locks *held, struct rng *rng, const struct graph_fragment *fragment,
	uint32_t *ret);
/* The one that was taken last, which is then no longer held; the first, if none. */
uint32_t held_drop(struct held_locks *held, uint32_t first);
void held_release(struct held_locks *held);

/* Of graph_draws.c: how often; where to; how many turns the n-th loop of each thread has, which whoever comes to it first draws for all. */
uint64_t graph_draw_count(struct graph *graph, const struct graph_count *count);
uint32_t graph_draw_edge(
	struct graph *graph, const struct walker *walker, const struct graph_fragment *fragment);
/* Turns of a loop that begins. */
uint64_t graph_draw_turns(
	struct graph *graph, const struct walker *walker, const struct graph_fragment *fragment);
/* CPU time of a visit. */
uint64_t graph_draw_cpu(
	struct graph *graph, const struct walker *walker, struct graph_fragment *fragment);
uint64_t graph_draw_together(struct graph *graph, struct graph_fragment *fragment, uint64_t n);

/* Of graph_items.c. True: *ret is to be played: a request of the thread's own begins; one that it has counts from now on. */
bool items_begin(struct graph *graph, struct walker *walker, struct sim_op *ret);
/* Of the thread's request; status: 0 served, 1 failed. */
void items_end(struct graph *graph, struct walker *walker, int status, struct sim_op *ret);
/* It is done with a request, and goes on to the next that it took with it. */
void items_leave(struct walker *walker);
/* The thread's request; else who asks: the thread itself, if it will wait for the reply, or for whom it works. */
uint64_t items_to_put(const struct graph *graph, const struct walker *walker,
	const struct graph_fragment *fragment);
/* What a get brought: a request, or that somebody asked. 0 or -ENOMEM. */
int items_take(struct graph *graph, struct walker *walker, const struct graph_fragment *fragment,
	uint64_t item);
/* The queue of who asked. */
uint32_t items_reply_to(struct walker *walker, const struct graph_fragment *fragment);
/* How many hear a call: who does not wait does not. */
uint64_t items_called(struct graph *graph, const struct graph_fragment *fragment);
/* The request goes to the thread that was started, which may have begun already. 0 or -ENOMEM. */
int items_hand_on(struct graph *graph, struct walker *walker, uint32_t tid);
/* Requests are taken, and nobody ever ends one: the run would have no end. */
bool items_pile_up(const struct graph *graph);

static inline double graph_seconds(uint64_t ns)
{
	return (double)(int64_t)ns * 1e-9;
}

/* Of graph_tally.c: the engine's counts into the tally; the marks that are due; a request's end (status:
   0 served, above 0 failed, below 0 refused). */
void graph_take_counts(struct graph *graph);
void graph_pass_marks(struct graph *graph);
void graph_count_end(struct graph *graph, double response_s, int status);

/* Of graph_make.c. All: 0, -EINVAL, -ENOMEM. */
int graph_compile(struct graph *graph, struct err *err);
int graph_add_objects(struct graph *graph, struct err *err);
int graph_options_of(
	struct graph *graph, struct sim_options *ret, uint64_t *ret_total, struct err *err);

#endif
