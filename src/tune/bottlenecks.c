/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/bottlenecks.h"

#include "base/mem.h"
#include "criticality/blame.h"

#include <errno.h>
#include <stdlib.h>

/* 100,000 cycles and 1,024 cycles of 2 GHz: a choice, only the baseline depends on it. */
enum { HALVING_NS = 50000, LEAST_NS = 512 };
enum { HALVINGS_MAX = 64 }; /* what came before so many is gone */

void bottlenecks_release(struct bottlenecks *bottlenecks)
{
	for (size_t i = 0; i < bottlenecks->count; i++)
		free(bottlenecks->all[i].members);
	index_release(&bottlenecks->index);
	free(bottlenecks->all);
	free(bottlenecks->waits);
	free(bottlenecks->listed);
	free(bottlenecks->view);
	*bottlenecks = (struct bottlenecks){ 0 };
}

/* Halvings are at multiples of HALVING_NS, the same for all. */
static void settle(struct contended *object, uint64_t now_ns)
{
	uint64_t from_ns = object->settled_ns;
	uint64_t halvings = now_ns / HALVING_NS - from_ns / HALVING_NS;
	if (halvings > HALVINGS_MAX) {
		from_ns = (now_ns / HALVING_NS - HALVINGS_MAX) * HALVING_NS;
		object->contention = 0;
	}
	while (from_ns / HALVING_NS < now_ns / HALVING_NS) {
		uint64_t next_ns = (from_ns / HALVING_NS + 1) * HALVING_NS;
		object->contention =
			(object->contention + object->waiters * (next_ns - from_ns)) / 2;
		from_ns = next_ns;
	}
	object->contention += object->waiters * (now_ns - from_ns);
	object->settled_ns = now_ns;
}

static struct contended *find(struct bottlenecks *bottlenecks, const struct event *event)
{
	uint64_t other = (uint64_t)event->pid << 8 | event->what;
	uint32_t found = index_find(&bottlenecks->index, event->object, other);
	if (found != INDEX_NONE)
		return &bottlenecks->all[found];
	if (mem_grow(&bottlenecks->all, &bottlenecks->capacity, bottlenecks->count + 1,
		    sizeof *bottlenecks->all) < 0 ||
		index_add(&bottlenecks->index, event->object, other, bottlenecks->count) < 0)
		return NULL;
	struct contended *object = &bottlenecks->all[bottlenecks->count++];
	*object = (struct contended){
		.settled_ns = event->time_ns, .executor = BOOST_NONE, .what = event->what
	};
	return object;
}

static int list(struct bottlenecks *bottlenecks, struct contended *object)
{
	if (object->is_listed)
		return 0;
	if (mem_grow(&bottlenecks->listed, &bottlenecks->listed_capacity,
		    bottlenecks->listed_count + 1, sizeof *bottlenecks->listed) < 0)
		return -ENOMEM;
	object->is_listed = true;
	bottlenecks->listed[bottlenecks->listed_count++] = (uint32_t)(object - bottlenecks->all);
	return 0;
}

static void end_wait(struct bottlenecks *bottlenecks, uint32_t thread, uint64_t now_ns)
{
	uint32_t waits = bottlenecks->waits[thread];
	if (waits == 0)
		return;
	struct contended *object = &bottlenecks->all[waits - 1];
	settle(object, now_ns);
	object->waiters--;
	bottlenecks->waits[thread] = 0;
}

static int join_barrier(struct contended *object, uint32_t thread)
{
	for (size_t i = 0; i < object->member_count; i++)
		if (object->members[i] == thread)
			return 0;
	if (mem_grow(&object->members, &object->member_capacity, object->member_count + 1,
		    sizeof *object->members) < 0)
		return -ENOMEM;
	object->members[object->member_count++] = thread;
	return 0;
}

static int begin_wait(
	struct bottlenecks *bottlenecks, struct contended *object, uint32_t thread, uint64_t now_ns)
{
	settle(object, now_ns);
	object->waiters++;
	object->has_opened = false;
	bottlenecks->waits[thread] = (uint32_t)(object - bottlenecks->all) + 1;
	int code = object->what == WHAT_BARRIER ? join_barrier(object, thread) : 0;
	return code < 0 ? code : list(bottlenecks, object);
}

/* Who executes it from now on. 0 or -ENOMEM. */
static int take_step(struct contended *object, uint32_t thread, const struct event *event)
{
	if (object->what == WHAT_BARRIER) {
		object->has_opened = true;
		return join_barrier(object, thread);
	}
	if (event->kind == EVENT_RELEASE)
		object->executor = what_is_lock(object->what) ? (uint32_t)BOOST_NONE : thread;
	else if (what_is_lock(object->what))
		object->executor = thread;
	return 0;
}

int bottlenecks_event(struct bottlenecks *bottlenecks, uint32_t thread, const struct event *event)
{
	if (mem_grow(&bottlenecks->waits, &bottlenecks->wait_capacity, (size_t)thread + 1,
		    sizeof *bottlenecks->waits) < 0)
		return -ENOMEM;
	bottlenecks->now_ns = event->time_ns;
	bool is_step = event->kind == EVENT_PASS || event->kind == EVENT_RELEASE;
	if (event->kind == EVENT_WAIT || event->kind == EVENT_WOKEN || event->kind == EVENT_PASS ||
		event->kind == EVENT_THREAD_EXIT)
		end_wait(bottlenecks, thread, event->time_ns);
	if (!what_is_object(event->what) || (event->kind != EVENT_WAIT && !is_step))
		return 0;
	struct contended *object = find(bottlenecks, event);
	if (!object)
		return -ENOMEM;
	return is_step ? take_step(object, thread, event)
		       : begin_wait(bottlenecks, object, thread, event->time_ns);
}

static uint32_t executor_of(const struct bottlenecks *bottlenecks, const struct contended *object)
{
	if (object->what != WHAT_BARRIER)
		return object->executor;
	if (object->has_opened || object->waiters == 0 ||
		object->waiters + 1 != object->member_count)
		return BOOST_NONE;
	uint32_t number = (uint32_t)(object - bottlenecks->all) + 1;
	for (size_t i = 0; i < object->member_count; i++)
		if (bottlenecks->waits[object->members[i]] != number)
			return object->members[i];
	return BOOST_NONE;
}

int bottlenecks_view(struct bottlenecks *bottlenecks, const struct account *account,
	const struct boost_bottleneck **ret, size_t *ret_count)
{
	size_t kept = 0, count = 0;
	if (mem_grow(&bottlenecks->view, &bottlenecks->view_capacity, bottlenecks->listed_count,
		    sizeof *bottlenecks->view) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < bottlenecks->listed_count; i++) {
		uint32_t number = bottlenecks->listed[i];
		struct contended *object = &bottlenecks->all[number];
		settle(object, bottlenecks->now_ns);
		object->is_listed = object->contention > 0 || object->waiters > 0;
		if (!object->is_listed)
			continue;
		bottlenecks->listed[kept++] = number;
		uint32_t executor = executor_of(bottlenecks, object);
		if (object->contention < LEAST_NS || executor == BOOST_NONE ||
			!account->threads[executor].is_active)
			continue;
		bottlenecks->view[count++] =
			(struct boost_bottleneck){ object->contention, executor };
	}
	bottlenecks->listed_count = kept;
	*ret = bottlenecks->view;
	*ret_count = count;
	return 0;
}
