/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that begins requests, one after each sleep: a load that the program makes for itself. How long it sleeps is how
 * often requests come, which a person can set. So is how often a limit lets others do something.
 */
#include "builder/parts.h"

#include <errno.h>
#include <stdio.h>

enum { BEGUN_LEAST = 20 };

/* Whether a group is one thread that begins most requests, sleeps about once for each, and does little else. */
static bool makes_pace(const struct build *build, uint32_t group, double mean_s)
{
	const struct build_graph *graph = &build->graphs[group];
	uint64_t begun = 0, sleeps = 0;
	double slept_s = 0;
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_step *step = graph->visits[i].step;
		begun += step->op == STEP_BEGIN;
		sleeps += step->op == STEP_SLEEP;
		slept_s += step->op == STEP_SLEEP ? (double)step->waited_ns * 1e-9 : 0;
	}
	return build->groups.items[group].count == 1 && begun * 10 >= build->requests.begun * 9 &&
	       sleeps * 2 >= begun && sleeps <= begun * 2 && slept_s > mean_s * (double)begun / 2;
}

int build_pace_find(struct build *build)
{
	const struct build_requests *requests = &build->requests;
	double sum_s = 0;
	build->pace = (struct build_pace){ .group = BUILD_NONE };
	if (requests->arrivals != BUILD_NONE || requests->begun < BEGUN_LEAST)
		return 0;
	for (size_t i = 0; i < requests->interval_count; i++)
		sum_s += requests->intervals_s[i];
	double mean_s = requests->interval_count > 0 ? sum_s / (double)requests->interval_count : 0;
	for (uint32_t i = 0; i < build->groups.count && mean_s > 0; i++) {
		uint32_t rate;
		if (!makes_pace(build, i, mean_s))
			continue;
		int code = build_add_parameter(build->model, NULL, "rate", 1 / mean_s,
			"requests that the program begins by itself", &rate);
		if (code < 0)
			return code;
		build->model->parameters[rate].unit = MODEL_RATE;
		build->pace = (struct build_pace){ .group = i, .parameter = rate };
		return 0;
	}
	return 0;
}

int build_pace_set(struct build *build, uint32_t group, struct model_dist *sleep)
{
	const struct build_pace *pace = &build->pace;
	if (pace->group != group || sleep->kind == MODEL_NO_TIME)
		return 0;
	const struct model_parameter *rate = &build->model->parameters[pace->parameter];
	return build_formula(build->model, &sleep->scale, "%.17g /s / %s", rate->value, rate->name);
}

static struct build_limiter *find_limiter(struct build *build, uint32_t group)
{
	const struct build_group *found = &build->groups.items[group];
	for (size_t i = 0; i < build->limiters.count; i++)
		if (found->count == 1 && found->threads[0] == build->limiters.items[i].thread)
			return &build->limiters.items[i];
	return NULL;
}

int build_limiter_set(struct build *build, uint32_t group, struct model_fragment *fragment)
{
	struct model_dist *sleep = &fragment->time;
	struct build_limiter *limiter = find_limiter(build, group);
	AUTO_FREE char *note = NULL;
	if (!limiter || sleep->kind == MODEL_NO_TIME)
		return 0;
	uint32_t lock = build->objects[build_class_of(&build->trace, limiter->lock)];
	const char *name = lock == BUILD_NONE ? NULL : build->model->objects[lock].name;
	if (asprintf(&note, "what threads may do behind %s, which sleep until they may",
		    name ? name : "a lock") < 0)
		return -ENOMEM;
	uint32_t rate;
	double recorded = 1 / limiter->interval_s;
	int code = build_add_parameter(build->model, name, "rate", recorded, note, &rate);
	if (code < 0)
		return code;
	build->model->parameters[rate].unit = MODEL_RATE;
	fragment->is_paced = true;
	return build_formula(build->model, &sleep->scale, "%.17g /s / %s", recorded,
		build->model->parameters[rate].name);
}
