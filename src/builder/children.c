/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that a thread started and waited for: in the model it starts and joins their threads.
 *
 *	recorded	sh   ----io(child)................--
 *			pigz       start--------------exit
 *	model		sh   ----spawn pigz, join pigz....--
 */
#include "builder/trace_parts.h"
#include "trace/child.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* The end to wait for is that of a thread with which the process began, if it did not wait when its process ended: maybe for ever. */
static struct child_life life_of(const void *context, uint32_t index)
{
	const struct build_thread *thread = &((const struct build_trace *)context)->threads[index];
	return (struct child_life){ .pid = thread->pid,
		.has_exited = thread->has_exited,
		.ended_ns = thread->is_cut || thread->parent != BUILD_NONE ? 0 : thread->end_ns };
}

/* Of a thread's steps the first that was not over then. */
static size_t find_step(const struct build_thread *thread, uint64_t time_ns)
{
	size_t i = thread->step_count;
	while (i > 0 && thread->steps[i - 1].begin_ns + thread->steps[i - 1].waited_ns > time_ns)
		i--;
	return i;
}

/* `parent` starts `child` where its recording began, after the work that came before. */
static int add_spawn(struct build_trace *trace, uint32_t parent, uint32_t child, uint64_t site)
{
	struct build_thread *thread = &trace->threads[parent];
	struct build_step spawn = { .begin_ns = trace->threads[child].start_ns,
		.site = site,
		.object = child,
		.count = 1,
		.region = BUILD_NONE,
		.op = STEP_SPAWN };
	size_t at = find_step(thread, spawn.begin_ns);
	if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
		    sizeof *thread->steps) < 0)
		return -ENOMEM;
	memmove(&thread->steps[at + 1], &thread->steps[at],
		(thread->step_count - at) * sizeof *thread->steps);
	if (at < thread->step_count) {
		struct build_step *next = &thread->steps[at + 1];
		spawn.cpu_ns = next->cpu_ns;
		spawn.wakes = next->wakes;
		next->cpu_ns = next->wakes = 0;
	}
	thread->steps[at] = spawn;
	thread->step_count++;
	trace->threads[child].is_started = true;
	return 0;
}

int build_trace_join_child(struct build_trace *trace, uint32_t index)
{
	struct build_thread *thread = &trace->threads[index];
	struct build_step *wait = &thread->steps[thread->step_count - 1];
	uint64_t site = wait->site;
	uint32_t child = child_find(life_of, trace, (uint32_t)trace->thread_count, thread->pid,
		wait->begin_ns, wait->begin_ns + wait->waited_ns);
	if (child == CHILD_NONE)
		return 0;
	uint32_t pid = trace->threads[child].pid;
	wait->op = STEP_JOIN;
	wait->object = child;
	wait->count = 1;
	wait->section = 0;
	for (uint32_t i = 0; i < trace->thread_count; i++) {
		struct build_thread *other = &trace->threads[i];
		bool is_first = other->pid == pid && other->parent == BUILD_NONE;
		if (is_first && !other->is_started && other->start_ns >= thread->start_ns &&
			add_spawn(trace, index, i, site) < 0)
			return -ENOMEM;
	}
	return 0;
}
