/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/left_out.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum { HOLDS_MAX = 16 }; /* more are not followed */

/* The mutexes that it holds, and where it took them. */
struct left_out_thread {
	struct {
		uint64_t mutex, site;
	} holds[HOLDS_MAX];
	size_t count;
	uint64_t
		signal; /* its last one outside a section, plus one; 0: it is not known any more what belongs to that */
	uint64_t section,
		site; /* the mutex of the section that came behind it, and where it took that; 0: none so far */
	uint64_t moved; /* a mutex whose next PASS has been passed on before its signal */
};

void left_out_release(struct left_out *left_out)
{
	map_release(&left_out->mutexes);
	map_release(&left_out->sites);
	map_release(&left_out->index);
	free(left_out->threads);
	map_release(&left_out->behind);
}

static struct left_out_thread *thread_of(struct left_out *left_out, const struct event *event)
{
	uint64_t *index;
	if (mem_grow(&left_out->threads, &left_out->capacity, left_out->count + 1,
		    sizeof *left_out->threads) < 0)
		return NULL;
	int code = map_add(&left_out->index, event->pid, event->tid, left_out->count, &index);
	if (code < 0)
		return NULL;
	if (code > 0)
		left_out->threads[left_out->count++] = (struct left_out_thread){ 0 };
	return &left_out->threads[*index];
}

static int set(struct map *map, uint64_t a, uint64_t b, uint64_t value)
{
	uint64_t *place;
	if (map_add(map, a, b, value, &place) < 0)
		return -ENOMEM;
	*place = value;
	return 0;
}

static void follow(struct left_out_thread *thread, const struct event *event)
{
	if (event->flags & (EVENT_IMPLICIT | EVENT_TIMED_OUT))
		return;
	if (event->kind == EVENT_PASS && thread->count < HOLDS_MAX) {
		thread->holds[thread->count].mutex = event->object;
		thread->holds[thread->count++].site = event->site;
	}
	for (size_t i = thread->count; event->kind == EVENT_RELEASE && i-- > 0;)
		if (thread->holds[i].mutex == event->object) {
			thread->holds[i] = thread->holds[--thread->count];
			break;
		}
}

static int give(const struct left_out *left_out, const struct event *event, struct err *err)
{
	return left_out->next ? sink_event(left_out->next, event, err) : 0;
}

static int pass_on(struct left_out *left_out, const struct event *signal, enum event_kind kind,
	uint64_t mutex, uint64_t site, struct err *err)
{
	struct event event = *signal;
	event.kind = (uint8_t)kind;
	event.what = WHAT_MUTEX;
	event.object = mutex;
	event.site = site;
	event.value = 0;
	event.flags = 0;
	return give(left_out, &event, err);
}

/* While the sections are being learned: what its thread does next says whether this was the section of its last signal. */
static int learn(
	struct left_out *left_out, struct left_out_thread *thread, const struct event *event)
{
	bool is_ours = event->what == WHAT_MUTEX && !(event->flags & EVENT_IMPLICIT);
	bool is_begin = is_ours && event->kind == EVENT_PASS;
	bool is_end = is_ours && event->kind == EVENT_RELEASE;
	if (left_out->next || thread->signal == 0)
		return 0;
	int code = is_end && thread->section == event->object
			   ? set(&left_out->behind, thread->signal, event->object, thread->site)
			   : 0;
	thread->signal = is_begin && thread->section == 0 ? thread->signal : 0;
	thread->section = is_begin ? event->object : 0;
	thread->site = event->site;
	return code;
}

/* A signal whose section is told of behind it, or not at all. */
static int signal_alone(struct left_out *left_out, struct left_out_thread *thread, uint64_t mutex,
	const struct event *signal, struct err *err)
{
	const uint64_t *site =
		signal->site ? map_find(&left_out->sites, signal->pid, signal->site) : NULL;
	const uint64_t *behind = map_find(&left_out->behind, left_out->signals, mutex);
	bool is_behind = behind && (signal->site == 0 || (site && *behind == *site));
	thread->signal = left_out->signals;
	thread->section = 0;
	if (!is_behind && (!site || !left_out->has_left_out))
		return give(left_out, signal, err);
	site = is_behind ? behind : site;
	int code = pass_on(left_out, signal, EVENT_PASS, mutex, *site, err);
	if (code == 0)
		code = give(left_out, signal, err);
	if (is_behind)
		thread->moved = mutex;
	else if (code == 0)
		code = pass_on(left_out, signal, EVENT_RELEASE, mutex, *site, err);
	return code;
}

static int signal_event(struct left_out *left_out, struct left_out_thread *thread,
	const struct event *event, struct err *err)
{
	const uint64_t *known = map_find(&left_out->mutexes, event->pid, event->object);
	uint64_t mutex = known ? *known : 0;
	left_out->signals++;
	for (size_t i = 0; i < thread->count; i++)
		if (thread->holds[i].mutex == mutex || (!known && i + 1 == thread->count)) {
			if (set(&left_out->mutexes, event->pid, event->object,
				    thread->holds[i].mutex) < 0 ||
				set(&left_out->sites, event->pid, event->site,
					thread->holds[i].site) < 0)
				return err_set(err, -ENOMEM, "out of memory");
			return give(left_out, event, err);
		}
	return known ? signal_alone(left_out, thread, mutex, event, err)
		     : give(left_out, event, err);
}

static int left_out_event(void *context, const struct event *event, struct err *err)
{
	struct left_out *left_out = context;
	left_out->has_left_out |= event->kind == EVENT_LEFT_OUT;
	bool is_mutex = event->what == WHAT_MUTEX &&
			(event->kind == EVENT_PASS || event->kind == EVENT_RELEASE);
	bool is_cond = event->what == WHAT_COND &&
		       (event->kind == EVENT_WAIT || event->kind == EVENT_RELEASE);
	bool is_wait = event->kind == EVENT_WAIT;
	if ((!is_mutex && !is_cond && !is_wait) || event->tid == 0)
		return give(left_out, event, err);
	struct left_out_thread *thread = thread_of(left_out, event);
	if (!thread || learn(left_out, thread, event) < 0 ||
		(is_cond && event->kind == EVENT_WAIT && event->value &&
			set(&left_out->mutexes, event->pid, event->object, event->value) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	if (is_cond && event->kind == EVENT_RELEASE)
		return signal_event(left_out, thread, event, err);
	if (is_mutex)
		follow(thread, event);
	bool is_moved = is_mutex && event->kind == EVENT_PASS && thread->moved == event->object;
	if (!is_moved)
		return give(left_out, event, err);
	thread->moved = 0;
	return 0;
}

static int left_out_finish(void *context, uint64_t end_ns, struct err *err)
{
	const struct left_out *left_out = context;
	return left_out->next ? sink_finish(left_out->next, end_ns, err) : 0;
}

struct event_sink left_out_sink(struct left_out *left_out, const struct event_sink *next)
{
	left_out->next = next;
	left_out->signals = 0;
	for (size_t i = 0; i < left_out->count; i++)
		left_out->threads[i] = (struct left_out_thread){ 0 };
	return (struct event_sink){
		.context = left_out, .event = left_out_event, .finish = left_out_finish
	};
}
