/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/pool.h"

#include "base/path.h"
#include "builder/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool build_is_openmp(const struct build_trace *trace, uint32_t pid, uint64_t site)
{
	static const char *const names[] = { "libgomp.so", "libomp.so", "libiomp5.so" };
	const struct build_module *module = build_find_module(trace, pid, site);
	const char *file = module ? path_file_name(module->path) : "";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(file, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Sets how many one wave has and how many there were: 0 waves if they differ. */
static void count_waves(const struct build_trace *trace, uint32_t group, struct build_pool *ret)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_SPAWN || step->object != group)
				continue;
			if (ret->waves > 0 && step->count != ret->size) {
				ret->waves = 0;
				return;
			}
			ret->size = step->count;
			ret->waves++;
		}
}

static void find_pool(const struct build_trace *trace, const struct build_groups *groups,
	uint32_t group, struct build_pool *ret)
{
	const struct build_group *threads = &groups->items[group];
	const struct build_thread *first = &trace->threads[threads->threads[0]];
	*ret = (struct build_pool){ .parameter = BUILD_NONE, .starter = BUILD_NONE };
	if (threads->first_count > 0 || first->parent == BUILD_NONE)
		return;
	count_waves(trace, group, ret);
	if ((size_t)ret->size * ret->waves != threads->count)
		ret->waves = 0;
	if (ret->waves == 0)
		return;
	ret->is_alike = threads->has_starter;
	if (ret->waves == 1 &&
		(ret->is_alike || build_is_openmp(trace, first->pid, first->spawn_site))) {
		ret->starter = groups->of_thread[first->parent];
		ret->size++;
	}
	if (ret->size < 2)
		ret->waves = 0;
}

static int add_parameter(
	struct model *model, const char *group, bool is_only_one, struct build_pool *pool)
{
	bool is_team = pool->starter != BUILD_NONE;
	const char *what = !is_only_one || is_team ? "threads" : "workers";
	AUTO_FREE char *note = NULL;
	if (asprintf(&note,
		    is_team ? "threads of the team: who starts it, and those like '%s'"
			    : "threads like '%s'",
		    group) < 0)
		return -ENOMEM;
	return build_add_parameter(
		model, is_only_one ? NULL : group, what, pool->size, note, &pool->parameter);
}

int build_pools_find(const struct build_trace *trace, const struct build_groups *groups,
	struct model *model, struct build_pool **ret)
{
	size_t count = 0;
	int code = 0;
	AUTO_FREE struct build_pool *pools = calloc(groups->count + 1, sizeof *pools);
	if (!pools)
		return -ENOMEM;
	for (uint32_t i = 0; i < groups->count; i++) {
		find_pool(trace, groups, i, &pools[i]);
		count += pools[i].waves > 0;
	}
	for (size_t i = 0; i < groups->count && code == 0; i++)
		if (pools[i].waves > 0)
			code = add_parameter(model, groups->items[i].name, count == 1, &pools[i]);
	if (code == 0)
		*ret = TAKE(pools);
	return code;
}

const struct build_pool *build_pool_of(
	const struct build_pool *pools, const struct build_groups *groups, uint32_t group)
{
	if (pools[group].parameter != BUILD_NONE)
		return &pools[group];
	for (size_t i = 0; i < groups->count; i++)
		if (pools[i].parameter != BUILD_NONE && pools[i].starter == group)
			return &pools[i];
	return NULL;
}

int build_pool_started(struct model *model, const struct build_pool *pool, struct model_value *ret)
{
	const char *name = model->parameters[pool->parameter].name;
	return build_formula(model, ret, pool->starter == BUILD_NONE ? "%s" : "%s - 1", name);
}
