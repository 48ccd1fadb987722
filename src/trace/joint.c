/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/joint.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

void joint_release(struct joint *joint)
{
	map_release(&joint->index);
	free(joint->threads);
	*joint = (struct joint){ 0 };
}

/* NULL without memory. *ret_is_new: nothing was told of it yet. */
static struct joint_thread *find_thread(
	struct joint *joint, const struct event *event, bool *ret_is_new)
{
	uint64_t *place;
	int added = map_add(&joint->index, event->pid, event->tid, joint->count, &place);
	*ret_is_new = added > 0;
	if (added == 0)
		return &joint->threads[*place];
	if (added < 0 || mem_grow(&joint->threads, &joint->capacity, joint->count + 1,
				 sizeof *joint->threads) < 0) {
		if (added > 0)
			(void)map_remove(&joint->index, event->pid, event->tid);
		return NULL;
	}
	joint->threads[joint->count] = (struct joint_thread){ 0 };
	joint->thread_count++;
	return &joint->threads[joint->count++];
}

static int start(
	struct joint *joint, struct joint_thread *thread, const struct event *event, bool is_new)
{
	if (!is_new && !thread->is_gone)
		return event->object != 0; /* known by now; its routine may not be */
	joint->thread_count += !is_new;
	*thread = (struct joint_thread){ 0 };
	return 1;
}

static bool is_in_wait(const struct joint_thread *thread)
{
	return thread->wait.kind != EVENT_NONE;
}

/* It stands still: the library may know what for. */
static int stand_still(struct joint_thread *thread, struct event *event)
{
	if (!is_in_wait(thread)) {
		thread->is_told = true;
		return 1;
	}
	if (!thread->is_woken)
		return 0;
	thread->is_woken = false; /* in vain: others were faster */
	const struct event wait = thread->wait;
	uint64_t time_ns = event->time_ns, cpu_ns = event->cpu_ns;
	*event = wait;
	event->time_ns = time_ns;
	event->cpu_ns = cpu_ns;
	return 1;
}

static int wake(struct joint_thread *thread, struct event *event)
{
	if (!is_in_wait(thread))
		return thread->is_told;
	if (thread->is_woken)
		return 0;
	thread->is_woken = true;
	event->what = thread->wait.what;
	event->object = thread->wait.object;
	return 1;
}

static int get_core(struct joint_thread *thread, struct event *event)
{
	if (thread->is_told) {
		thread->is_told = false;
		return 1;
	}
	*event = (struct event){ .time_ns = event->time_ns,
		.cpu_ns = event->cpu_ns,
		.pid = event->pid,
		.tid = event->tid,
		.kind = EVENT_RUN,
		.value = EVENT_CORE_UNKNOWN };
	return 1;
}

static int take_kernel(struct joint_thread *thread, struct event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_WAIT:
		return stand_still(thread, event);
	case EVENT_WOKEN:
		return wake(thread, event);
	case EVENT_PASS:
		return get_core(thread, event);
	default:
		return 1;
	}
}

static int take_library(struct joint_thread *thread, struct event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_WAIT:
		thread->wait = *event;
		thread->is_woken = false;
		thread->is_told = false;
		return 1;
	case EVENT_WOKEN:
		if (is_in_wait(thread) && thread->is_woken)
			return 0;
		thread->is_woken = true;
		return 1;
	case EVENT_PASS:
		if (event->flags & EVENT_WAITED)
			thread->wait.kind = EVENT_NONE;
		return 1;
	default:
		return 1;
	}
}

int joint_take(struct joint *joint, struct event *event, bool is_of_kernel)
{
	bool is_new;
	if (event->tid == 0 || event_is_aside(event) || event->kind == EVENT_LOST)
		return 1;
	struct joint_thread *thread = find_thread(joint, event, &is_new);
	if (!thread)
		return -ENOMEM;
	if (event->kind == EVENT_THREAD_START)
		return start(joint, thread, event, is_new);
	/* What a process says of itself at its end, another thread may say. */
	if (thread->is_gone)
		return event->kind == EVENT_NAME && event->what != WHAT_THREAD;
	if (event->kind == EVENT_THREAD_EXIT) {
		thread->is_gone = true;
		return 1;
	}
	return is_of_kernel ? take_kernel(thread, event) : take_library(thread, event);
}
