/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/law.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A way that some of the threads took once, and last, is the end of their loop: that one of n ways that were taken comes last by
 * chance has a probability of 1 / n, which must be at most 1 / ENDS_MIN. What all of them do so, or after which they exit, needs no such test.
 *
 * Dispersion of the runs: their variance over that of a geometric law of the same mean, which is 1 for
 * independent draws. With RUNS_MIN of them a value below a half or above two is no chance.
 */
enum { RUNS_MIN = 12, ENDS_MIN = 20, ONE_OF_ALL_ROUNDS = 1024 };
static const double regular = 0.5, bursty = 2;

/* Where it comes to an operation without a choice: a state, or STATE_END. */
static uint32_t leads_to(const struct build_graph *graph, uint32_t state, enum step_op op)
{
	enum { FAR = 8 };
	for (int i = 0; i < FAR && state != STATE_END; i++) {
		if (graph->states[state].op == op)
			return state;
		if (graph->states[state].edge_count != 1)
			return STATE_END;
		state = graph->states[state].edges[0].to;
	}
	return STATE_END;
}

bool build_leads_to_barrier(const struct build_graph *graph, uint32_t state)
{
	return leads_to(graph, state, STEP_ARRIVE) != STATE_END;
}

uint32_t build_next_barrier(const struct build_graph *graph, uint32_t state)
{
	uint32_t arrival = leads_to(graph, state, STEP_ARRIVE);
	return arrival == STATE_END ? (uint32_t)BUILD_NONE : graph->states[arrival].object;
}

bool build_takes_one_of_all(const struct build_graph *graph, const struct build_state *state,
	uint32_t to, size_t threads)
{
	size_t rounds = threads > 0 ? state->visits / threads : 0, round = 0, taken = 0;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		const struct build_visit *visit = &graph->visits[at];
		bool is_last = build_is_last_visit(graph, at);
		taken += !is_last && visit[1].state == to;
	}
	if (rounds * threads != state->visits || taken != rounds)
		return false;
	/* As many as rounds: one in each, if no two are of the same one. */
	uint64_t seen[ONE_OF_ALL_ROUNDS / 64] = { 0 };
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		const struct build_visit *visit = &graph->visits[at];
		bool is_first =
			i == 0 ||
			graph->visits[graph->order[state->first + i - 1]].thread != visit->thread;
		round = is_first ? 0 : round + 1;
		bool is_last = build_is_last_visit(graph, at);
		if (round >= rounds || is_last)
			return false;
		if (visit[1].state != to || round >= ONE_OF_ALL_ROUNDS)
			continue;
		if (seen[round / 64] >> round % 64 & 1)
			return false;
		seen[round / 64] |= UINT64_C(1) << round % 64;
	}
	return true;
}

struct runs {
	uint64_t *items;
	size_t count, capacity;
	uint64_t rest; /* after the last of each thread */
	size_t threads;
	double mean, dispersion;
	bool is_once, are_equal;
	bool ends_round; /* threads meet then: the run is a part of the round's work */
};

/* The ways out of a state in the order of time, those of a refused GET left out. */
struct choices {
	uint32_t *to, *thread;
	size_t count;
};

static void choices_release(struct choices *choices)
{
	free(choices->to);
	free(choices->thread);
}

static int choices_collect(
	const struct build_graph *graph, const struct build_state *state, struct choices *ret)
{
	ret->to = calloc(state->visits + 1, sizeof *ret->to);
	ret->thread = calloc(state->visits + 1, sizeof *ret->thread);
	if (!ret->to || !ret->thread)
		return -ENOMEM;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		const struct build_visit *visit = &graph->visits[at];
		bool is_refused = is_refusal(visit->step);
		bool is_last = build_is_last_visit(graph, at);
		if (is_refused || is_last)
			continue;
		ret->to[ret->count] = visit[1].state;
		ret->thread[ret->count++] = visit->thread;
	}
	return 0;
}

static int add_run(struct runs *runs, uint64_t run)
{
	if (mem_grow(&runs->items, &runs->capacity, runs->count + 1, sizeof *runs->items) < 0)
		return -ENOMEM;
	runs->items[runs->count++] = run;
	return 0;
}

static void judge(struct runs *runs)
{
	double sum = 0, squares = 0;
	runs->are_equal = true;
	for (size_t i = 0; i < runs->count; i++) {
		sum += (double)runs->items[i];
		squares += (double)runs->items[i] * (double)runs->items[i];
		runs->are_equal &= runs->items[i] == runs->items[0];
	}
	double count = (double)runs->count;
	runs->mean = count > 0 ? sum / count : 0;
	double variance = count > 1 ? (squares - sum * sum / count) / (count - 1) : 0;
	double geometric = runs->mean * runs->mean + runs->mean;
	runs->dispersion = geometric > 0 ? variance / geometric : 1;
}

/* How often the other ways were taken before each time that x was. */
static int collect_runs(const struct choices *choices, uint32_t x, struct runs *ret)
{
	uint64_t run = 0;
	ret->is_once = true;
	for (size_t i = 0; i < choices->count; i++) {
		bool is_last =
			i + 1 == choices->count || choices->thread[i + 1] != choices->thread[i];
		bool is_other = choices->to[i] != x;
		run += is_other;
		if (!is_other && add_run(ret, run) < 0)
			return -ENOMEM;
		ret->is_once &= is_other || is_last;
		ret->rest += is_other && is_last ? run : 0;
		run = is_other && !is_last ? run : 0;
		ret->threads += is_last;
	}
	judge(ret);
	return 0;
}

/* Equal runs of a geometric law of mean m: each further one has a chance of at most 1 / (m + 1). */
static bool are_equal_by_law(const struct runs *runs)
{
	double chance = 1;
	for (size_t i = 1; i < runs->count && chance >= 0.01; i++)
		chance /= runs->mean + 1;
	return runs->are_equal && chance < 0.01;
}

static bool is_law(const struct runs *runs)
{
	if (runs->count == 0 || runs->mean <= 0)
		return false;
	return runs->is_once || runs->ends_round || are_equal_by_law(runs) ||
	       (runs->count >= RUNS_MIN &&
		       (runs->dispersion < regular || runs->dispersion > bursty));
}

/* The rest of the choices once those of x are laws of their own. */
static void drop_choices(struct choices *choices, uint32_t x)
{
	size_t kept = 0;
	for (size_t i = 0; i < choices->count; i++)
		if (choices->to[i] != x) {
			choices->to[kept] = choices->to[i];
			choices->thread[kept++] = choices->thread[i];
		}
	choices->count = kept;
}

static bool has_law(const struct build_state *state, uint32_t to)
{
	for (size_t i = 0; i < state->law_count; i++)
		if (state->laws[i].to == to)
			return true;
	return false;
}

/* The end comes first, then that of a round, then the most regular. */
static bool is_better(const struct runs *a, const struct runs *b)
{
	if (a->is_once != b->is_once)
		return a->is_once;
	if (a->ends_round != b->ends_round)
		return a->ends_round;
	return a->dispersion < b->dispersion;
}

/* Finds one more law. 1: it did, 0: there is none. */
static int find_law(
	const struct build_graph *graph, struct build_state *state, struct choices *choices)
{
	struct runs best = { 0 };
	uint32_t to = STATE_END;
	int code = 0;
	for (size_t i = 0; i < state->edge_count && code == 0; i++) {
		struct runs runs = { 0 };
		if (state->edges[i].to == STATE_END || has_law(state, state->edges[i].to))
			continue;
		code = collect_runs(choices, state->edges[i].to, &runs);
		runs.is_once &= runs.count == runs.threads || choices->count >= ENDS_MIN ||
				leads_to(graph, state->edges[i].to, STEP_EXIT) != STATE_END;
		runs.ends_round = build_leads_to_barrier(graph, state->edges[i].to);
		if (code == 0 && is_law(&runs) && (to == STATE_END || is_better(&runs, &best))) {
			struct runs swap = best;
			best = runs;
			runs = swap;
			to = state->edges[i].to;
		}
		free(runs.items);
	}
	if (code < 0 || to == STATE_END) {
		free(best.items);
		return code;
	}
	state->laws[state->law_count++] = (struct build_law){ .to = to,
		.is_once = best.is_once,
		.runs = best.items,
		.rest = best.rest,
		.threads = best.threads,
		.run_count = best.count,
		.run_capacity = best.capacity };
	drop_choices(choices, to);
	return 1;
}

/* Then a thread's own runs say nothing. */
static bool is_one_of_all(const struct build_graph *graph, const struct build_state *state)
{
	enum { ROUNDS_MIN = 4 };
	size_t threads = graph->visit_count > 0
				 ? (size_t)graph->visits[graph->visit_count - 1].thread + 1
				 : 0;
	return state->op == STEP_ARRIVE && state->edge_count == 2 && threads > 1 &&
	       state->visits >= ROUNDS_MIN * threads && state->edges[0].to != STATE_END &&
	       state->edges[1].to != STATE_END &&
	       build_takes_one_of_all(graph, state, state->edges[1].to, threads);
}

int build_laws_find(struct build_graph *graph)
{
	int code = 0;
	for (size_t i = 0; i < graph->state_count && code >= 0; i++) {
		struct build_state *state = &graph->states[i];
		struct choices choices = { 0 };
		if (state->edge_count < 2 || is_one_of_all(graph, state))
			continue;
		code = choices_collect(graph, state, &choices);
		while (code >= 0 && state->law_count < LAWS_MAX) {
			code = find_law(graph, state, &choices);
			if (code <= 0)
				break;
		}
		choices_release(&choices);
	}
	return code < 0 ? code : 0;
}
