/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens, as events. Objects are numbered from 1 in events: 0 means none there. */
#include "sim/engine.h"

enum { PID = 1 };

static void put(struct sim *sim, const struct event *event)
{
	int code = sink_event(sim->options.sink, event, sim->err);
	if (code < 0 && sim->failed == 0)
		sim->failed = code;
}

void emit_event(struct sim *sim, const struct sim_thread *thread, uint8_t kind,
	const struct subject *subject)
{
	struct event event = {
		.time_ns = sim->now_ns,
		.cpu_ns = thread->cpu_ns,
		.object = subject->object,
		.value = subject->value,
		.pid = PID,
		.tid = thread->tid,
		.kind = kind,
		.what = subject->what,
		.flags = subject->flags,
	};
	if (kind != EVENT_WOKEN && kind != EVENT_RUN && kind != EVENT_PREEMPT)
		event.site = thread->op.site;
	if (kind == EVENT_PASS)
		event.value = 0;
	if (kind == EVENT_PASS && thread->is_late) {
		event.flags |= EVENT_WAITED;
		event.value = thread->waker;
		event.woken_ns = thread->woken_ns;
	}
	put(sim, &event);
}

void emit_name(struct sim *sim, uint8_t what, uint64_t object, const char *name)
{
	if (!sim->options.sink || !name)
		return;
	struct event event = { .time_ns = sim->now_ns,
		.object = object,
		.pid = PID,
		.tid = what == WHAT_THREAD ? (uint32_t)object : 1,
		.kind = EVENT_NAME,
		.what = what,
		.text = name };
	put(sim, &event);
}

static int emit_table(struct sim *sim, uint8_t what, const void *all, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		const struct object *object = (const void *)((const char *)all + i * size);
		emit_name(sim, what, i + 1, object->name);
	}
	return sim->failed;
}

#define EMIT_TABLE(what, table)                                                                    \
	(void)emit_table(sim, what, (table).all, (table).count, sizeof *(table).all)

int emit_names(struct sim *sim)
{
	/* Each leaves its failure in sim->failed. */
	EMIT_TABLE(WHAT_MUTEX, sim->mutexes);
	EMIT_TABLE(WHAT_SPIN, sim->spins);
	EMIT_TABLE(WHAT_RWLOCK, sim->rwlocks);
	EMIT_TABLE(WHAT_BARRIER, sim->barriers);
	EMIT_TABLE(WHAT_COND, sim->conds);
	EMIT_TABLE(WHAT_SEM, sim->sems);
	EMIT_TABLE(WHAT_QUEUE, sim->queues);
	EMIT_TABLE(WHAT_DISK, sim->disks);
	return sim->failed;
}
