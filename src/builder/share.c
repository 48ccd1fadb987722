/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that a team cuts into equal parts: what each thread of a pool does from one barrier to the next, before that or before what it
 * does once in each round without a lock, or once in its life, if that is most of what it does. With n threads instead of the recorded m it takes m / n of the
 * time. Threads beside the pool that arrive at the same barrier have such a part if it is as long as the pool's, within a factor
 * of 2. Who starts a team has one as long as the others'; what it takes longer is its own.
 */
#include "builder/parts.h"

#include <errno.h>
#include <stdio.h>

enum { SMALL_OF = 10 }; /* less than a tenth of the work is no matter */

bool build_is_rounds(const struct build_trace *trace, const struct build_graph *graph,
	const struct build_state *state, const struct build_law *law)
{
	uint64_t with_barrier = 0, turns = 0;
	for (size_t i = 0; i + 1 < state->visits; i++) {
		size_t from = graph->order[state->first + i],
		       to = graph->order[state->first + i + 1];
		if (graph->visits[from].thread != graph->visits[to].thread ||
			graph->visits[from + 1].state == law->to)
			continue;
		bool meets = false;
		for (size_t j = from; j < to && !meets; j++)
			meets = build_meets(trace, graph->visits[j].step);
		with_barrier += meets;
		turns++;
	}
	return turns > 0 && with_barrier * 2 >= turns;
}

static double mean_cpu(const struct build_graph *graph, const struct build_state *state)
{
	double sum = 0;
	for (size_t i = 0; i < state->visits; i++)
		sum += (double)graph->visits[graph->order[state->first + i]].step->cpu_ns;
	return state->visits > 0 ? sum / (double)state->visits : 0;
}

/* Mean CPU time of the pools before the same operation at the same call site (0: at any); 0: they have none. */
static double pool_cpu_at(const struct build *build, const struct build_state *like, uint64_t site)
{
	double sum = 0, visits = 0;
	for (size_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; j < build->graphs[i].state_count; j++) {
			const struct build_state *state = &build->graphs[i].states[j];
			if (build->pools[i].parameter == BUILD_NONE || state->op != like->op ||
				state->visits == 0 || state->object != like->object ||
				(site && state->site != site))
				continue;
			sum += mean_cpu(&build->graphs[i], state) * (double)state->visits;
			visits += (double)state->visits;
		}
	return visits > 0 ? sum / visits : 0;
}

/* Of two phases between which one barrier lies twice, one may be shared and the other not. */
static double pool_cpu(const struct build *build, const struct build_state *state)
{
	double there = pool_cpu_at(build, state, state->site);
	return there > 0 ? there : pool_cpu_at(build, state, 0);
}

/* Whether nothing else that a thread of the group does comes between two barriers, or its begin and one. */
static bool is_all_between_barriers(
	const struct build_graph *graph, const struct build_state *state)
{
	for (size_t i = 0; i < state->visits; i++) {
		const struct build_visit *visit = &graph->visits[graph->order[state->first + i]];
		bool is_first = visit == graph->visits || visit[-1].thread != visit->thread;
		if (!is_first && visit[-1].step->op != STEP_ARRIVE &&
			visit[-1].step->op != STEP_SPAWN)
			return false;
	}
	return true;
}

int build_common_work(
	struct build *build, double whole, const char *threads, double recorded, char **ret)
{
	uint32_t own = model_find_parameter(build->model, "own_work");
	int code = own == MODEL_NONE ? model_add_parameter(build->model, "own_work", &own) : 0;
	if (code < 0)
		return code;
	build->model->parameters[own].note = "0: threads share work; 1: each has its own";
	int length = asprintf(ret, "(%.10g + own_work * %.10g * (%s - %.10g))", whole,
		whole / recorded, threads, recorded);
	return length < 0 ? -ENOMEM : 0;
}

/* Where the thread meets others next, if that is before the same state again; NULL: nothing does. */
static const struct build_step *next_meeting(
	const struct build_trace *trace, const struct build_graph *graph, size_t at)
{
	const struct build_visit *visit = &graph->visits[at];
	for (size_t i = at + 1; i < graph->visit_count; i++) {
		const struct build_visit *next = &graph->visits[i];
		if (next->thread != visit->thread || next->state == visit->state)
			return NULL;
		if (build_meets(trace, next->step))
			return next->step;
	}
	return NULL;
}

/* Whether a thread holds a lock before a visit that it has taken since it last met others. */
static bool is_locked(const struct build_trace *trace, const struct build_graph *graph, size_t at)
{
	int held = 0;
	for (size_t i = at; i-- > 0 && graph->visits[i].thread == graph->visits[at].thread;) {
		uint8_t op = graph->visits[i].step->op;
		if (build_meets(trace, graph->visits[i].step))
			break;
		held += (op == STEP_LOCK || op == STEP_READ_LOCK) - (op == STEP_UNLOCK);
	}
	return held > 0;
}

/*
 * The barrier, or gate, at which the rounds end in each of which every thread of a group does this once, without a lock; BUILD_NONE: it is not so.
 * A loop's turns are shared out by their number.
 */
static uint32_t barrier_of_rounds(
	const struct build *build, uint32_t group, const struct build_state *state)
{
	const struct build_graph *graph = &build->graphs[group];
	size_t threads = build->groups.items[group].count;
	uint32_t barrier = BUILD_NONE;
	if (state->op == STEP_ARRIVE)
		return is_all_between_barriers(graph, state) ? state->object : (uint32_t)BUILD_NONE;
	if (state->visits < 2 * threads || state->visits % threads > 0)
		return BUILD_NONE;
	for (size_t i = 0; i < state->visits; i++) {
		size_t at = graph->order[state->first + i];
		const struct build_step *meeting = next_meeting(&build->trace, graph, at);
		if (!meeting || (i > 0 && meeting->object != barrier) ||
			is_locked(&build->trace, graph, at))
			return BUILD_NONE;
		barrier = meeting->object;
	}
	return barrier;
}

/* How many meet there, as a formula; NULL: always as many. */
static const char *team_size(const struct build *build, uint32_t group, uint32_t barrier)
{
	if (!build->trace.objects[barrier].is_gate)
		return build->model->objects[build->objects[barrier]].size.formula;
	const struct build_pool *pool = build_pool_of(build->pools, &build->groups, group);
	return pool ? build->model->parameters[pool->parameter].name : NULL;
}

/* Mean CPU time of a group before the same operation at the same call site; 0: none. */
static double cpu_like(const struct build *build, uint32_t group, const struct build_state *like)
{
	double sum = 0, visits = 0;
	for (size_t i = 0; i < build->graphs[group].state_count; i++) {
		const struct build_state *state = &build->graphs[group].states[i];
		if (state->visits == 0 || state->op != like->op || state->site != like->site ||
			state->object != like->object)
			continue;
		sum += mean_cpu(&build->graphs[group], state) * (double)state->visits;
		visits += (double)state->visits;
	}
	return visits > 0 ? sum / visits : 0;
}

/*
 * Who starts a team, the first of it, may have less to do than the others (the short rows of a triangle): `part` of what each would have
 * if all had as much; 1: as good as the others, or more.
 */
static double part_of_first(const struct build *build, uint32_t group,
	const struct build_state *state, double pools, double recorded)
{
	const double alike = 0.95;
	const struct build_pool *team = build_pool_of(build->pools, &build->groups, group);
	if (!team || team->starter == BUILD_NONE)
		return 1;
	for (size_t i = 0; i < build->groups.count; i++)
		if (&build->pools[i] != team && build->pools[i].parameter != BUILD_NONE &&
			build->pools[i].starter == team->starter)
			return 1; /* several kinds: whose the rest is, is not known */
	double first = cpu_like(build, team->starter, state);
	if (!(first > 0) || first > alike * pools)
		return 1;
	return first * recorded / (first + (recorded - 1) * pools);
}

/*
 * With n threads the first one's part is 1 / (1 + q (n - 1) / (m - 1)), which it was with m: of a triangle 1 / n. The others' is such that all of
 * them together do as much as before.
 */
static int skew(char **ret, bool is_first, double part, double recorded, const char *threads)
{
	double rest = recorded - 1, q = 1 / part - 1;
	double others = (rest + q * recorded) / (rest + q * rest);
	int length =
		is_first ? asprintf(ret, " / (1 + %.6g * (%s - 1)) / %.6g", q / rest, threads, part)
			 : asprintf(ret, " * (%.6g + %s) / (%.6g + %s) / %.6g", rest / q, threads,
				   rest / q - 1, threads, others);
	return length < 0 ? -ENOMEM : 0;
}

/* Who starts a team does work of its own before its share of the team's. */
static int share_round(struct build *build, uint32_t group, const struct build_state *state,
	uint32_t barrier, struct model_dist *cpu)
{
	struct model *model = build->model;
	const char *formula = team_size(build, group, barrier);
	double mean = mean_cpu(&build->graphs[group], state), pools = pool_cpu(build, state),
	       recorded;
	const struct model_value size = { .formula = formula };
	if (!formula || model_evaluate(model, &size, MODEL_NUMBER, NULL, &recorded, NULL) < 0)
		return 0;
	bool is_pool = build->pools[group].parameter != BUILD_NONE;
	bool is_starter = !is_pool && build_pool_of(build->pools, &build->groups, group);
	double part = recorded > 1 ? part_of_first(build, group, state, pools, recorded) : 1;
	bool is_equal = mean > pools / 2 && (mean < pools * 2 || is_starter);
	if (!is_pool && !is_equal && part == 1)
		return 0;
	double own = is_starter && part == 1 && mean > pools ? 1 - pools / mean : 0;
	build->guessed_shares++;
	AUTO_FREE char *threads = NULL, *work = NULL, *skewed = NULL;
	if (asprintf(&threads, "(%s)", formula) < 0 ||
		build_common_work(build, (1 - own) * recorded, threads, recorded, &work) < 0 ||
		(part < 1 && skew(&skewed, !is_pool, part, recorded, threads) < 0))
		return -ENOMEM;
	return own > 0 ? build_formula(model, &cpu->scale, "%.6g + %s / %s", own, work, threads)
		       : build_formula(model, &cpu->scale, "%s / %s%s", work, threads,
				 skewed ? skewed : "");
}

/* CPU time of what each thread does once; 0 for other states. */
static double once_cpu_ns(
	const struct build *build, uint32_t group, const struct build_state *state)
{
	const struct build_graph *graph = &build->graphs[group];
	if (state->visits != build->groups.items[group].count)
		return 0;
	for (size_t i = 1; i < state->visits; i++)
		if (graph->visits[graph->order[state->first + i]].thread ==
			graph->visits[graph->order[state->first + i - 1]].thread)
			return 0;
	return mean_cpu(graph, state) * (double)state->visits;
}

struct build_work build_work_of(const struct build *build, uint32_t group)
{
	const struct build_graph *graph = &build->graphs[group];
	struct build_work work = { .program_s = (double)build_trace_cpu_ns(&build->trace) * 1e-9 };
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		work.group_ns += mean_cpu(graph, state) * (double)state->visits;
		work.once_ns += state->visits > 0 ? once_cpu_ns(build, group, state) : 0;
	}
	return work;
}

/*
 * Where most CPU time of a pool is in pieces that each thread does once, these are its work, of which nothing else
 * that was recorded tells how much there is (it is handed out by atomics, say).
 */
static int share_piece(struct build *build, const struct build_work *work, uint32_t group,
	const struct build_state *state, struct model_dist *cpu)
{
	const struct build_pool *pool = &build->pools[group];
	double piece_ns = once_cpu_ns(build, group, state);
	if (pool->parameter == BUILD_NONE || piece_ns <= 0)
		return 0;
	if (work->once_ns < work->group_ns / 2 || piece_ns < work->group_ns / SMALL_OF)
		return 0;
	build->guessed_shares++;
	AUTO_FREE char *whole = NULL;
	const char *threads = build->model->parameters[pool->parameter].name;
	int code = build_common_work(build, pool->size, threads, pool->size, &whole);
	return code < 0 ? code
			: build_formula(build->model, &cpu->scale, "%s / %s", whole, threads);
}

int build_share(struct build *build, const struct build_work *work, uint32_t group,
	const struct build_state *state, struct model_dist *cpu)
{
	if (cpu->kind == MODEL_NO_TIME)
		return 0;
	double whole_ns = mean_cpu(&build->graphs[group], state) * (double)state->visits;
	bool is_small = whole_ns < work->group_ns / SMALL_OF;
	uint32_t barrier = is_small && state->op != STEP_ARRIVE
				   ? (uint32_t)BUILD_NONE
				   : barrier_of_rounds(build, group, state);
	if (barrier != BUILD_NONE)
		return share_round(build, group, state, barrier, cpu);
	return state->op == STEP_ARRIVE ? 0 : share_piece(build, work, group, state, cpu);
}
