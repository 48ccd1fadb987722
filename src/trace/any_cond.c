/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/any_cond.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct any_cond_thread {
	uint64_t taken; /* the mutex that it took last, while it has it; 0: none */
	bool is_known; /* it was known then that that mutex is a condition's own: nobody is told of this section */
	uint64_t given_back; /* the mutex that it gave back since, 0: none */
	/* It waited with `own`, while it had given back `user`; and has given back `own` since. */
	uint64_t own, user;
	bool has_waited, has_left;
};

void any_cond_release(struct any_cond *any)
{
	map_release(&any->own);
	map_release(&any->index);
	free(any->threads);
}

static struct any_cond_thread *thread_of(struct any_cond *any, const struct event *event)
{
	uint64_t *index;
	if (mem_grow(&any->threads, &any->capacity, any->count + 1, sizeof *any->threads) < 0)
		return NULL;
	int code = map_add(&any->index, event->pid, event->tid, any->count, &index);
	if (code < 0)
		return NULL;
	if (code > 0)
		any->threads[any->count++] = (struct any_cond_thread){ 0 };
	return &any->threads[*index];
}

/* Whose mutex is it: follows the thread up to the point where it takes the user's lock again. */
static int learn(struct any_cond *any, struct any_cond_thread *thread, const struct event *event)
{
	uint64_t *place;
	bool is_again = thread->has_left && event->object == thread->user;
	if (is_again && event->kind == EVENT_PASS &&
		map_add(&any->own, event->pid, thread->own, 1, &place) < 0)
		return -ENOMEM;
	if (event->kind == EVENT_PASS) {
		thread->taken = event->object;
		thread->is_known = false;
		thread->given_back = 0;
		thread->has_waited = thread->has_left = false;
	} else if (event->kind == EVENT_RELEASE) {
		thread->has_left = thread->has_waited && event->object == thread->own;
		thread->has_waited = false;
		if (event->object == thread->taken)
			thread->taken = 0;
		else if (thread->taken)
			thread->given_back = event->object;
	}
	return 0;
}

static void learn_wait(struct any_cond_thread *thread, const struct event *event)
{
	thread->has_left = false;
	if (event->kind == EVENT_PASS)
		thread->has_waited = thread->own != 0;
	else if (event->kind == EVENT_WAIT && event->value == thread->taken && thread->given_back) {
		thread->own = thread->taken;
		thread->user = thread->given_back;
	} else if (event->kind == EVENT_WAIT) {
		thread->own = thread->user = 0;
	}
}

/* 1: the event is passed on, maybe changed; 0: it is not; -ENOMEM. */
static int mutex_event(struct any_cond *any, struct any_cond_thread *thread, struct event *event)
{
	bool is_own = map_find(&any->own, event->pid, event->object);
	bool is_raw = thread->taken == event->object && !thread->is_known;
	if (is_own &&
		(!is_raw || (event->kind == EVENT_PASS && !(event->flags & EVENT_IMPLICIT)))) {
		if (event->kind == EVENT_PASS && !(event->flags & EVENT_IMPLICIT)) {
			thread->taken = event->object;
			thread->is_known = true;
			thread->given_back = 0;
		} else if (event->kind == EVENT_RELEASE && !(event->flags & EVENT_IMPLICIT)) {
			thread->taken = 0;
		}
		return 0;
	}
	bool is_inside = thread->taken && thread->is_known;
	if (is_inside && event->kind == EVENT_RELEASE) {
		thread->given_back = event->object;
		event->flags |= EVENT_IMPLICIT;
		return 1;
	}
	bool is_again = thread->user == event->object && thread->own && thread->is_known;
	if (is_again && thread->has_waited) {
		event->flags |= EVENT_IMPLICIT;
		if (event->kind != EVENT_PASS)
			return 1;
		thread->own = thread->user = thread->given_back = 0;
		thread->has_waited = false;
		return 1;
	}
	int code = event->flags & EVENT_IMPLICIT ? 0 : learn(any, thread, event);
	return code < 0 ? code : 1;
}

static int any_event(void *context, const struct event *given, struct err *err)
{
	struct any_cond *any = context;
	struct event event = *given;
	bool is_mutex = event.what == WHAT_MUTEX, is_cond = event.what == WHAT_COND;
	bool is_step = event.kind == EVENT_WAIT || event.kind == EVENT_PASS ||
		       event.kind == EVENT_WOKEN || event.kind == EVENT_RELEASE;
	if (!is_step || (!is_mutex && !is_cond) || event.tid == 0)
		return sink_event(any->next, &event, err);
	struct any_cond_thread *thread = thread_of(any, &event);
	int code = thread ? 1 : -ENOMEM;
	if (thread && is_mutex) {
		code = mutex_event(any, thread, &event);
	} else if (thread && event.kind != EVENT_RELEASE && event.kind != EVENT_WOKEN) {
		learn_wait(thread, &event);
		if (event.kind == EVENT_WAIT && thread->own == event.value && thread->own &&
			thread->is_known)
			event.value = thread->user;
	}
	if (code < 0)
		return err_set(err, code, "out of memory");
	return code > 0 ? sink_event(any->next, &event, err) : 0;
}

static int any_finish(void *context, uint64_t end_ns, struct err *err)
{
	const struct any_cond *any = context;
	return sink_finish(any->next, end_ns, err);
}

struct event_sink any_cond_sink(struct any_cond *any)
{
	return (struct event_sink){ .context = any, .event = any_event, .finish = any_finish };
}
