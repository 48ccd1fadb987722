/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A queue for each thread of a pool, its own (a gate that another thread opens, an inbox): who fills each of them in turn makes rounds, in
 * each of which every thread of the pool does its part. With more threads there are more of them, not more rounds.
 * Items that are dealt out to such queues one by one, however many these are, make none. What comes over connections that stay with
 * the thread that took them waits in such queues, too.
 */
#include "builder/emit.h"

#include <errno.h>

static bool is_get_of(const struct build *build, const struct build_step *step, uint32_t class)
{
	return step->op == STEP_GET && step->object != BUILD_NONE &&
	       build_class_of(&build->trace, step->object) == class;
}

/* The queue of a class from which a thread alone gets; BUILD_NONE: there is no one such. */
static uint32_t own_queue(const struct build *build, uint32_t thread, uint32_t class)
{
	const struct build_thread *found = &build->trace.threads[thread];
	uint32_t own = BUILD_NONE;
	for (size_t i = 0; i < found->step_count; i++) {
		if (!is_get_of(build, &found->steps[i], class))
			continue;
		if (own != BUILD_NONE && own != found->steps[i].object)
			return BUILD_NONE;
		own = found->steps[i].object;
	}
	return own;
}

/* Whether each thread of a group has its own queue of the class. */
static bool has_own(const struct build *build, uint32_t group, uint32_t class)
{
	const struct build_group *found = &build->groups.items[group];
	for (size_t i = 0; i < found->count; i++) {
		uint32_t own = own_queue(build, found->threads[i], class);
		if (own == BUILD_NONE)
			return false;
		for (size_t j = 0; j < i; j++)
			if (own_queue(build, found->threads[j], class) == own)
				return false;
	}
	return found->count > 1;
}

/* The turns of a loop that always makes as many; 0: it does not. */
static uint64_t constant_turns(const struct build_law *law)
{
	for (size_t i = 1; i < law->run_count; i++)
		if (law->runs[i] != law->runs[0])
			return 0;
	return law->run_count > 0 && law->rest == 0 ? law->runs[0] : 0;
}

/*
 * Whether a loop of the group puts something, once in each turn, into each of the queues of a class that the threads of a pool have of their
 * own. `before`: turns that are made before the loop is come to.
 */
static bool fills_each(const struct build *build, uint32_t group, const struct build_law *law,
	uint32_t owners, uint64_t *ret_before)
{
	const struct build_graph *graph = &build->graphs[group];
	uint64_t turns = constant_turns(law), size = build->pools[owners].size;
	if (turns != size && turns + 1 != size)
		return false;
	*ret_before = size - turns;
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		if (state->visits == size * law->run_count && state->op == STEP_PUT &&
			state->object != BUILD_NONE &&
			has_own(build, owners, build_class_of(&build->trace, state->object)))
			return true;
	}
	return false;
}

static bool is_pool(const struct build *build, uint32_t group)
{
	const struct build_pool *pool = &build->pools[group];
	return pool->parameter != BUILD_NONE && pool->waves == 1 && pool->size > 1;
}

/* Whether some thread fills the own queues of the group's threads in turn: else what comes into each may be its part of a whole. */
static bool are_filled_in_turn(const struct build *build, uint32_t owners)
{
	uint64_t before;
	for (uint32_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; i != owners && j < build->graphs[i].state_count; j++) {
			const struct build_state *state = &build->graphs[i].states[j];
			for (size_t k = 0; k < state->law_count; k++)
				if (state->laws[k].run_count > 1 &&
					fills_each(build, i, &state->laws[k], owners, &before))
					return true;
		}
	return false;
}

uint64_t emit_own_rounds(const struct emitter *e)
{
	uint64_t visits = 0;
	if (!is_pool(e->build, e->index) || !are_filled_in_turn(e->build, e->index))
		return 0;
	for (size_t i = 0; i < e->graph->state_count; i++) {
		const struct build_state *state = &e->graph->states[i];
		if (state->visits > 0 && state->op == STEP_GET && state->object != BUILD_NONE &&
			has_own(e->build, e->index,
				build_class_of(&e->build->trace, state->object)))
			visits += state->visits;
	}
	return visits;
}

int emit_one_for_each(
	const struct emitter *e, const struct build_law *law, struct model_count *count)
{
	uint64_t before;
	for (uint32_t i = 0; i < e->build->groups.count; i++) {
		const struct build_pool *pool = &e->build->pools[i];
		if (i == e->index || !is_pool(e->build, i) ||
			!fills_each(e->build, e->index, law, i, &before))
			continue;
		int code = build_formula(e->model, &count->value, "%s%s",
			e->model->parameters[pool->parameter].name, before ? " - 1" : "");
		return code < 0 ? code : 1;
	}
	return 0;
}

static bool gets_from(const struct build *build, uint32_t thread, uint32_t queue)
{
	const struct build_thread *found = &build->trace.threads[thread];
	for (size_t i = 0; i < found->step_count; i++)
		if (found->steps[i].op == STEP_GET && found->steps[i].object == queue)
			return true;
	return false;
}

int build_own_instances(struct build *build, uint32_t queue, struct model_object *ret)
{
	uint32_t found = BUILD_NONE;
	for (uint32_t i = 0; i < build->groups.count; i++) {
		const struct build_group *group = &build->groups.items[i];
		bool gets = false;
		for (size_t j = 0; j < group->count && !gets; j++)
			gets = gets_from(build, group->threads[j], queue);
		if (gets && found != BUILD_NONE)
			return 0;
		found = gets ? i : found;
	}
	const struct build_pool *pool =
		found == BUILD_NONE ? NULL : build_pool_of(build->pools, &build->groups, found);
	if (pool && pool->parameter != BUILD_NONE)
		return build_pool_started(build->model, pool, &ret->instances);
	if (found != BUILD_NONE)
		ret->instances.value = (double)build->groups.items[found].count;
	return 0;
}
