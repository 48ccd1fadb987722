/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads and objects events are about, and what they are called. */
#include "builder/trace_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Objects are known by their address, their process, and what they are. */
static uint64_t kind_of(const struct event *event)
{
	return (uint64_t)event->what << 32 | event->pid;
}

uint32_t build_class_of(const struct build_trace *trace, uint32_t object)
{
	while (trace->objects[object].class != object)
		object = trace->objects[object].class;
	return object;
}

uint32_t build_object_of(const struct build_trace *trace, const struct build_step *step)
{
	bool is_counted = step->op == STEP_SPAWN || step->op == STEP_JOIN;
	bool has_object = step->op != STEP_SLEEP && step->op != STEP_IO;
	if (step->object == BUILD_NONE || !has_object)
		return BUILD_NONE;
	return is_counted ? step->object : build_class_of(trace, step->object);
}

static int new_thread(struct build_trace *trace, const struct event *event, uint32_t *ret)
{
	size_t count = trace->thread_count;
	if (count >= BUILD_NONE ||
		mem_grow(&trace->threads, &trace->thread_capacity, count + 1,
			sizeof *trace->threads) < 0 ||
		mem_grow(&trace->live, &trace->live_capacity, count + 1, sizeof *trace->live) < 0)
		return -ENOMEM;
	trace->threads[count] = (struct build_thread){ .pid = event->pid,
		.tid = event->tid,
		.parent = BUILD_NONE,
		.start_ns = event->time_ns };
	trace->live[count] = (struct build_live){ .last_ns = event->time_ns,
		.last_cpu_ns = event->cpu_ns,
		.region = BUILD_NONE,
		.mutex = BUILD_NONE };
	trace->thread_count++;
	*ret = (uint32_t)count;
	return 0;
}

int build_trace_thread(struct build_trace *trace, const struct event *event, uint32_t *ret)
{
	uint64_t *slot;
	int code =
		map_add(&trace->thread_index, event->pid, event->tid, trace->thread_count, &slot);
	if (code < 0)
		return code;
	if (code == 0 && !(event->kind == EVENT_THREAD_START && trace->threads[*slot].has_exited)) {
		*ret = (uint32_t)*slot;
		return 0;
	}
	*slot = trace->thread_count;
	return new_thread(trace, event, ret);
}

uint32_t build_find_thread(const struct build_trace *trace, uint32_t pid, uint64_t tid)
{
	const uint64_t *index = map_find(&trace->thread_index, pid, tid);
	return index ? (uint32_t)*index : BUILD_NONE;
}

int build_add_object(struct build_trace *trace, struct build_object with, uint32_t *ret)
{
	size_t count = trace->object_count;
	if (count >= BUILD_NONE || mem_grow(&trace->objects, &trace->object_capacity, count + 1,
					   sizeof *trace->objects) < 0)
		return -ENOMEM;
	with.class = (uint32_t)count;
	trace->objects[trace->object_count++] = with;
	*ret = (uint32_t)count;
	return 0;
}

int build_trace_object(struct build_trace *trace, const struct event *event, uint32_t *ret)
{
	uint64_t *slot, kind = kind_of(event);
	if (mem_grow(&trace->objects, &trace->object_capacity, trace->object_count + 1,
		    sizeof *trace->objects) < 0)
		return -ENOMEM;
	int code = map_add(&trace->object_index, event->object, kind, trace->object_count, &slot);
	if (code > 0) {
		const uint64_t *name = map_find(&trace->name_index, event->object, kind);
		trace->objects[trace->object_count++] = (struct build_object){ .pid = event->pid,
			.what = event->what,
			.address = event->object,
			.name = name ? trace->names[*name] : NULL,
			.class = (uint32_t)*slot };
	}
	*ret = code < 0 ? BUILD_NONE : (uint32_t)*slot;
	return code < 0 ? code : 0;
}

int build_trace_add_init(struct build_trace *trace, const struct event *event)
{
	uint32_t object, thread = build_find_thread(trace, event->pid, event->tid);
	if (event->what != WHAT_SEM || thread == BUILD_NONE)
		return 0;
	(void)map_remove(
		&trace->object_index, event->object, kind_of(event)); /* or it is the first */
	int code = build_trace_object(trace, event, &object);
	if (code < 0)
		return code;
	trace->objects[object].maker = thread + 1;
	trace->objects[object].first = event->value;
	return 0;
}

int build_trace_add_name(struct build_trace *trace, const struct event *event)
{
	AUTO_FREE char *text = strdup(event->text ? event->text : "");
	if (!text)
		return -ENOMEM;
	if (event->what == WHAT_PROGRAM) {
		if (!trace->program)
			trace->program = TAKE(text);
		return 0;
	}
	uint32_t index = build_find_thread(trace, event->pid, event->object);
	if (event->what == WHAT_THREAD) {
		if (index == BUILD_NONE)
			return 0;
		free(trace->threads[index].name);
		trace->threads[index].name = TAKE(text);
		return 0;
	}
	if (event->what == WHAT_MODULE) {
		if (mem_grow(&trace->modules, &trace->module_capacity, trace->module_count + 1,
			    sizeof *trace->modules) < 0)
			return -ENOMEM;
		trace->modules[trace->module_count++] = (struct build_module){ .pid = event->pid,
			.bias = event->object,
			.end = event->value,
			.path = TAKE(text) };
		return 0;
	}
	uint64_t *slot, kind = kind_of(event);
	if (mem_grow(&trace->names, &trace->name_capacity, trace->name_count + 1,
		    sizeof *trace->names) < 0 ||
		map_add(&trace->name_index, event->object, kind, trace->name_count, &slot) < 0)
		return -ENOMEM;
	*slot = trace->name_count;
	trace->names[trace->name_count++] = TAKE(text);
	return 0;
}
