/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/build_class.h"

#include "base/map.h"

#include <errno.h>

static bool is_lock(const struct build_trace *trace, const struct build_step *step)
{
	if ((step->op != STEP_LOCK && step->op != STEP_READ_LOCK) || step->object == BUILD_NONE)
		return false;
	uint8_t what = trace->objects[step->object].what;
	return what == WHAT_MUTEX || what == WHAT_SPIN || what == WHAT_RWLOCK;
}

/* Keys of places: the site; the group, and what is locked there. */
static uint64_t place_key(
	const struct build_trace *trace, const struct build_step *step, uint32_t group)
{
	return (uint64_t)group << 8 | trace->objects[step->object].what;
}

struct places {
	struct map count; /* different objects, by place */
	struct map seen; /* by object, and place */
	struct map first; /* an object, by place */
	struct map are_common; /* places where two threads take the same object */
};

static int count_step(const struct build_trace *trace, struct places *places,
	const struct build_step *step, uint32_t group, size_t thread)
{
	uint64_t *count, *seen, *first, key = place_key(trace, step, group);
	uint64_t place = step->site * 0x9e3779b97f4a7c15U ^ key;
	int code = map_add(&places->seen, step->object, place, thread, &seen);
	if (code == 0 && *seen != thread)
		code = map_add(&places->are_common, step->site, key, 1, &first);
	else if (code > 0) {
		code = map_add(&places->count, step->site, key, 0, &count);
		if (code >= 0) {
			++*count;
			code = map_add(&places->first, step->site, key, step->object, &first);
		}
	}
	return code < 0 ? code : 0;
}

static void join(struct build_trace *trace, uint32_t a, uint32_t b)
{
	a = build_class_of(trace, a);
	b = build_class_of(trace, b);
	if (a < b)
		trace->objects[b].class = a;
	else
		trace->objects[a].class = b;
}

/* `threads`: how many the group has. */
static void join_step(const struct places *places, struct build_trace *trace,
	const struct build_step *step, uint32_t group, size_t threads)
{
	uint64_t key = place_key(trace, step, group);
	bool are_common = map_find(&places->are_common, step->site, key);
	uint64_t count = *map_find(&places->count, step->site, key);
	if (count > CLASS_LEAST || (count == threads && threads > 1 && !are_common))
		join(trace, (uint32_t)*map_find(&places->first, step->site, key), step->object);
}

int build_classes_find(struct build_trace *trace, const struct build_groups *groups)
{
	struct places places = { 0 };
	int code = 0;
	for (int pass = 0; pass < 2 && code == 0; pass++)
		for (size_t i = 0; i < trace->thread_count; i++)
			for (size_t j = 0; j < trace->threads[i].step_count && code == 0; j++) {
				const struct build_step *step = &trace->threads[i].steps[j];
				if (!is_lock(trace, step))
					continue;
				uint32_t group = groups->of_thread[i];
				if (pass == 0)
					code = count_step(trace, &places, step, group, i);
				else
					join_step(&places, trace, step, group,
						groups->items[group].count);
			}
	map_release(&places.count);
	map_release(&places.seen);
	map_release(&places.first);
	map_release(&places.are_common);
	/* Each object directly below the first of its class, for who asks often. */
	for (uint32_t i = 0; i < trace->object_count; i++)
		trace->objects[i].class = build_class_of(trace, i);
	return code;
}

uint32_t build_class_instances(const struct build_trace *trace, uint32_t object)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < trace->object_count; i++) {
		if (trace->objects[i].class != object)
			continue;
		sum += (double)trace->objects[i].uses;
		squares += (double)trace->objects[i].uses * (double)trace->objects[i].uses;
	}
	return squares > 0 && sum * sum / squares > 1 ? (uint32_t)(sum * sum / squares + 0.5) : 1;
}
