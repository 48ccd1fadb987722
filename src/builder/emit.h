/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A group of the model as far as it has been made of a graph: what emit.c, emit_state.c and loops.c share. */
#ifndef BUILDER_EMIT_H
#define BUILDER_EMIT_H

#include "builder/parts.h"

enum { EMIT_TICKETS = 16 };

/* A queue of tickets, for the turns of a loop that ends after a state. */
struct emit_ticket {
	const struct build_state *state, *end;
	uint32_t object;
};

/* The counter of rounds that end in one state, however a thread came to it (rounds.c). */
struct emit_rounds {
	const struct build_state *state;
	uint32_t end, body, index; /* state; fragments */
};

struct emitter {
	struct build *build;
	struct model *model;
	const struct build_group *group;
	const struct build_graph *graph;
	uint32_t index; /* of the group, here and in the model */
	struct build_work work;
	const struct build_pool *pool; /* in which its threads work, or NULL */
	uint32_t *fragments; /* of each state */
	struct map *names; /* how many fragments are called so already, by hash; NULL: not known */
	const uint32_t
		*taken; /* by each visit, items by the last get of a batch; NULL: there is none */
	bool is_main;
	bool is_taker; /* they take requests from outside */
	bool has_flow; /* its threads put, get or wait for items */
	bool is_batch; /* all work was there: what the group's threads did in all is drawn from a deck */
	bool is_plan; /* one thread, whose work is a share of nothing: what it did is drawn from a deck */
	struct {
		struct emit_ticket items[EMIT_TICKETS];
		size_t count;
	} tickets;
	struct {
		struct emit_rounds items[EMIT_TICKETS];
		size_t count;
	} rounds;
};

struct model_fragment *emit_fragment(const struct emitter *e, uint32_t index);

/* Adds a fragment, with a number if its name is taken. 0 or -ENOMEM. */
int emit_add_fragment(struct emitter *e, const char *name, uint32_t *ret);

/* The fragment of a state, without what comes next; e->fragments then has it. 0 or -ENOMEM. */
int emit_state(struct emitter *e, uint32_t state_index);

/* Counts as they were seen; of a batch each of them comes as often. 0 or -ENOMEM. */
int emit_counts(const struct emitter *e, const uint64_t *values, size_t count,
	struct model_fragment *fragment);

/*
 * BUILD_AS_RECORDED: where the fragment of a state leads, and how many turns a loop has, in the order of the recording, if all threads of the
 * group decided alike. 0 or -ENOMEM.
 */
int emit_order_of_ways(const struct emitter *e, const struct build_state *state, uint32_t index);
int emit_order_of_turns(
	const struct emitter *e, const struct build_law *law, struct model_fragment *fragment);

/* Makes `to` what always comes after `from`. 0 or -ENOMEM. */
int emit_only_edge(struct emitter *e, uint32_t from, uint32_t to);

/* Makes the fragment `index` the law's loop around `body`. 0 or -ENOMEM. */
int emit_loop(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index);

/* Whatever led to the fragment `from` leads to `to`. */
void emit_redirect(const struct emitter *e, uint32_t from, uint32_t to);

/* batch.c: gets of a queue of which one takes what there is. */
bool build_is_batch_get(const struct build_trace *trace, const struct build_state *state);
int emit_batch_get(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment);

/* batch.c: what e->taken is to be; free it afterwards. 0 or -ENOMEM. */
int emit_find_batches(const struct emitter *e, uint32_t **ret_taken);

/*
 * batch.c: makes the fragment `index` the law's loop if it has as many turns as the thread's last get took items. 1: it has, 0: it has not,
 * -ENOMEM.
 */
int emit_turns_of_batch(struct emitter *e, const struct build_state *state,
	const struct build_law *law, uint32_t body, uint32_t index);

/* batch.c: puts CPU time for each item before the states that have it. When all ways are there. 0 or -ENOMEM. */
int emit_batches(struct emitter *e);

/* The name of the parameter that is the size of the pool, which there is. */
const char *emit_pool_size(const struct emitter *e);

/* Adds a queue for tickets, "WHAT of GROUP". 0 or -ENOMEM. */
int emit_ticket_queue(struct emitter *e, const char *what, uint32_t *ret);

/* deal.c: takes pieces before the arrivals of whose work they are. When all ways are there. 0 or -ENOMEM. */
int emit_deals(struct emitter *e);

/* waves.c: puts the tickets of each wave before it is started. When all ways are there. 0 or -ENOMEM. */
int emit_waves(struct emitter *e);

/* lead.c: puts what one of all does alone before the arrivals that have leads. When all ways are there. 0 or -ENOMEM. */
int emit_leads(struct emitter *e);

/* Makes the fragment `index` take a ticket for each turn of the law's loop. 0 or -ENOMEM. */
int emit_take_ticket(struct emitter *e, const struct build_law *law, uint32_t object, uint32_t body,
	uint32_t index);

/*
 * How many turns the threads do before they first come to the branch: each one, if the loop begins with
 * its body (whatever is behind the branch was done as often as the branch), else none.
 */
uint32_t build_turns_before(const struct build_graph *graph, size_t group_threads,
	const struct build_state *state, const struct build_law *law);

/* rounds.c: the loop of the same rounds that another state leads to; MODEL_NONE: there is none. */
uint32_t emit_find_rounds(const struct emitter *e, const struct build_state *state,
	const struct build_law *law, uint32_t body);

/* rounds.c: lets the loop `index` count the rounds of all states that do the same as this one. 0 or -ENOMEM. */
int emit_rounds(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index);

/*
 * rounds.c: what one of a pool's threads did each time that the barrier opened, or once, whichever it was, one of any number of them does. 1:
 * it is so, 0: it is not, -ENOMEM.
 */
int emit_one_of_all(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment);

/* ends.c: two laws by which a pool's threads leave a loop, the last of them by the other one. False: there are none. */
struct emit_ends {
	const struct build_law *others, *last;
};
bool emit_ends_of(const struct emitter *e, const struct build_state *state, struct emit_ends *ret);
/* Makes the fragment `index` the one loop that ends so. 0 or -ENOMEM. */
int emit_end(struct emitter *e, const struct build_state *state, const struct emit_ends *ends,
	uint32_t body, uint32_t index);

/* rounds.c: where the thread that came last to a state went on; STATE_END: nowhere. */
uint32_t emit_way_of_last(const struct emitter *e, const struct build_state *state);

/* own.c: how often the group's threads got from queues of which each has its own; 0: they have none. */
uint64_t emit_own_rounds(const struct emitter *e);

/*
 * own.c: the turns of a loop that puts something once for each thread of a pool that has a queue of its own: as many as there are
 * threads. 1: it is so, 0: it is not, -ENOMEM.
 */
int emit_one_for_each(
	const struct emitter *e, const struct build_law *law, struct model_count *count);

/* rounds.c: makes it the law's loop if it is one whose turns are dealt out in rounds. 1: it is, 0: it is none, -ENOMEM. */
int emit_dealt(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index);

#endif
