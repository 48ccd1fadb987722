/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/graph.h"

#include "base/map.h"
#include "base/mem.h"
#include "builder/law.h"
#include "builder/period.h"
#include "builder/regions.h"
#include "builder/turns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A split must be significant (chi-squared more than three standard deviations above its mean) and
 * have at least a medium effect
 * (Cramer's V of 0.3, J. Cohen, "Statistical Power Analysis", 1988, 7.2); more ways in than WAYS_MAX are too many to keep apart.
 */
enum {
	PHASES_MAX = 64,
	SPLIT_ROUNDS = 3,
	WAYS_MAX = 32,
	STATES_MAX = 4000,
	FROM_START = UINT32_MAX - 2
};
static const double significant_deviations = 3, least_effect = 0.09;

/* A way through a state. */
struct way {
	uint32_t state, before, after;
	size_t visit;
	uint64_t cpu_ns;
};

void build_graph_release(struct build_graph *graph)
{
	for (size_t i = 0; i < graph->state_count; i++) {
		free(graph->states[i].edges);
		free(graph->states[i].refused_edges);
		free(graph->states[i].factors);
		for (size_t j = 0; j < graph->states[i].law_count; j++)
			free(graph->states[i].laws[j].runs);
	}
	free(graph->states);
	free(graph->visits);
	free(graph->order);
	free(graph->starts);
	*graph = (struct build_graph){ 0 };
}

static int new_state(struct build_graph *graph, uint32_t *ret)
{
	if (graph->state_count >= FROM_START ||
		mem_grow(&graph->states, &graph->state_capacity, graph->state_count + 1,
			sizeof *graph->states) < 0)
		return -ENOMEM;
	*ret = (uint32_t)graph->state_count++;
	return 0;
}

/* The locks that a thread holds: a sum over them, so that the order does not matter. */
static uint64_t held_by(const struct build_step *step, uint32_t object)
{
	uint64_t z = (step->site ^ (uint64_t)object << 40 ^ object) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* Whether a request is under way after the step: what is done for it is told from the rest. */
static bool is_open_after(const struct build_step *step, bool was_open)
{
	if (step->op == STEP_BEGIN || (step->op == STEP_GET && step->flags & STEP_FROM_OUTSIDE))
		return true;
	return was_open && step->op != STEP_END && step->op != STEP_FAIL;
}

/* What a step does, under which locks, and in or between requests, whatever comes before and after. */
static int add_symbols(const struct build_trace *trace, struct build_graph *graph)
{
	struct map symbols = { 0 };
	uint64_t held = 0;
	bool is_open = false;
	int code = 0;
	for (size_t i = 0; i < graph->visit_count && code >= 0; i++) {
		struct build_visit *visit = &graph->visits[i];
		const struct build_step *step = visit->step;
		if (i == 0 || visit->thread != visit[-1].thread) {
			held = 0;
			is_open = false;
		}
		uint64_t *slot, what = (uint64_t)step->op << 32 | build_object_of(trace, step);
		what |= step->flags & STEP_IN_REFUSED ? (uint64_t)1 << 63 : 0;
		what |= is_open ? (uint64_t)1 << 62 : 0;
		what |= step->flags & STEP_BACKGROUND ? (uint64_t)1 << 61 : 0;
		what |= (uint64_t)step->class << 40;
		is_open = is_open_after(step, is_open);
		code = map_add(&symbols, step->site ^ held, what, symbols.count, &slot);
		uint32_t object = build_object_of(trace, step);
		if (step->op == STEP_LOCK || step->op == STEP_READ_LOCK)
			held += held_by(step, object);
		else if (step->op == STEP_UNLOCK)
			held -= held_by(step, object);
		visit->symbol = visit->state = code < 0 ? 0 : (uint32_t)*slot;
		uint32_t state;
		if (code > 0)
			code = new_state(graph, &state);
	}
	map_release(&symbols);
	return code < 0 ? code : 0;
}

/* Whether each thread of the group does each thing exactly once, by symbol. */
static int find_once(const struct build_graph *graph, size_t threads, bool *once, size_t *ret_count)
{
	AUTO_FREE size_t *visits = calloc(graph->state_count + 1, sizeof *visits);
	AUTO_FREE uint32_t *last = calloc(graph->state_count + 1, sizeof *last);
	if (!visits || !last)
		return -ENOMEM;
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_visit *visit = &graph->visits[i];
		once[visit->symbol] = visits[visit->symbol] == 0 ||
				      (once[visit->symbol] && last[visit->symbol] != visit->thread);
		visits[visit->symbol]++;
		last[visit->symbol] = visit->thread;
	}
	*ret_count = 0;
	for (size_t i = 0; i < graph->state_count; i++) {
		once[i] &= visits[i] == threads;
		*ret_count += once[i];
	}
	return 0;
}

/* How visits are parted. */
struct parting {
	const bool *are_marked, *are_parted; /* by symbol */
	uint64_t start;
	bool counts;
	struct build_period period;
};

/*
 * The symbol of a visit, if it is one of those parted, is parted by the last thing of those marked that its thread did before, at
 * first `start`; or by how many it did, as far as the period tells these apart.
 */
static int part_by(struct build_graph *graph, const struct parting *by)
{
	struct map symbols = { 0 };
	int code = 0;
	graph->state_count = 0;
	uint64_t phase = by->start;
	for (size_t i = 0; i < graph->visit_count && code >= 0; i++) {
		struct build_visit *visit = &graph->visits[i];
		uint64_t *slot;
		uint32_t state;
		phase = i > 0 && visit->thread == visit[-1].thread ? phase : by->start;
		uint64_t part = by->are_parted[visit->symbol] ? phase : by->start;
		code = map_add(&symbols, visit->symbol, build_period_place(&by->period, part),
			symbols.count, &slot);
		if (by->are_marked[visit->symbol])
			phase = by->counts ? phase + 1 : visit->symbol;
		visit->symbol = visit->state = code < 0 ? 0 : (uint32_t)*slot;
		if (code > 0)
			code = new_state(graph, &state);
	}
	map_release(&symbols);
	return code < 0 ? code : 0;
}

/* Arrivals at barriers, by symbol; *ret_start: the one before the first of them comes again, UINT64_MAX: none. */
static size_t find_arrivals(const struct build_graph *graph, bool *arrivals, uint64_t *ret_start)
{
	uint64_t first = UINT64_MAX, before = UINT64_MAX;
	size_t count = 0;
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_visit *visit = &graph->visits[i];
		if (visit->step->op != STEP_ARRIVE)
			continue;
		count += !arrivals[visit->symbol];
		arrivals[visit->symbol] = true;
		first = first == UINT64_MAX ? visit->symbol : first;
		if (visit->symbol == first && *ret_start == UINT64_MAX)
			*ret_start = before;
		before = visit->symbol;
	}
	return count;
}

/* From each of several barriers to the next threads do something else, if at the same places. */
static int part_by_barriers(struct build_graph *graph, bool in_order)
{
	AUTO_FREE bool *arrivals = calloc(graph->state_count + 1, sizeof *arrivals);
	AUTO_FREE bool *all = calloc(graph->state_count + 1, sizeof *all);
	uint64_t start = UINT64_MAX;
	if (!arrivals || !all)
		return -ENOMEM;
	memset(all, true, graph->state_count * sizeof *all);
	size_t count = find_arrivals(graph, arrivals, &start);
	struct parting by = { arrivals, all, start, false, { 0 } };
	int code = build_period_find(graph, &by.period);
	graph->has_order = by.period.length > 0;
	if (!in_order)
		by.period.length = 0;
	by.counts = by.period.length > 0 || build_has_regions(graph);
	if (by.counts)
		by.start = 0;
	bool are_told_apart = by.period.length > 0 || (count > 1 && count <= PHASES_MAX);
	return code == 0 && are_told_apart ? part_by(graph, &by) : code;
}

/*
 * What each thread does once parts its life into phases, so that it is done in its place: loops before and
 * after it are loops of their own, of which it ends the one. What it does once in each turn parts turns likewise.
 */
static int add_phases(struct build_graph *graph, size_t threads, bool in_order)
{
	int code = part_by_barriers(graph, in_order);
	if (code < 0)
		return code;
	AUTO_FREE bool *once = calloc(graph->state_count + 1, sizeof *once);
	AUTO_FREE bool *all = calloc(graph->state_count + 1, sizeof *all);
	size_t count = 0;
	if (!once || !all)
		return -ENOMEM;
	memset(all, true, graph->state_count * sizeof *all);
	code = find_once(graph, threads, once, &count);
	if (code == 0 && count > 0 && count <= PHASES_MAX)
		code = part_by(graph, &(struct parting){ once, all, UINT64_MAX, false, { 0 } });
	AUTO_RELEASE(build_turns) struct build_turns turns = { 0 };
	if (code == 0)
		code = build_turns_find(graph, &turns);
	const struct parting by = { turns.milestones, turns.are_inside, turns.last, false, { 0 } };
	return code == 0 && turns.count > 0 ? part_by(graph, &by) : code;
}

static bool is_first(const struct build_graph *graph, size_t visit)
{
	return visit == 0 || graph->visits[visit - 1].thread != graph->visits[visit].thread;
}

static int compare_ways(const void *left, const void *right)
{
	const struct way *a = left, *b = right;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return a->visit < b->visit ? -1 : a->visit > b->visit;
}

/* The rest of a run of ways with the same `state`, or the same `before`. */
static size_t run_end(const struct way *ways, size_t count, size_t from, bool by_before)
{
	size_t to = from + 1;
	while (to < count && ways[to].state == ways[from].state &&
		(!by_before || ways[to].before == ways[from].before))
		to++;
	return to;
}

/* Whether what comes after depends on what came before (Pearson's chi-squared on their table). */
static int after_depends(const struct way *ways, size_t count, size_t rows, bool *ret)
{
	struct map columns = { 0 }, cells = { 0 };
	double squared = 0;
	int code = 0;
	for (size_t i = 0; i < count && code >= 0; i++) {
		uint64_t *column, *cell;
		code = map_add(&columns, ways[i].after, 0, 0, &column);
		if (code >= 0)
			++*column;
		if (code >= 0)
			code = map_add(&cells, ways[i].after, ways[i].before, 0, &cell);
		if (code >= 0)
			++*cell;
	}
	/* Sum of O^2 / E - N over the cells that are not empty; the others add nothing to the first sum. */
	for (size_t i = 0; i < count && code >= 0; i = run_end(ways, count, i, true)) {
		double row = (double)(run_end(ways, count, i, true) - i);
		for (size_t j = i; j < count && ways[j].before == ways[i].before; j++) {
			if (j > i && ways[j].after == ways[j - 1].after)
				continue;
			double seen = (double)*map_find(&cells, ways[j].after, ways[j].before);
			double column = (double)*map_find(&columns, ways[j].after, 0);
			squared += seen * seen * (double)count / (row * column);
		}
	}
	squared -= (double)count;
	double degrees = ((double)rows - 1) * ((double)columns.count - 1);
	double least = (double)(rows < columns.count ? rows : columns.count) - 1;
	map_release(&columns);
	map_release(&cells);
	*ret = code >= 0 && degrees > 0 &&
	       squared > degrees + significant_deviations * sqrt(2 * degrees) &&
	       squared > least_effect * (double)count * least;
	return code < 0 ? code : 0;
}

/* Whether CPU time depends on it: a quarter of its variance, beyond what chance gives. */
static bool cpu_depends(const struct way *ways, size_t count, size_t rows)
{
	double sum = 0, squares = 0, between = 0;
	for (size_t i = 0; i < count; i++) {
		sum += (double)ways[i].cpu_ns;
		squares += (double)ways[i].cpu_ns * (double)ways[i].cpu_ns;
	}
	double total = squares - sum * sum / (double)count;
	for (size_t i = 0; i < count;) {
		size_t end = run_end(ways, count, i, true);
		double part = 0;
		for (size_t j = i; j < end; j++)
			part += (double)ways[j].cpu_ns;
		between += part * part / (double)(end - i);
		i = end;
	}
	between -= sum * sum / (double)count;
	if (count < 8 * rows || total <= 0)
		return false;
	double by_chance = (double)(rows - 1) / (double)(count - 1);
	return between / total > 0.25 + by_chance;
}

/* Gives each way in but the first a state of its own. */
static int split(struct build_graph *graph, const struct way *ways, size_t count)
{
	for (size_t i = run_end(ways, count, 0, true); i < count;) {
		size_t end = run_end(ways, count, i, true);
		uint32_t state;
		if (new_state(graph, &state) < 0)
			return -ENOMEM;
		for (; i < end; i++)
			graph->visits[ways[i].visit].state = state;
	}
	return 0;
}

static int split_round(struct build_graph *graph, struct way *ways, bool *ret_changed)
{
	size_t count = graph->visit_count;
	for (size_t i = 0; i < count; i++) {
		const struct build_visit *visit = &graph->visits[i];
		bool ends = build_is_last_visit(graph, i);
		ways[i] = (struct way){ .state = visit->state,
			.before = is_first(graph, i) ? (uint32_t)FROM_START : visit[-1].state,
			.after = ends ? (uint32_t)STATE_END : visit[1].symbol,
			.visit = i,
			.cpu_ns = visit->step->cpu_ns };
	}
	qsort(ways, count, sizeof *ways, compare_ways);
	for (size_t i = 0; i < count;) {
		size_t end = run_end(ways, count, i, false), rows = 0;
		bool depends = false;
		for (size_t j = i; j < end; j = run_end(ways, end, j, true))
			rows++;
		if (rows > 1 && rows <= WAYS_MAX && graph->state_count + rows <= STATES_MAX) {
			int code = after_depends(&ways[i], end - i, rows, &depends);
			if (code == 0 && (depends || cpu_depends(&ways[i], end - i, rows))) {
				*ret_changed = true;
				code = split(graph, &ways[i], end - i);
			}
			if (code < 0)
				return code;
		}
		i = end;
	}
	return 0;
}

static int split_states(struct build_graph *graph)
{
	AUTO_FREE struct way *ways = calloc(graph->visit_count + 1, sizeof *ways);
	if (!ways)
		return -ENOMEM;
	bool is_changed = true;
	int code = 0;
	for (int round = 0; round < SPLIT_ROUNDS && is_changed && code == 0; round++) {
		is_changed = false;
		code = split_round(graph, ways, &is_changed);
	}
	return code;
}

static int add_edge(struct build_edge **edges, size_t *count, size_t *capacity, uint32_t to)
{
	for (size_t i = 0; i < *count; i++)
		if ((*edges)[i].to == to) {
			(*edges)[i].count++;
			return 0;
		}
	if (mem_grow(edges, capacity, *count + 1, sizeof **edges) < 0)
		return -ENOMEM;
	(*edges)[(*count)++] = (struct build_edge){ to, 1 };
	return 0;
}

static int compare_edges(const void *left, const void *right)
{
	const struct build_edge *a = left, *b = right;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* Lists the visits of each state. */
static int order_visits(struct build_graph *graph)
{
	graph->order = calloc(graph->visit_count + 1, sizeof *graph->order);
	if (!graph->order)
		return -ENOMEM;
	for (size_t i = 0; i < graph->visit_count; i++)
		graph->states[graph->visits[i].state].visits++;
	size_t first = 0;
	for (size_t i = 0; i < graph->state_count; i++) {
		graph->states[i].first = first;
		first += graph->states[i].visits;
		graph->states[i].visits = 0;
	}
	for (size_t i = 0; i < graph->visit_count; i++) {
		struct build_state *state = &graph->states[graph->visits[i].state];
		graph->order[state->first + state->visits++] = i;
	}
	return 0;
}

static int connect(struct build_graph *graph)
{
	int code = 0;
	for (size_t i = 0; i < graph->visit_count && code == 0; i++) {
		const struct build_visit *visit = &graph->visits[i];
		struct build_state *state = &graph->states[visit->state];
		bool is_refused = is_refusal(visit->step);
		uint32_t to = build_is_last_visit(graph, i) ? (uint32_t)STATE_END : visit[1].state;
		state->is_refused_at_times |= is_refused;
		code = is_refused ? add_edge(&state->refused_edges, &state->refused_count,
					    &state->refused_capacity, to)
				  : add_edge(&state->edges, &state->edge_count,
					    &state->edge_capacity, to);
		if (code == 0 && is_first(graph, i))
			code = add_edge(&graph->starts, &graph->start_count, &graph->start_capacity,
				visit->state);
	}
	for (size_t i = 0; i < graph->state_count; i++) {
		struct build_state *state = &graph->states[i];
		if (state->edge_count > 1)
			qsort(state->edges, state->edge_count, sizeof *state->edges, compare_edges);
		if (state->refused_count > 1)
			qsort(state->refused_edges, state->refused_count,
				sizeof *state->refused_edges, compare_edges);
	}
	return code;
}

static void describe(struct build_graph *graph)
{
	for (size_t i = 0; i < graph->state_count; i++) {
		struct build_state *state = &graph->states[i];
		if (state->visits == 0)
			continue;
		const struct build_step *step = graph->visits[graph->order[state->first]].step;
		state->op = step->op;
		state->class = step->class;
		state->is_background = step->flags & STEP_BACKGROUND;
		state->site = step->site;
		state->object = step->object;
		state->count = step->count;
		state->region = step->region;
	}
}

int build_graph_make(const struct build_trace *trace, const struct build_group *group,
	bool in_order, struct build_graph *ret)
{
	size_t count = 0;
	for (size_t i = 0; i < group->count; i++)
		count += trace->threads[group->threads[i]].step_count;
	ret->visits = calloc(count + 1, sizeof *ret->visits);
	if (!ret->visits)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->count; i++) {
		const struct build_thread *thread = &trace->threads[group->threads[i]];
		for (size_t j = 0; j < thread->step_count; j++)
			ret->visits[ret->visit_count++] =
				(struct build_visit){ .step = &thread->steps[j], .thread = i };
	}
	int code = add_symbols(trace, ret);
	if (code == 0)
		code = add_phases(ret, group->count, in_order);
	if (code == 0)
		code = split_states(ret);
	if (code == 0)
		code = order_visits(ret);
	if (code == 0)
		code = connect(ret);
	if (code < 0)
		return code;
	describe(ret);
	return build_laws_find(ret);
}
