/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of a model: counts as seen, or parts of the work that the threads of a pool share. */
#include "builder/emit.h"
#include "builder/law.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the group itself, not of a team that its thread starts. */
static uint32_t own_parameter(const struct emitter *e)
{
	return e->build->pools[e->index].parameter;
}

const char *emit_pool_size(const struct emitter *e)
{
	return e->model->parameters[e->pool->parameter].name;
}

/* Whether each of a group's threads put equally often there, and more than once. */
static bool put_equally(const struct build *build, uint32_t group, uint32_t queue)
{
	uint64_t first = 0;
	for (size_t i = 0; i < build->groups.items[group].count; i++) {
		const struct build_thread *thread =
			&build->trace.threads[build->groups.items[group].threads[i]];
		uint64_t puts = 0;
		for (size_t j = 0; j < thread->step_count; j++)
			puts += thread->steps[j].op == STEP_PUT &&
				build_class_of(&build->trace, thread->steps[j].object) == queue;
		first = i == 0 ? puts : first;
		if (puts != first)
			return false;
	}
	return first > 1;
}

static bool uses(const struct build *build, uint32_t group, uint8_t op, uint32_t queue)
{
	const struct build_graph *graph = &build->graphs[group];
	for (size_t i = 0; i < graph->state_count; i++)
		if (graph->states[i].visits > 0 && graph->states[i].op == op &&
			build_class_of(&build->trace, graph->states[i].object) == queue)
			return true;
	return false;
}

/* The other pool that alone makes, in equal numbers, what the group gets from a queue; NULL: none. */
static const struct build_pool *find_makers(const struct emitter *e)
{
	const struct build_pool *found = NULL;
	for (size_t i = 0; i < e->graph->state_count; i++) {
		const struct build_state *state = &e->graph->states[i];
		if (state->visits == 0 || state->op != STEP_GET || state->object == BUILD_NONE)
			continue;
		uint32_t queue = build_class_of(&e->build->trace, state->object);
		for (uint32_t j = 0; j < e->build->groups.count; j++) {
			const struct build_pool *pool = &e->build->pools[j];
			if (!uses(e->build, j, STEP_PUT, queue))
				continue;
			if (j == e->index || pool->parameter == BUILD_NONE || pool->size < 2 ||
				pool->waves != 1 || (found && found != pool) ||
				!put_equally(e->build, j, queue))
				return NULL;
			found = pool;
		}
	}
	return found;
}

/*
 * What a pool's threads did in all, as a formula: it may be each thread's own if all did as much, or that of each of those
 * who made what they got.
 */
static int whole_of(struct emitter *e, double whole, bool are_equal, char **ret)
{
	const struct build_pool *makers = are_equal ? e->pool : find_makers(e);
	if (makers)
		return build_common_work(e->build, whole,
			e->model->parameters[makers->parameter].name, makers->size, ret);
	return asprintf(ret, "%.10g", whole) < 0 ? -ENOMEM : 0;
}

/*
 * A loop may come to its end in several states, which differ by what the thread did before: of the tickets that
 * each of them would have there is one queue. MODEL_NONE: this is the first of them.
 */
static uint32_t find_tickets(
	const struct emitter *e, const struct build_state *state, const struct build_state *end)
{
	for (size_t i = 0; i < e->tickets.count; i++) {
		const struct emit_ticket *ticket = &e->tickets.items[i];
		if (ticket->state->op == state->op && ticket->state->site == state->site &&
			ticket->end->op == end->op && ticket->end->site == end->site)
			return ticket->object;
	}
	return MODEL_NONE;
}

int emit_ticket_queue(struct emitter *e, const char *what, uint32_t *ret)
{
	AUTO_FREE char *name = NULL;
	for (unsigned number = 1; !name || model_find_object(e->model, name) != MODEL_NONE;
		number++) {
		free(name);
		name = NULL;
		if (asprintf(&name, "%s of %.100s%s%.0u", what, e->group->name,
			    number > 1 ? " " : "", number > 1 ? number : 0) < 0)
			return -ENOMEM;
	}
	return model_add_object(e->model, MODEL_QUEUE, name, ret);
}

int emit_take_ticket(struct emitter *e, const struct build_law *law, uint32_t object, uint32_t body,
	uint32_t index)
{
	struct model_fragment *fragment = emit_fragment(e, index);
	fragment->op = MODEL_TRY_GET;
	fragment->object = object;
	fragment->otherwise = e->fragments[law->to];
	return emit_only_edge(e, index, body);
}

/* " - workers": turns that threads make before they look for a ticket, each of them, or so many of the recorded. */
static int take_first(const struct emitter *e, uint32_t before, char **ret)
{
	double share = (double)before / (double)e->group->count;
	int length = before == 0  ? asprintf(ret, "%s", "")
		     : share >= 1 ? asprintf(ret, " - %s", emit_pool_size(e))
				  : asprintf(ret, " - %.6g * %s", share, emit_pool_size(e));
	return length < 0 ? -ENOMEM : 0;
}

/* Work that is shared by as many threads as there are: a queue of tickets that holds all of it. */
static int add_tickets(struct emitter *e, const struct build_state *state,
	const struct build_law *law, uint64_t total, uint32_t before, uint32_t body, uint32_t index,
	bool are_equal)
{
	const struct build_state *end = &e->graph->states[law->to];
	uint32_t object = find_tickets(e, state, end);
	int code = 0;
	if (object == MODEL_NONE) {
		code = emit_ticket_queue(e, "work", &object);
		if (e->tickets.count < EMIT_TICKETS)
			e->tickets.items[e->tickets.count++] =
				(struct emit_ticket){ state, end, object };
	}
	if (code < 0)
		return code;
	AUTO_FREE char *whole = NULL, *first = NULL;
	if (take_first(e, before, &first) < 0)
		return -ENOMEM;
	struct model_value *initial = &e->model->objects[object].initial;
	const char *others = initial->formula ? initial->formula : "";
	code = whole_of(e, (double)(total + before) / e->pool->waves, are_equal, &whole);
	if (code == 0)
		code = build_formula(
			e->model, initial, "%s%s%s%s", others, *others ? " + " : "", whole, first);
	return code < 0 ? code : emit_take_ticket(e, law, object, body, index);
}

/* Visits of states that do the same as this one at the same place, whatever comes before. */
static uint64_t visits_alike(const struct build_graph *graph, const struct build_state *state)
{
	uint64_t visits = 0;
	for (size_t i = 0; i < graph->state_count; i++)
		if (graph->states[i].op == state->op && graph->states[i].site == state->site)
			visits += graph->states[i].visits;
	return visits;
}

uint32_t build_turns_before(const struct build_graph *graph, size_t group_threads,
	const struct build_state *state, const struct build_law *law)
{
	uint64_t body_visits = 0, alike = 0, turns = law->rest;
	uint64_t threads = law->rest > 0 ? group_threads : law->run_count;
	for (size_t i = 0; i < law->run_count; i++)
		turns += law->runs[i];
	for (size_t i = 0; i < state->edge_count; i++)
		if (state->edges[i].to != law->to && state->edges[i].to != STATE_END) {
			const struct build_state *body = &graph->states[state->edges[i].to];
			body_visits += body->visits;
			alike += visits_alike(graph, body);
		}
	bool begins_with_body = body_visits >= turns + threads || alike == turns + threads;
	return begins_with_body ? (uint32_t)threads : 0;
}

/* A pool whose threads are started once, by one that does something else. */
static bool is_one_pool(const struct emitter *e)
{
	return e->pool->waves == 1 && e->pool->starter == BUILD_NONE;
}

/* Whether each thread comes once to the end of a loop in one of the states that do the same at the same place, whatever was before. */
static bool all_end_alike(const struct emitter *e, const struct build_state *state)
{
	size_t ends = 0;
	for (size_t i = 0; i < e->graph->state_count; i++) {
		const struct build_state *other = &e->graph->states[i];
		if (other->visits == 0 || other->op != state->op || other->site != state->site)
			continue;
		for (size_t j = 0; j < other->law_count; j++)
			ends += other->laws[j].is_once ? other->laws[j].run_count : 0;
	}
	return ends == e->group->count;
}

/*
 * Whether a pool's threads share a loop's turns: each comes once to its end, or goes on elsewhere when there are no more; or, of a
 * team, too, each makes its part of them from one barrier to the next.
 */
static bool is_shared(const struct emitter *e, const struct build_state *state,
	const struct build_law *law, bool varies)
{
	if (e->is_taker || !e->pool || build_is_rounds(&e->build->trace, e->graph, state, law))
		return false;
	uint64_t own_rounds = emit_own_rounds(e);
	if (own_rounds > 0 && law->is_once)
		return false;
	bool is_of_round = build_leads_to_barrier(e->graph, law->to) ||
			   (own_rounds > 0 && law->run_count * 20 >= own_rounds * 19);
	size_t threads = is_one_pool(e) || varies ? law->threads : law->run_count;
	bool is_of_life = law->is_once && (threads == e->group->count || all_end_alike(e, state));
	bool is_own = e->pool->parameter == own_parameter(e) || e->pool->is_alike;
	return is_of_round || (is_of_life && is_own);
}

/* Whether threads of waves, each of which comes once to its end, made different numbers of turns: they took what was left. */
static bool vary_in_waves(
	const struct emitter *e, const struct build_law *law, uint64_t least, uint64_t most)
{
	return e->pool && e->pool->waves > 1 && e->pool->starter == BUILD_NONE && law->is_once &&
	       (most - least > 1 || law->rest > 0);
}

/* A thread's turns as a part of what all threads of one wave made. */
static int set_part(struct emitter *e, const struct build_law *law, uint64_t total, uint32_t before,
	bool are_equal, struct model_count *ret)
{
	double each = (double)(total + before) / (double)law->run_count;
	AUTO_FREE char *whole = NULL;
	int code = whole_of(e, each * (double)e->pool->size, are_equal, &whole);
	return code < 0 ? code
			: build_formula(e->model, &ret->value, "%s / %s%s", whole,
				  emit_pool_size(e), before > 0 ? " - 1" : "");
}

/*
 * Whether each thread came equally often to what follows the branch when its loop goes on: a loop may come to its end in
 * several states, of which each sees a part of the turns.
 */
static bool turn_equally(
	const struct emitter *e, const struct build_state *state, const struct build_law *law)
{
	AUTO_FREE uint64_t *turns = calloc(e->group->count + 1, sizeof *turns);
	if (!turns || e->group->count < 2)
		return false;
	for (size_t i = 0; i < state->edge_count; i++) {
		if (state->edges[i].to == law->to || state->edges[i].to == STATE_END)
			continue;
		const struct build_state *body = &e->graph->states[state->edges[i].to];
		for (size_t j = 0; j < body->visits; j++)
			turns[e->graph->visits[e->graph->order[body->first + j]].thread]++;
	}
	for (size_t i = 1; i < e->group->count; i++)
		if (turns[i] != turns[0])
			return false;
	return turns[0] > 1;
}

/* Rounds of a pool, whose threads meet in each of them: none can make more than another one. */
static bool is_made_together(
	const struct emitter *e, const struct build_state *state, const struct build_law *law)
{
	return e->pool && e->group->count > 1 && law->run_count % e->group->count == 0 &&
	       build_is_rounds(&e->build->trace, e->graph, state, law);
}

int emit_loop(struct emitter *e, const struct build_state *state, const struct build_law *law,
	uint32_t body, uint32_t index)
{
	uint64_t total = law->rest, least = UINT64_MAX, most = 0;
	for (size_t i = 0; i < law->run_count; i++) {
		total += law->runs[i];
		least = law->runs[i] < least ? law->runs[i] : least;
		most = law->runs[i] > most ? law->runs[i] : most;
	}
	bool varies = vary_in_waves(e, law, least, most);
	bool shared = is_shared(e, state, law, varies);
	bool are_tickets = shared && law->is_once && (is_one_pool(e) || varies) &&
			   (e->has_flow || most - least > 1 || law->rest > 0);
	uint32_t before = shared ? build_turns_before(e->graph, e->group->count, state, law) : 0;
	bool are_equal = shared && ((least == most && law->rest == 0) ||
					   (are_tickets && turn_equally(e, state, law)));
	int dealt = shared && !are_tickets ? emit_dealt(e, state, law, body, index) : 0;
	if (dealt != 0)
		return dealt < 0 ? dealt : 0;
	e->build->guessed_splits += are_equal;
	if (are_tickets)
		return add_tickets(e, state, law, total, before, body, index, are_equal);
	struct model_fragment *fragment = emit_fragment(e, index);
	fragment->op = MODEL_LOOP;
	fragment->body = body;
	int code = shared ? set_part(e, law, total, before, are_equal, &fragment->count)
			  : emit_one_for_each(e, law, &fragment->count);
	if (!shared && code == 0)
		code = emit_counts(e, law->runs, law->run_count, fragment);
	if (code == 0 && fragment->count.entry_count > 0 && is_made_together(e, state, law)) {
		fragment->is_together = true;
		fragment->draws.value /= (double)e->group->count;
	}
	if (!shared && code == 0)
		code = emit_order_of_turns(e, law, fragment);
	return code < 0 ? code : emit_only_edge(e, index, e->fragments[law->to]);
}
