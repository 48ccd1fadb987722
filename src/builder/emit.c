/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph as a group of the model. A state is a fragment; its laws are loops behind it, one after the
 * other, of which the last one leads to a draw among the ways that are left:
 *
 *	state --> loop k1 --> x1		k1 times the rest, then x1
 *		    `--body--> loop k2 --> x2
 *				 `--body--> draw
 */
#include "builder/emit.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_fragment *emit_fragment(const struct emitter *e, uint32_t index)
{
	return &e->model->groups[e->index].fragments[index];
}

int emit_only_edge(struct emitter *e, uint32_t from, uint32_t to)
{
	struct model_edge *edge = model_alloc(e->model, 1, sizeof *edge);
	if (!edge)
		return -ENOMEM;
	*edge = (struct model_edge){ .to = to, .probability.value = 1 };
	emit_fragment(e, from)->edges = edge;
	emit_fragment(e, from)->edge_count = 1;
	return 0;
}

void emit_redirect(const struct emitter *e, uint32_t from, uint32_t to)
{
	struct model_group *group = &e->model->groups[e->index];
	group->start = group->start == from ? to : group->start;
	for (uint32_t i = 0; i < group->fragment_count; i++) {
		struct model_fragment *fragment = &group->fragments[i];
		fragment->otherwise = fragment->otherwise == from ? to : fragment->otherwise;
		if (fragment->op == MODEL_LOOP && fragment->body == from)
			fragment->body = to;
		for (uint32_t j = 0; j < fragment->edge_count; j++)
			if (fragment->edges[j].to == from)
				fragment->edges[j].to = to;
	}
}

int emit_counts(const struct emitter *e, const uint64_t *values, size_t count,
	struct model_fragment *fragment)
{
	int code = build_counts(e->model, values, count, &fragment->count);
	if (code == 0 && e->is_batch && fragment->count.entry_count > 0)
		fragment->draws.value = (double)count;
	return code;
}

/* The first number that may be free: of thousands of the same name it is not searched from 1. */
static int first_number(struct emitter *e, const char *name, unsigned *ret)
{
	uint64_t hash = 14695981039346656037U, *count; /* FNV-1a */
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211U;
	*ret = 1;
	if (!e->names)
		return 0;
	if (map_add(e->names, hash, 0, 0, &count) < 0)
		return -ENOMEM;
	*ret = (unsigned)++*count;
	return 0;
}

int emit_add_fragment(struct emitter *e, const char *name, uint32_t *ret)
{
	unsigned first;
	if (first_number(e, name, &first) < 0)
		return -ENOMEM;
	for (unsigned number = first;; number++) {
		AUTO_FREE char *text = NULL;
		int code = number == 1 ? asprintf(&text, "%.200s", name)
				       : asprintf(&text, "%.200s #%u", name, number);
		if (code < 0)
			return -ENOMEM;
		if (model_find_fragment(&e->model->groups[e->index], text) == MODEL_NONE)
			return model_add_fragment(e->model, e->index, text, ret);
	}
}

/* What leads on from a state: a list of edges. */
struct ways {
	struct model_edge *edges;
	uint32_t count;
	uint64_t draws; /* how often they were taken in all */
	uint32_t last; /* index of the edge that was taken last, MODEL_NONE: not known */
};

static bool has_law_to(const struct build_state *state, uint32_t to)
{
	for (size_t i = 0; i < state->law_count; i++)
		if (state->laws[i].to == to)
			return true;
	return false;
}

/* Draws among edges, those with a law (of `laws`, if any) left out. */
static int set_ways(struct emitter *e, const struct build_edge *edges, size_t count,
	const struct build_state *laws, struct ways *ret)
{
	*ret = (struct ways){ .edges = model_alloc(e->model, count + 1, sizeof *ret->edges),
		.last = MODEL_NONE };
	if (!ret->edges)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (edges[i].to == STATE_END || (laws && has_law_to(laws, edges[i].to)))
			continue;
		ret->edges[ret->count].to = e->fragments[edges[i].to];
		ret->edges[ret->count++].probability.value = (double)edges[i].count;
		ret->draws += edges[i].count;
	}
	for (uint32_t i = 0; i < ret->count; i++)
		ret->edges[i].probability.value /= (double)ret->draws;
	return 0;
}

/* The way that the thread took last from a state, those with a law left out. */
static uint32_t find_last(
	const struct emitter *e, const struct build_state *state, const struct ways *ways)
{
	for (size_t i = state->visits; i-- > 0;) {
		size_t at = e->graph->order[state->first + i];
		const struct build_visit *visit = &e->graph->visits[at];
		if (at + 1 == e->graph->visit_count || is_refusal(visit->step) ||
			has_law_to(state, visit[1].state))
			continue;
		for (uint32_t j = 0; j < ways->count; j++)
			if (ways->edges[j].to == e->fragments[visit[1].state])
				return j;
	}
	return MODEL_NONE;
}

static void lead_on(const struct emitter *e, uint32_t index, const struct ways *ways)
{
	struct model_fragment *fragment = emit_fragment(e, index);
	fragment->edges = ways->edges;
	fragment->edge_count = ways->count;
	if (!e->is_batch || ways->count < 2)
		return;
	fragment->draws.value = (double)ways->draws;
	fragment->last = e->is_plan ? ways->last : (uint32_t)MODEL_NONE;
}

/* One fragment that leads on as the edges do. */
static int add_draw(struct emitter *e, const char *name, const struct ways *ways, uint32_t *ret)
{
	if (ways->count == 1) {
		*ret = ways->edges[0].to;
		return 0;
	}
	int code = emit_add_fragment(e, name, ret);
	if (code == 0)
		lead_on(e, *ret, ways);
	return code;
}

/* Whether a way was first taken after this time. */
static bool is_taken_after(
	const struct emitter *e, const struct build_state *state, uint32_t to, uint64_t time_ns)
{
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = e->graph->order[state->first + i];
		const struct build_visit *visit = &e->graph->visits[at];
		if (at + 1 < e->graph->visit_count && visit[1].thread == visit->thread &&
			visit[1].state == to && visit[1].step->begin_ns <= time_ns)
			return false;
	}
	return true;
}

/* Who takes requests from outside goes on as long as they come, and so do those whom it hands them to. */
static bool is_endless(
	const struct emitter *e, const struct build_state *state, const struct build_law *law)
{
	const struct build_requests *requests = &e->build->requests;
	uint64_t turns = law->run_count;
	for (size_t i = 0; i < law->run_count; i++)
		turns += law->runs[i];
	if (requests->arrivals == BUILD_NONE || !law->is_once)
		return false;
	return (e->is_taker && turns * 10 >= requests->begun * 9 &&
		       is_taken_after(e, state, law->to, requests->first_ns)) ||
	       (e->has_flow && is_taken_after(e, state, law->to, requests->last_ns));
}

/* A fragment for a loop behind a state. */
static int add_loop(struct emitter *e, const struct build_state *state, uint32_t *ret)
{
	AUTO_FREE char *name = NULL;
	if (asprintf(&name, "repeat %s",
		    emit_fragment(e, e->fragments[state - e->graph->states])->name) < 0)
		return -ENOMEM;
	return emit_add_fragment(e, name, ret);
}

/* The laws of a state behind it, the last one first; *to is where it then leads. */
static int add_laws(struct emitter *e, const struct build_state *state, uint32_t *to)
{
	struct emit_ends ends;
	bool has_ends = emit_ends_of(e, state, &ends);
	int code = 0;
	for (size_t i = state->law_count; i-- > 0 && code == 0;) {
		uint32_t index, body = *to;
		if (is_endless(e, state, &state->laws[i]) || (has_ends && state->laws[i].is_once))
			continue;
		index = emit_find_rounds(e, state, &state->laws[i], body);
		if (index != MODEL_NONE) {
			*to = index;
			continue;
		}
		code = add_loop(e, state, &index);
		if (code == 0)
			code = emit_turns_of_batch(e, state, &state->laws[i], body, index);
		if (code == 0)
			code = emit_loop(e, state, &state->laws[i], body, index);
		code = code > 0 ? 0 : code;
		if (code == 0)
			code = emit_rounds(e, state, &state->laws[i], body, index);
		*to = index;
	}
	if (code == 0 && has_ends) {
		uint32_t index = 0;
		code = add_loop(e, state, &index);
		if (code == 0)
			code = emit_end(e, state, &ends, *to, index);
		*to = index;
	}
	return code;
}

static int connect_state(struct emitter *e, uint32_t state_index)
{
	const struct build_state *state = &e->graph->states[state_index];
	uint32_t index = e->fragments[state_index], to = MODEL_NONE;
	struct ways ways, refused;
	/* A server with clients that stay is ended from outside. */
	bool does_stop = e->is_main && !e->build->requests.are_over;
	if (state->op == STEP_EXIT)
		return emit_only_edge(e, index, does_stop ? MODEL_STOP : MODEL_EXIT);
	int code = set_ways(e, state->edges, state->edge_count, state, &ways);
	if (code < 0)
		return code;
	ways.last = find_last(e, state, &ways);
	if (state->law_count > 0 && ways.count > 0) {
		code = add_draw(e, "either", &ways, &to);
		if (code == 0 && ways.count > 1)
			code = emit_order_of_ways(e, state, to);
		if (code == 0)
			code = add_laws(e, state, &to);
		if (code == 0)
			code = emit_only_edge(e, index, to);
	} else {
		lead_on(e, index, &ways);
		code = emit_one_of_all(e, state, emit_fragment(e, index));
		code = code == 0 ? emit_order_of_ways(e, state, index) : code > 0 ? 0 : code;
	}
	if (code < 0 || !state->is_refused_at_times)
		return code;
	code = set_ways(e, state->refused_edges, state->refused_count, NULL, &refused);
	to = MODEL_EXIT;
	if (code == 0 && refused.count > 0)
		code = add_draw(e, "refused", &refused, &to);
	emit_fragment(e, index)->otherwise = to;
	return code;
}

/* Response times count from when the request is accepted, as in the recording. */
static int accept_request(struct emitter *e, uint32_t state_index)
{
	const struct build_state *state = &e->graph->states[state_index];
	uint32_t index = e->fragments[state_index], begin;
	if (state->op != STEP_GET || state->object != e->build->requests.arrivals ||
		e->build->requests.are_over)
		return 0;
	int code = emit_add_fragment(e, "accept", &begin);
	if (code < 0)
		return code;
	struct model_fragment *get = emit_fragment(e, index), *accept = emit_fragment(e, begin);
	accept->op = MODEL_BEGIN;
	accept->edges = get->edges;
	accept->edge_count = get->edge_count;
	return emit_only_edge(e, index, begin);
}

/* The pool of which each thread puts one item for each of so many gets; BUILD_NONE: there is none. */
static uint32_t find_latched_pool(const struct build *build, uint32_t object, size_t gets)
{
	const struct build_trace *trace = &build->trace;
	for (uint32_t i = 0; i < build->groups.count; i++) {
		const struct build_group *group = &build->groups.items[i];
		size_t puts = 0;
		for (size_t j = 0; j < group->count; j++) {
			const struct build_thread *thread = &trace->threads[group->threads[j]];
			for (size_t k = 0; k < thread->step_count; k++)
				puts += thread->steps[k].op == STEP_PUT &&
					build_object_of(trace, &thread->steps[k]) == object;
		}
		if (build->pools[i].parameter != BUILD_NONE && puts > 0 &&
			puts == group->count * gets)
			return i;
	}
	return BUILD_NONE;
}

/* How often a get of several items is repeated: more often if there are more threads that put them. */
static int count_repeats(
	struct emitter *e, const struct build_state *state, struct model_value *ret)
{
	const struct build_step step = { .op = STEP_GET, .object = state->object };
	uint32_t object = build_object_of(&e->build->trace, &step);
	uint32_t pool = find_latched_pool(e->build, object, state->visits);
	long repeats = (long)state->count - 1;
	if (pool == BUILD_NONE) {
		ret->value = (double)repeats;
		return 0;
	}
	repeats -= (long)e->build->groups.items[pool].count;
	return build_formula(e->model, ret, "%s %s %ld",
		e->model->parameters[e->build->pools[pool].parameter].name, repeats < 0 ? "-" : "+",
		labs(repeats));
}

/* A get of several items is a loop of gets. */
static int repeat_get(struct emitter *e, uint32_t state_index)
{
	const struct build_state *state = &e->graph->states[state_index];
	uint32_t index = e->fragments[state_index], loop = 0, again = 0;
	if (state->op != STEP_GET || state->count < 2 ||
		build_is_batch_get(&e->build->trace, state))
		return 0;
	int code = emit_add_fragment(e, "all of them", &loop);
	if (code == 0)
		code = emit_add_fragment(e, "one more", &again);
	if (code < 0)
		return code;
	struct model_fragment *get = emit_fragment(e, index), *repeat = emit_fragment(e, loop);
	struct model_fragment *more = emit_fragment(e, again);
	more->op = MODEL_GET;
	more->object = get->object;
	more->otherwise = get->otherwise;
	repeat->op = MODEL_LOOP;
	repeat->body = again;
	repeat->edges = get->edges;
	repeat->edge_count = get->edge_count;
	get->count.value.value = 0;
	code = count_repeats(e, state, &repeat->count.value);
	if (code == 0)
		code = emit_only_edge(e, again, loop);
	return code < 0 ? code : emit_only_edge(e, index, loop);
}

/* Where the same operation at the same place leads if it is refused, as seen in another state; MODEL_NONE: it never was. */
static uint32_t otherwise_elsewhere(const struct emitter *e, const struct build_state *state)
{
	for (size_t i = 0; i < e->graph->state_count; i++) {
		const struct build_state *other = &e->graph->states[i];
		if (other->visits > 0 && other->is_refused_at_times && other->op == state->op &&
			other->site == state->site && other->object == state->object)
			return emit_fragment(e, e->fragments[i])->otherwise;
	}
	return MODEL_NONE;
}

/* A GET, TRY_GET or TAKE that never was refused, or a GET of a state that no visit passed. */
static void complete(struct emitter *e, uint32_t state_index)
{
	const struct build_state *state = &e->graph->states[state_index];
	struct model_fragment *fragment = emit_fragment(e, e->fragments[state_index]);
	bool is_try = fragment->op == MODEL_TRY_GET || fragment->op == MODEL_TAKE;
	if ((fragment->op == MODEL_GET || is_try) && fragment->otherwise == MODEL_NONE)
		fragment->otherwise = otherwise_elsewhere(e, state);
	if (is_try && fragment->otherwise == MODEL_NONE)
		fragment->otherwise =
			fragment->edge_count > 0 ? fragment->edges[0].to : (uint32_t)MODEL_EXIT;
	if (fragment->edge_count == 0 && fragment->otherwise < MODEL_STOP) {
		fragment->edges = model_alloc(e->model, 1, sizeof *fragment->edges);
		fragment->edge_count = fragment->edges ? 1 : 0;
		if (fragment->edges)
			*fragment->edges = (struct model_edge){ .to = fragment->otherwise,
				.probability.value = 1 };
	}
}

static int add_start(struct emitter *e)
{
	struct ways starts;
	uint32_t start = 0;
	int code = set_ways(e, e->graph->starts, e->graph->start_count, NULL, &starts);
	if (code == 0 && starts.count > 0)
		code = add_draw(e, "start", &starts, &start);
	else if (code == 0)
		code = emit_add_fragment(e, "nothing", &start);
	e->model->groups[e->index].start = start;
	return code;
}

static bool has_flow(const struct build_graph *graph)
{
	for (size_t i = 0; i < graph->state_count; i++)
		switch ((enum step_op)graph->states[i].op) {
		case STEP_GET:
		case STEP_PUT:
		case STEP_ACQUIRE:
		case STEP_POST:
			return true;
		default:
			break;
		}
	return false;
}

static bool is_taker(const struct build *build, const struct build_graph *graph)
{
	for (size_t i = 0; i < graph->state_count; i++)
		if (graph->states[i].op == STEP_GET && graph->states[i].visits > 0 &&
			graph->states[i].object == build->requests.arrivals)
			return true;
	return false;
}

int build_emit_group(struct build *build, uint32_t group)
{
	const struct build_graph *graph = &build->graphs[group];
	const struct build_thread *first =
		&build->trace.threads[build->groups.items[group].threads[0]];
	AUTO_FREE uint32_t *fragments = calloc(graph->state_count + 1, sizeof *fragments);
	AUTO_RELEASE(map) struct map names = { 0 };
	struct emitter e = { .build = build,
		.names = &names,
		.model = build->model,
		.group = &build->groups.items[group],
		.graph = graph,
		.index = group,
		.work = build_work_of(build, group),
		.pool = build_pool_of(build->pools, &build->groups, group),
		.fragments = fragments,
		.is_main = group == 0 && first->parent == BUILD_NONE,
		.is_taker = is_taker(build, graph),
		.has_flow = has_flow(graph) };
	e.is_batch = build->requests.begun == 0;
	e.is_plan = e.is_batch && e.group->count == 1 && !e.pool;
	AUTO_FREE uint32_t *taken = NULL;
	int code = fragments ? emit_find_batches(&e, &taken) : -ENOMEM;
	e.taken = taken;
	for (uint32_t i = 0; i < graph->state_count && code == 0; i++)
		if (graph->states[i].visits > 0)
			code = emit_state(&e, i);
	for (uint32_t i = 0; i < graph->state_count && code == 0; i++)
		if (graph->states[i].visits > 0)
			code = connect_state(&e, i);
	for (uint32_t i = 0; i < graph->state_count && code == 0; i++) {
		if (graph->states[i].visits == 0)
			continue;
		complete(&e, i);
		code = repeat_get(&e, i);
		if (code == 0)
			code = accept_request(&e, i);
	}
	if (code == 0)
		code = add_start(&e);
	if (code == 0)
		code = emit_waves(&e);
	if (code == 0)
		code = emit_leads(&e);
	if (code == 0)
		code = emit_deals(&e);
	return code < 0 ? code : emit_batches(&e);
}
