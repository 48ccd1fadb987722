/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A state of a graph as a fragment: its operation, on what, its times and counts. Where it leads to is emit.c's. */
#include "builder/emit.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static enum model_op op_of(const struct build_state *state)
{
	static const enum model_op ops[STEP_OPS] = { [STEP_LOCK] = MODEL_LOCK,
		[STEP_READ_LOCK] = MODEL_READ_LOCK,
		[STEP_UNLOCK] = MODEL_UNLOCK,
		[STEP_ARRIVE] = MODEL_ARRIVE,
		[STEP_ACQUIRE] = MODEL_ACQUIRE,
		[STEP_POST] = MODEL_POST,
		[STEP_COND_WAIT] = MODEL_SLEEP,
		[STEP_SLEEP] = MODEL_SLEEP,
		[STEP_IO] = MODEL_SLEEP,
		[STEP_DISK] = MODEL_IO,
		[STEP_SPAWN] = MODEL_SPAWN,
		[STEP_JOIN] = MODEL_JOIN,
		[STEP_BEGIN] = MODEL_BEGIN,
		[STEP_END] = MODEL_END,
		[STEP_TICK] = MODEL_TICK,
		[STEP_EXIT] = MODEL_COMPUTE,
		[STEP_GET] = MODEL_GET,
		[STEP_TRY_GET] = MODEL_TRY_GET,
		[STEP_PUT] = MODEL_PUT,
		[STEP_CLOSE] = MODEL_CLOSE,
		[STEP_FAIL] = MODEL_FAIL,
		[STEP_TAKE] = MODEL_TAKE,
		[STEP_GIVE] = MODEL_GIVE };
	return ops[state->op];
}

static bool is_about_group(const struct build_state *state)
{
	return state->op == STEP_SPAWN || state->op == STEP_JOIN;
}

static uint32_t model_object_of(const struct emitter *e, const struct build_state *state)
{
	struct build_step step = { .op = state->op, .object = state->object };
	uint32_t object = build_object_of(&e->build->trace, &step);
	if (object == BUILD_NONE || is_about_group(state))
		return object == BUILD_NONE ? (uint32_t)MODEL_NONE : object;
	return e->build->objects[object];
}

/* "lock cache@main.c:12" */
static char *name_state(const struct emitter *e, const struct build_state *state)
{
	uint32_t pid = e->build->trace.threads[e->group->threads[0]].pid;
	AUTO_FREE char *place = state->site ? build_place_name(e->build, pid, state->site) : NULL;
	uint32_t object = model_object_of(e, state);
	const char *subject = "", *word = state->op == STEP_EXIT ? "end"
					  : state->op == STEP_IO ? "io"
								 : model_op_word(op_of(state));
	if (state->op == STEP_DISK && state->class != REQUEST_READ)
		word = build_disk_class_name((enum request_class)state->class);
	if (is_about_group(state) && object != MODEL_NONE)
		subject = e->build->groups.items[object].name;
	else if (object != MODEL_NONE)
		subject = e->model->objects[object].name;
	char *text = NULL;
	int code = asprintf(&text, "%s%s%.100s%s%.80s", word, *subject ? " " : "", subject,
		place ? " @" : "", place ? place : "");
	return code < 0 ? NULL : text;
}

/* Of what is less than a thousandth of all CPU time the mean is enough, and easier to read. */
static void fix_small(const struct emitter *e, const struct build_state *state,
	const double *values, struct model_dist *cpu)
{
	enum { SMALL_OF = 1000 };
	double sum = 0;
	for (size_t i = 0; i < state->visits; i++)
		sum += values[i];
	if (cpu->kind != MODEL_QUANTILES || sum * SMALL_OF > e->work.program_s)
		return;
	*cpu = (struct model_dist){ .kind = MODEL_FIXED, .a.value = sum / (double)state->visits };
}

static int set_course(
	const struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	struct model_course *ret = &fragment->course;
	if (state->factor_count == 0)
		return 0;
	fragment->visits.value = (double)state->visits;
	ret->factors = model_alloc(e->model, state->factor_count, sizeof *ret->factors);
	if (!ret->factors)
		return -ENOMEM;
	ret->factor_count = state->factor_count;
	for (uint32_t i = 0; i < ret->factor_count; i++)
		ret->factors[i] = state->factors[i];
	return state->are_pieces ? build_formula(e->model, &ret->threads, "%s", emit_pool_size(e))
				 : 0;
}

/* CPU time before the operation, and where it takes time itself that. */
static int fill_times(struct emitter *e, const struct build_state *state, uint32_t index)
{
	AUTO_FREE double *values = calloc(state->visits + 1, sizeof *values);
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < state->visits; i++)
		values[i] =
			(double)e->graph->visits[e->graph->order[state->first + i]].step->cpu_ns *
			1e-9;
	struct model_fragment *fragment = emit_fragment(e, index);
	int code = build_dist(e->model, values, state->visits, &fragment->cpu);
	fix_small(e, state, values, &fragment->cpu);
	if (code == 0)
		code = build_share(e->build, &e->work, e->index, state, &fragment->cpu);
	if (e->is_batch && fragment->cpu.kind == MODEL_QUANTILES)
		fragment->visits.value = (double)state->visits;
	if (code == 0 && fragment->cpu.kind != MODEL_NO_TIME)
		code = set_course(e, state, fragment);
	if (code < 0 || fragment->op != MODEL_SLEEP)
		return code;
	for (size_t i = 0; i < state->visits; i++)
		values[i] = (double)e->graph->visits[e->graph->order[state->first + i]]
				    .step->waited_ns *
			    1e-9;
	code = build_dist(e->model, values, state->visits, &fragment->time);
	if (code == 0 && state->op == STEP_SLEEP)
		code = build_pace_set(e->build, e->index, &fragment->time);
	if (code == 0 && state->op == STEP_SLEEP)
		code = build_limiter_set(e->build, e->index, fragment);
	if (code == 0 && fragment->time.kind == MODEL_NO_TIME)
		fragment->op = MODEL_COMPUTE;
	return code;
}

/* The pool whose threads alone take what is put there, if those who put it do not belong to it; NULL: none. */
static const struct build_pool *find_takers(const struct emitter *e, uint32_t object)
{
	const struct build *build = e->build;
	const struct build_pool *found = NULL;
	for (uint32_t i = 0; i < build->groups.count; i++) {
		const struct build_pool *pool = build_pool_of(build->pools, &build->groups, i);
		for (size_t j = 0; j < build->graphs[i].state_count; j++) {
			const struct build_state *state = &build->graphs[i].states[j];
			if (state->visits == 0 ||
				(state->op != STEP_GET && state->op != STEP_TRY_GET) ||
				build_class_of(&build->trace, state->object) != object)
				continue;
			if (!pool || pool == e->pool || (found && found != pool))
				return NULL;
			found = pool;
		}
	}
	return found;
}

static bool has_requests(const struct build_thread *thread)
{
	for (size_t i = 0; i < thread->step_count; i++)
		if (thread->steps[i].op == STEP_BEGIN || thread->steps[i].op == STEP_END ||
			thread->steps[i].flags & STEP_FROM_OUTSIDE)
			return true;
	return false;
}

/* Whether who begins requests there ends them itself: then what it puts is a part of the work. */
static bool keeps_requests(const struct emitter *e)
{
	bool are_kept = false;
	for (size_t i = 0; i < e->group->count; i++) {
		const struct build_thread *thread = &e->build->trace.threads[e->group->threads[i]];
		if (!thread->keeps_requests && has_requests(thread))
			return false;
		are_kept |= thread->keeps_requests;
	}
	return are_kept;
}

/* A signal to threads of a pool is for more of them if there are more. */
static int fill_signals(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	uint32_t object = build_class_of(&e->build->trace, state->object);
	const struct build_pool *pool = find_takers(e, object);
	double sum = 0;
	fragment->is_plain = pool || keeps_requests(e);
	if (!pool)
		return 0;
	for (size_t i = 0; i < state->visits; i++)
		sum += e->graph->visits[e->graph->order[state->first + i]].step->count;
	return build_formula(e->model, &fragment->count.value, "%.6g * %s",
		sum / (double)state->visits / pool->size,
		e->model->parameters[pool->parameter].name);
}

/* Gets and puts of a queue, in all groups. */
static void count_flow(
	const struct build *build, uint32_t object, uint64_t *ret_gets, uint64_t *ret_puts)
{
	*ret_gets = *ret_puts = 0;
	for (uint32_t i = 0; i < build->groups.count; i++)
		for (size_t j = 0; j < build->graphs[i].state_count; j++) {
			const struct build_state *state = &build->graphs[i].states[j];
			if (state->object != object)
				continue;
			*ret_gets += state->op == STEP_GET ? state->visits : 0;
			*ret_puts += state->op == STEP_PUT ? state->visits : 0;
		}
}

/* A gate opens for each of those who pass it. */
static int fill_opening(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	uint64_t gets, puts;
	count_flow(e->build, state->object, &gets, &puts);
	uint64_t each = puts > 0 ? (gets + puts / 2) / puts : 1;
	const struct build_pool *pool =
		find_takers(e, build_class_of(&e->build->trace, state->object));
	fragment->is_plain = true;
	fragment->count.value.value = (double)each;
	return pool && pool->size == each && pool->waves == 1
		       ? build_formula(e->model, &fragment->count.value, "%s",
				 e->model->parameters[pool->parameter].name)
		       : 0;
}

static int fill_items(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	AUTO_FREE uint64_t *counts = calloc(state->visits + 1, sizeof *counts);
	if (!counts)
		return -ENOMEM;
	bool is_always_one = true;
	for (size_t i = 0; i < state->visits; i++) {
		counts[i] = e->graph->visits[e->graph->order[state->first + i]].step->count;
		is_always_one &= counts[i] == 1;
	}
	fragment->is_for_all = state->count == 0 && e->model->objects[fragment->object].are_calls;
	if (e->model->objects[fragment->object].are_calls) {
		fragment->is_plain = true;
		return 0;
	}
	if (e->model->objects[fragment->object].are_signals)
		return fill_signals(e, state, fragment);
	if (e->build->trace.objects[state->object].is_gate)
		return fill_opening(e, state, fragment);
	fragment->is_plain = state->op == STEP_PUT && keeps_requests(e);
	if (is_always_one)
		return 0;
	fragment->is_plain = true; /* a request goes with one item */
	return emit_counts(e, counts, state->visits, fragment);
}

/* How many requests of the state's class; the model has only classes of which requests were seen. */
static int fill_requests(
	struct emitter *e, const struct build_state *state, struct model_fragment *fragment)
{
	AUTO_FREE uint64_t *counts = calloc(state->visits + 1, sizeof *counts);
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < state->visits; i++)
		counts[i] = e->graph->visits[e->graph->order[state->first + i]].step->count;
	fragment->other = 0;
	for (size_t i = 0; i < state->class; i++)
		fragment->other += e->build->disk.services[i].count > 0;
	fragment->is_background = state->is_background;
	return emit_counts(e, counts, state->visits, fragment);
}

/* Whether most threads of the group that is started there have the request of who starts them. */
static bool starts_with_request(const struct emitter *e, const struct build_state *state)
{
	const struct build_group *group = &e->build->groups.items[state->object];
	size_t with = 0;
	for (size_t i = 0; i < group->count; i++)
		with += e->build->trace.threads[group->threads[i]].has_request_at_first;
	return 2 * with > group->count;
}

static int fill_count(struct emitter *e, const struct build_state *state, uint32_t index)
{
	struct model_fragment *fragment = emit_fragment(e, index);
	if (state->op == STEP_DISK)
		return fill_requests(e, state, fragment);
	if (state->op != STEP_SPAWN && state->op != STEP_PUT && state->op != STEP_GET &&
		state->op != STEP_TICK)
		return 0;
	if (state->op == STEP_PUT)
		return fill_items(e, state, fragment);
	if (build_is_batch_get(&e->build->trace, state))
		return emit_batch_get(e, state, fragment);
	fragment->count.value.value = state->count == 1 ? 0 : state->count;
	if (state->op != STEP_SPAWN)
		return 0;
	fragment->hands_on = starts_with_request(e, state);
	const struct build_pool *pool = &e->build->pools[state->object];
	return pool->parameter == BUILD_NONE
		       ? 0
		       : build_pool_started(e->model, pool, &fragment->count.value);
}

int emit_state(struct emitter *e, uint32_t state_index)
{
	const struct build_state *state = &e->graph->states[state_index];
	AUTO_FREE char *name = name_state(e, state);
	uint32_t index;
	int code = name ? emit_add_fragment(e, name, &index) : -ENOMEM;
	if (code < 0)
		return code;
	e->fragments[state_index] = index;
	struct model_fragment *fragment = emit_fragment(e, index);
	fragment->op = op_of(state);
	fragment->object = model_object_of(e, state);
	if (state->region != BUILD_NONE && e->build->trace.objects[state->region].name) {
		uint32_t part;
		code = model_add_part(e->model, e->build->trace.objects[state->region].name, &part);
		fragment->part = part;
	}
	if (code == 0)
		code = fill_times(e, state, index);
	return code < 0 ? code : fill_count(e, state, index);
}
