/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is done with a batch, as much more as there are items in it. A get of a queue that takes what there is (meaning/drain.c) says how many it took;
 * what the thread then does as often, or what takes CPU time in proportion, is done for each item. In the model a get takes as many as it
 * finds there, `up_to` a limit, and loops have as many turns as were `taken`.
 */
#include "builder/emit.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* Fewer batches say nothing; half of the variance is a line's, or there is none. */
enum { BATCHES_MIN = 8 };
static const double explained_share = 0.5, alike_share = 0.95;

static bool is_batch_step(const struct build_trace *trace, const struct build_step *step)
{
	return step->op == STEP_GET && step->object != BUILD_NONE &&
	       trace->objects[step->object].is_drain;
}

bool build_is_batch_get(const struct build_trace *trace, const struct build_state *state)
{
	const struct build_step step = { .op = state->op, .object = state->object };
	return is_batch_step(trace, &step);
}

int emit_batch_get(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	struct build_object *object = &e->build->trace.objects[state->object];
	uint32_t parameter = object->batch - 1;
	int code = 0;
	fragment->takes_all = object->most == 0;
	if (object->most == 0)
		return 0;
	if (object->batch == 0)
		code = build_add_parameter(e->model, e->model->objects[fragment->object].name,
			"batch", (double)object->most, "items that a get takes at most",
			&parameter);
	if (code < 0)
		return code;
	object->batch = parameter + 1;
	return build_formula(
		e->model, &fragment->up_to, "%s", e->model->parameters[parameter].name);
}

/* Turns of a loop. */

int emit_find_batches(const struct emitter *e, uint32_t **ret_taken)
{
	const struct build_graph *graph = e->graph;
	bool has_batches = false;
	*ret_taken = NULL;
	for (size_t i = 0; i < graph->visit_count && !has_batches; i++)
		has_batches = is_batch_step(&e->build->trace, graph->visits[i].step);
	if (!has_batches)
		return 0;
	*ret_taken = calloc(graph->visit_count, sizeof **ret_taken);
	if (!*ret_taken)
		return -ENOMEM;
	uint32_t taken = 0;
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_step *step = graph->visits[i].step;
		if (is_batch_step(&e->build->trace, step))
			taken = step->flags & STEP_REFUSED ? 0 : step->count;
		(*ret_taken)[i] = taken;
		if (build_is_last_visit(graph, i))
			taken = 0;
	}
	return 0;
}

struct turns {
	int64_t less; /* turns are so many fewer than items */
	uint64_t batches, alike;
	uint32_t least, most; /* items */
};

/* Of the loop that ends after `state` with the state `end`. */
static void count_turns(
	const struct emitter *e, const struct build_state *state, uint32_t end, struct turns *ret)
{
	const struct build_graph *graph = e->graph;
	int64_t turns = 0;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		bool is_last = build_is_last_visit(graph, at);
		bool ends = !is_last && graph->visits[at + 1].state == end;
		uint32_t taken = ends ? e->taken[at] : 0;
		turns = is_last ? 0 : turns + !ends;
		if (!ends || taken == 0)
			continue;
		if (ret->batches++ == 0) {
			ret->less = (int64_t)taken - turns;
			ret->least = ret->most = taken;
		}
		ret->alike += (int64_t)taken - turns == ret->less;
		ret->least = taken < ret->least ? taken : ret->least;
		ret->most = taken > ret->most ? taken : ret->most;
		turns = 0;
	}
}

static bool are_of_items(const struct turns *turns)
{
	return turns->batches >= BATCHES_MIN && turns->least < turns->most && turns->less >= 0 &&
	       (double)turns->alike >= alike_share * (double)turns->batches;
}

/* Makes a fragment the loop that ends with the state `end`. */
static int set_turns(
	struct emitter *e, const struct turns *turns, uint32_t end, uint32_t body, uint32_t index)
{
	struct model_fragment *fragment = emit_fragment(e, index);
	fragment->op = MODEL_LOOP;
	fragment->body = body;
	fragment->by_taken = true;
	fragment->less = (uint32_t)turns->less;
	return emit_only_edge(e, index, e->fragments[end]);
}

int emit_turns_of_batch(struct emitter *e, const struct build_state *state,
	const struct build_law *law, uint32_t body, uint32_t index)
{
	struct turns turns = { 0 };
	if (e->taken)
		count_turns(e, state, law->to, &turns);
	if (!are_of_items(&turns))
		return 0;
	int code = set_turns(e, &turns, law->to, body, index);
	return code < 0 ? code : 1;
}

/* The same of a state with two ways that are drawn, as if turns were geometrically distributed. */
static int count_drawn_turns(struct emitter *e, const struct build_state *state)
{
	uint32_t from = e->fragments[state - e->graph->states], index;
	if (state->edge_count != 2 || emit_fragment(e, from)->edge_count != 2)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		uint32_t end = state->edges[i].to, other = state->edges[1 - i].to;
		struct turns turns = { 0 };
		if (end >= e->graph->state_count || other >= e->graph->state_count)
			return 0;
		count_turns(e, state, end, &turns);
		if (!are_of_items(&turns))
			continue;
		int code = emit_add_fragment(e, "each of the batch", &index);
		if (code == 0)
			code = set_turns(e, &turns, end, e->fragments[other], index);
		return code < 0 ? code : emit_only_edge(e, from, index);
	}
	return 0;
}

/* CPU time of each item. */

/* A step that a thread did with a batch, the first of its kind since the get. */
struct sample {
	uint64_t place;
	double items;
	struct build_step *step;
};

struct samples {
	struct sample *items;
	size_t count, capacity;
};

static int add_sample(
	struct samples *samples, uint64_t place, double items, struct build_step *step)
{
	if (mem_grow(&samples->items, &samples->capacity, samples->count + 1,
		    sizeof *samples->items) < 0)
		return -ENOMEM;
	samples->items[samples->count++] = (struct sample){ place, items, step };
	return 0;
}

/* Those of one thread; what comes twice in a batch is a loop's, and stands for nothing: *places are all that were seen, `last` in which batch. */
static int collect(struct build_trace *trace, struct build_thread *thread, struct map *places,
	struct map *last, uint64_t *batch, struct samples *ret)
{
	double items = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step *step = &thread->steps[i];
		uint64_t *place, *seen;
		if (items > 0) {
			uint64_t key = (uint64_t)step->op << 32 | step->object;
			if (map_add(places, key, step->site, places->count, &place) < 0)
				return -ENOMEM;
			uint64_t number = *place;
			int code = map_add(last, number, 0, 0, &seen);
			bool is_again = code == 0 && *seen == *batch;
			if (code < 0 || add_sample(ret, number, is_again ? -1 : items, step) < 0)
				return -ENOMEM;
			*seen = *batch;
		}
		if (is_batch_step(trace, step)) {
			items = step->flags & STEP_REFUSED ? 0 : step->count;
			++*batch;
		}
	}
	return 0;
}

static int compare_samples(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->items < b->items ? -1 : a->items > b->items;
}

/* CPU time of each item by least squares; 0: it does not grow with them. */
static double item_ns_of(const struct sample *samples, size_t count)
{
	double n = (double)count, sum_x = 0, sum_y = 0, xx = 0, xy = 0, yy = 0;
	if (count < BATCHES_MIN || samples[0].items < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		sum_x += samples[i].items;
		sum_y += (double)samples[i].step->cpu_ns;
	}
	for (size_t i = 0; i < count; i++) {
		double x = samples[i].items - sum_x / n;
		double y = (double)samples[i].step->cpu_ns - sum_y / n;
		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	bool is_line = xx > 0 && xy > 0 && xy * xy > explained_share * xx * yy;
	return is_line ? xy / xx : 0;
}

/* Takes it off the steps, as far as they have it. */
static void take_off(
	struct build *build, const struct sample *samples, size_t count, double item_ns)
{
	const struct build_step *first = samples[0].step;
	if (item_ns <= 0 || build->each.count == BUILD_EACH)
		return;
	build->each.items[build->each.count++] =
		(struct build_each){ first->site, first->object, first->op, item_ns };
	for (size_t i = 0; i < count; i++) {
		uint64_t part_ns = (uint64_t)(item_ns * samples[i].items);
		struct build_step *step = samples[i].step;
		step->cpu_ns -= part_ns < step->cpu_ns ? part_ns : step->cpu_ns;
	}
}

int build_batches_find(struct build *build)
{
	AUTO_RELEASE(map) struct map places = { 0 };
	AUTO_RELEASE(map) struct map last = { 0 };
	struct samples all = { 0 };
	uint64_t batch = 0;
	int code = 0;
	for (size_t i = 0; i < build->trace.thread_count && code == 0; i++)
		code = collect(
			&build->trace, &build->trace.threads[i], &places, &last, &batch, &all);
	if (code == 0 && all.count > 0)
		qsort(all.items, all.count, sizeof *all.items, compare_samples);
	for (size_t i = 0, to; i < all.count && code == 0; i = to) {
		for (to = i; to < all.count && all.items[to].place == all.items[i].place;)
			to++;
		take_off(build, &all.items[i], to - i, item_ns_of(&all.items[i], to - i));
	}
	free(all.items);
	return code;
}

static double item_ns_before(const struct build *build, const struct build_state *state)
{
	for (size_t i = 0; i < build->each.count; i++) {
		const struct build_each *each = &build->each.items[i];
		if (each->op == state->op && each->site == state->site &&
			each->object == state->object)
			return each->item_ns;
	}
	return 0;
}

/* each item: loop { one }, then what it led to */
static int add_each(struct emitter *e, const struct build_state *state, double item_ns)
{
	uint32_t then = e->fragments[state - e->graph->states], each = 0, one = 0;
	int code = emit_add_fragment(e, "each item", &each);
	if (code == 0)
		code = emit_add_fragment(e, "one item", &one);
	if (code < 0)
		return code;
	emit_redirect(e, then, each);
	struct model_fragment *fragment = emit_fragment(e, one);
	fragment->op = MODEL_COMPUTE;
	fragment->cpu = (struct model_dist){ .kind = MODEL_FIXED, .a.value = item_ns * 1e-9 };
	fragment = emit_fragment(e, each);
	fragment->op = MODEL_LOOP;
	fragment->body = one;
	fragment->by_taken = true;
	code = emit_only_edge(e, one, each);
	return code < 0 ? code : emit_only_edge(e, each, then);
}

/* The first turn, apart from the others: it has what is done for the batch. */
struct first_turn {
	const struct build_state *state;
	uint32_t fork; /* fragment that decides whether others follow */
};

static bool goes_to(const struct model_fragment *fragment, uint32_t to)
{
	for (uint32_t i = 0; i < fragment->edge_count; i++)
		if (fragment->edges[i].to == to)
			return true;
	return fragment->op == MODEL_LOOP && fragment->body == to;
}

/* The only one that does, but for one; MODEL_NONE: several do, or none. */
static uint32_t only_one_to(const struct model_group *group, uint32_t to, uint32_t but)
{
	uint32_t ret = MODEL_NONE;
	for (uint32_t i = 0; i < group->fragment_count; i++) {
		if (i == but || !goes_to(&group->fragments[i], to))
			continue;
		if (ret != MODEL_NONE)
			return MODEL_NONE;
		ret = i;
	}
	return ret;
}

/* Goes to the turns of a loop or on where that does, by draws or as often as counted, and nobody else goes to the turns. */
static bool find_first_turn(const struct emitter *e, uint32_t loop, struct first_turn *ret)
{
	const struct model_group *group = &e->model->groups[e->index];
	const struct model_fragment *turns = &group->fragments[loop];
	uint32_t before = only_one_to(group, turns->body, loop);
	if (before == MODEL_NONE || !goes_to(&group->fragments[before], turns->edges[0].to))
		return false;
	bool is_drawn = group->fragments[before].op != MODEL_LOOP;
	if (is_drawn && group->fragments[before].edge_count != 2)
		return false;
	uint32_t first = is_drawn ? before : only_one_to(group, before, turns->body);
	*ret = (struct first_turn){ .fork = before };
	for (size_t i = 0; i < e->graph->state_count; i++)
		if (e->graph->states[i].visits > 0 && e->fragments[i] == first)
			ret->state = &e->graph->states[i];
	return ret->state != NULL;
}

/* Whether the other turns follow if and only if there are so many items or more. */
static bool follow_by_items(
	const struct emitter *e, const struct build_state *state, uint32_t body, uint32_t least)
{
	const struct build_graph *graph = e->graph;
	uint64_t batches = 0, alike = 0;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		uint32_t taken = e->taken[at];
		bool is_last = build_is_last_visit(graph, at);
		if (is_last || taken == 0)
			continue;
		batches++;
		alike += (e->fragments[graph->visits[at + 1].state] == body) == (taken >= least);
	}
	return batches >= BATCHES_MIN && (double)alike >= alike_share * (double)batches;
}

/* A first turn apart from the others is one of the loop's, and is not drawn. */
static int join_first_turn(struct emitter *e, uint32_t loop)
{
	struct first_turn first;
	const struct model_fragment *turns = emit_fragment(e, loop);
	if (turns->op != MODEL_LOOP || !turns->by_taken || turns->less < 2 ||
		turns->edge_count != 1 || !find_first_turn(e, loop, &first) ||
		!follow_by_items(e, first.state, turns->body, turns->less))
		return 0;
	emit_fragment(e, loop)->less--;
	struct model_fragment *fork = emit_fragment(e, first.fork);
	if (fork->op == MODEL_LOOP) { /* nothing is left to do there */
		fork->op = MODEL_COMPUTE;
		fork->body = MODEL_NONE;
		fork->count = (struct model_count){ 0 };
		fork->draws = (struct model_value){ 0 };
	}
	return emit_only_edge(e, first.fork, loop);
}

int emit_batches(struct emitter *e)
{
	int code = 0;
	for (size_t i = 0; i < e->graph->state_count && code == 0; i++) {
		const struct build_state *state = &e->graph->states[i];
		double item_ns = state->visits > 0 ? item_ns_before(e->build, state) : 0;
		if (e->taken && state->visits > 0)
			code = count_drawn_turns(e, state);
		if (code == 0 && item_ns > 0)
			code = add_each(e, state, item_ns);
	}
	uint32_t count = e->model->groups[e->index].fragment_count;
	for (uint32_t i = 0; e->taken && i < count && code == 0; i++)
		code = join_first_turn(e, i);
	return code;
}
