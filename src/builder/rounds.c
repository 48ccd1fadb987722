/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops whose turns are dealt out among threads from one opening of a barrier to the next: where threads did differently many of them
 * they took what was left (pieces of a dynamic loop, the tasks of a phase). They are tickets in a queue that is full again when the
 * barrier opens, so that nobody waits there for a share that is longer than it had to be. Rounds have one counter, however a thread came
 * through them; and what one thread does in each is done by one of any number.
 */
#include "builder/emit.h"
#include "builder/law.h"

#include <errno.h>
#include <stdlib.h>

/* What all groups of a pool do from one opening of a barrier to the next in loops of one kind. */
struct round {
	const struct build_state *like;
	uint32_t barrier;
	uint64_t turns, least, most;
	double rounds;
	bool begins_with_turn;
	bool is_cut_short; /* turns after the last round that are none of it */
};

static void add_loops(const struct build *build, uint32_t group, struct round *round)
{
	const struct build_graph *graph = &build->graphs[group];
	size_t threads = build->groups.items[group].count;
	uint64_t runs = 0, rest = 0, last_before = 0;
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		for (size_t j = 0; j < state->law_count; j++) {
			const struct build_law *law = &state->laws[j];
			if (state->op != round->like->op || state->site != round->like->site ||
				build_next_barrier(graph, law->to) != round->barrier)
				continue;
			uint64_t before = build_turns_before(graph, threads, state, law) > 0;
			for (size_t k = 0; k < law->run_count; k++) {
				uint64_t turns = law->runs[k] + before;
				round->turns += turns;
				round->least = turns < round->least ? turns : round->least;
				round->most = turns > round->most ? turns : round->most;
			}
			round->begins_with_turn |= before > 0;
			rest += law->rest;
			last_before = before;
			runs += law->run_count;
		}
	}
	/* The end of the program cut off the last arrival of each. */
	if (rest > 0) {
		round->turns += rest + last_before * threads;
		round->is_cut_short |= rest > 2 * round->most * threads;
		runs += threads;
	}
	if ((double)runs > round->rounds * (double)threads)
		round->rounds = (double)runs / (double)threads;
}

uint32_t build_find_dealt(
	const struct build *build, const struct build_state *state, uint32_t barrier)
{
	for (size_t i = 0; i < build->dealt.count; i++) {
		const struct build_dealt *dealt = &build->dealt.items[i];
		if (dealt->op == state->op && dealt->site == state->site &&
			dealt->barrier == barrier)
			return dealt->queue;
	}
	return MODEL_NONE;
}

void build_add_dealt(
	struct build *build, const struct build_state *like, uint32_t barrier, uint32_t queue)
{
	if (build->dealt.count < BUILD_DEALT)
		build->dealt.items[build->dealt.count++] =
			(struct build_dealt){ like->op, like->site, barrier, queue };
}

static int add_dealt(struct emitter *e, const struct round *round, uint32_t *ret)
{
	struct build *build = e->build;
	int code = emit_ticket_queue(e, "work", ret);
	if (code < 0)
		return code;
	struct model_object *queue = &e->model->objects[*ret];
	queue->refilled_by = build->objects[round->barrier];
	build_add_dealt(build, round->like, round->barrier, *ret);
	return build_formula(e->model, &queue->initial, "%.10g%s%s",
		(double)round->turns / round->rounds, round->begins_with_turn ? " - " : "",
		round->begins_with_turn ? emit_pool_size(e) : "");
}

int emit_dealt(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index)
{
	struct round round = {
		.like = state, .barrier = build_next_barrier(e->graph, law->to), .least = UINT64_MAX
	};
	if (round.barrier == BUILD_NONE || e->pool->waves != 1)
		return 0;
	for (uint32_t i = 0; i < e->build->groups.count; i++)
		if (build_pool_of(e->build->pools, &e->build->groups, i) == e->pool)
			add_loops(e->build, i, &round);
	if (round.is_cut_short || round.rounds < 1 || round.most < round.least + 2)
		return 0;
	uint32_t queue = build_find_dealt(e->build, state, round.barrier);
	int code = queue == MODEL_NONE ? add_dealt(e, &round, &queue) : 0;
	if (code == 0)
		code = emit_take_ticket(e, law, queue, body, index);
	return code < 0 ? code : 1;
}

static bool are_alike(const struct build_state *a, const struct build_state *b)
{
	return a->op == b->op && a->site == b->site && a->object == b->object;
}

uint32_t emit_find_rounds(const struct emitter *e, const struct build_state *state,
	const struct build_law *law, uint32_t body)
{
	for (size_t i = 0; i < e->rounds.count; i++) {
		const struct emit_rounds *rounds = &e->rounds.items[i];
		if (are_alike(rounds->state, state) && rounds->end == law->to &&
			rounds->body == body)
			return rounds->index;
	}
	return MODEL_NONE;
}

/* How often each thread went on from states that do the same; *ret_states: how many of these there are. */
static void count_turns(const struct emitter *e, const struct build_state *like, uint32_t end,
	uint64_t *turns, size_t *ret_states)
{
	const struct build_graph *graph = e->graph;
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		if (!are_alike(state, like))
			continue;
		bool ends_here = false;
		for (size_t j = 0; j < state->law_count; j++)
			ends_here |= state->laws[j].is_once && state->laws[j].to == end;
		if (!ends_here)
			continue;
		*ret_states += state->visits > 0;
		for (size_t j = 0; j < state->visits; j++) {
			size_t at = graph->order[state->first + j];
			const struct build_visit *visit = &graph->visits[at];
			bool is_last = build_is_last_visit(graph, at);
			turns[visit->thread] += !is_last && visit[1].state != end;
		}
	}
}

int emit_rounds(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index)
{
	struct model_fragment *fragment = emit_fragment(e, index);
	if (fragment->op != MODEL_LOOP || !law->is_once || state->op != STEP_ARRIVE ||
		!build_is_rounds(&e->build->trace, e->graph, state, law) ||
		e->rounds.count == EMIT_TICKETS)
		return 0;
	AUTO_FREE uint64_t *turns = calloc(e->group->count + 1, sizeof *turns);
	size_t states = 0;
	if (!turns)
		return -ENOMEM;
	count_turns(e, state, law->to, turns, &states);
	for (size_t i = 1; i < e->group->count; i++)
		if (turns[i] != turns[0])
			return 0;
	if (states < 2)
		return 0;
	e->rounds.items[e->rounds.count++] = (struct emit_rounds){ state, law->to, body, index };
	return emit_counts(e, turns, e->group->count, fragment);
}

uint32_t emit_way_of_last(const struct emitter *e, const struct build_state *state)
{
	uint64_t last_ns = 0;
	uint32_t to = STATE_END;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = e->graph->order[state->first + i];
		const struct build_visit *visit = &e->graph->visits[at];
		if (at + 1 < e->graph->visit_count && visit->step->begin_ns >= last_ns) {
			last_ns = visit->step->begin_ns;
			to = visit[1].state;
		}
	}
	return to;
}

int emit_one_of_all(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	enum { ROUNDS_MIN = 4 };
	size_t threads = e->group->count, rounds = state->visits / threads;
	/* Of what each does once that is enough: who comes last closes the door, say. */
	bool is_often = state->op == STEP_ARRIVE ? rounds >= ROUNDS_MIN : rounds == 1;
	bool is_pool = e->build->pools[e->index].parameter != BUILD_NONE &&
		       e->pool->starter == BUILD_NONE && e->pool->waves == 1;
	if (!is_often || !is_pool || threads < 2 || state->edge_count != 2 ||
		fragment->edge_count != 2 || rounds * threads != state->visits)
		return 0;
	uint32_t to = state->edges[1].to; /* the rarer one */
	uint32_t last = emit_way_of_last(e, state);
	if (state->edges[0].count == state->edges[1].count)
		to = last;
	if (to == STATE_END || state->edges[0].to == STATE_END ||
		!build_takes_one_of_all(e->graph, state, to, threads))
		return 0;
	for (uint32_t i = 0; i < 2 && state->op != STEP_ARRIVE && to == last; i++)
		if (fragment->edges[i].to == e->fragments[to])
			fragment->last = i;
	const char *size = emit_pool_size(e);
	int code = build_formula(e->model, &fragment->draws, "%s", size);
	for (uint32_t i = 0; i < 2 && code == 0; i++)
		code = build_formula(e->model, &fragment->edges[i].probability,
			fragment->edges[i].to == e->fragments[to] ? "1 / %s" : "1 - 1 / %s", size);
	return code < 0 ? code : 1;
}
