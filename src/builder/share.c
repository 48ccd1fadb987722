/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that a team cuts into equal parts: what each thread of a pool does from one barrier to the next,
 * or from its start to its end, while no queue and no loop of its own tells how much there is. With n
 * threads instead of the recorded m it takes m / n of the time. Threads beside the pool that arrive at the same
 * barrier have such a part if it is as long as the pool's, within a factor of 2.
 */
#include "builder/parts.h"

#include <errno.h>
#include <inttypes.h>

bool build_is_rounds(const struct build_graph *graph, const struct build_law *law)
{
	uint64_t arrivals = 0, turns = 0;
	for (size_t i = 0; i < graph->visit_count; i++)
		arrivals += graph->visits[i].step->op == STEP_ARRIVE;
	for (size_t i = 0; i < law->run_count; i++)
		turns += law->runs[i];
	return arrivals * 2 >= turns;
}

/* Whether something else tells how much there is to do: items, or a loop whose turns are shared. */
static bool has_other_measure(const struct build_graph *graph)
{
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		if (state->visits == 0)
			continue;
		if (state->op == STEP_GET || state->op == STEP_TRY_GET || state->op == STEP_PUT ||
			state->op == STEP_ACQUIRE || state->op == STEP_LOCK ||
			state->op == STEP_READ_LOCK || state->op == STEP_IO ||
			state->op == STEP_DISK || state->op == STEP_SLEEP)
			return true;
		for (size_t j = 0; j < state->law_count; j++)
			if (state->laws[j].is_once && !build_is_rounds(graph, &state->laws[j]))
				return true;
	}
	return false;
}

static double mean_cpu(const struct build_graph *graph, const struct build_state *state)
{
	double sum = 0;
	for (size_t i = 0; i < state->visits; i++)
		sum += (double)graph->visits[graph->order[state->first + i]].step->cpu_ns;
	return state->visits > 0 ? sum / (double)state->visits : 0;
}

/* Mean CPU time before a barrier of the pools that arrive there; 0: none. */
static double pool_cpu(const struct build *build, uint32_t barrier)
{
	double sum = 0, visits = 0;
	for (size_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; j < build->graphs[i].state_count; j++) {
			const struct build_state *state = &build->graphs[i].states[j];
			if (build->pools[i].parameter == BUILD_NONE || state->op != STEP_ARRIVE ||
				state->visits == 0 || state->object != barrier)
				continue;
			sum += mean_cpu(&build->graphs[i], state) * (double)state->visits;
			visits += (double)state->visits;
		}
	return visits > 0 ? sum / visits : 0;
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

/* What a wave's thread does from its begin to its end. */
static int share_life(struct build *build, uint32_t group, struct model_dist *cpu)
{
	const struct build_pool *pool = &build->pools[group];
	if (pool->parameter == BUILD_NONE || has_other_measure(&build->graphs[group]))
		return 0;
	build->guessed_shares++;
	return build_formula(build->model, &cpu->scale, "%" PRIu32 " / %s", pool->size,
		build->model->parameters[pool->parameter].name);
}

/* Who starts a team does work of its own before its share of the team's. */
static int share_round(struct build *build, uint32_t group, const struct build_state *state,
	struct model_dist *cpu)
{
	struct model *model = build->model;
	const struct build_graph *graph = &build->graphs[group];
	const struct model_value *size = &model->objects[build->objects[state->object]].size;
	double mean = mean_cpu(graph, state), pools = pool_cpu(build, state->object), recorded;
	bool is_pool = build->pools[group].parameter != BUILD_NONE;
	bool is_starter = !is_pool && build_pool_of(build->pools, &build->groups, group);
	bool is_equal = mean > pools / 2 && (mean < pools * 2 || is_starter);
	if (!size->formula || (!is_pool && !is_equal) || !is_all_between_barriers(graph, state) ||
		model_evaluate(model, size, MODEL_NUMBER, NULL, &recorded, NULL) < 0)
		return 0;
	double own = is_starter && mean > pools ? 1 - pools / mean : 0;
	build->guessed_shares++;
	return own > 0 ? build_formula(model, &cpu->scale, "%.6g + %.6g / (%s)", own,
				 (1 - own) * recorded, size->formula)
		       : build_formula(model, &cpu->scale, "%.0f / (%s)", recorded, size->formula);
}

int build_share(struct build *build, uint32_t group, const struct build_state *state,
	struct model_dist *cpu)
{
	if (cpu->kind == MODEL_NO_TIME)
		return 0;
	if (state->op == STEP_EXIT)
		return share_life(build, group, cpu);
	return state->op == STEP_ARRIVE ? share_round(build, group, state, cpu) : 0;
}
