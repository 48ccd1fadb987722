/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's events as the recording would have them: its threads, objects, names and call sites. */
#include "replay/player.h"

#include "base/mem.h"

#include <errno.h>

/* Names come first: they are said of objects before these are used. */
int replay_emit_names(const struct replay *replay, const struct event_sink *sink, struct err *err)
{
	for (size_t i = 0; i < replay->name_count; i++) {
		struct event event = replay->name_events[i];
		event.text = event_names_find(&replay->names, event.pid, event.what, event.object);
		event.time_ns = 0;
		event.cpu_ns = 0;
		event.tid = replay->threads[0].tid; /* a trace file has no event of nobody */
		event.site = 0;
		int code = event.text ? sink_event(sink, &event, err) : 0;
		if (code < 0)
			return code;
	}
	return 0;
}

static const struct load_thread *loaded(const struct player *player, uint64_t tid, uint32_t *ret)
{
	if (tid == 0 || tid >= player->by_tid_capacity || player->by_tid[tid] == 0)
		return NULL;
	*ret = player->by_tid[tid] - 1;
	return &player->replay->threads[*ret];
}

static uint64_t recorded_tid(const struct player *player, uint64_t tid)
{
	uint32_t index;
	const struct load_thread *thread = loaded(player, tid, &index);
	return thread ? thread->tid : 0;
}

/* The recording's object behind an engine's number; NULL: none. */
static const struct load_object *object_of(
	const struct player *player, uint8_t what, uint64_t number)
{
	static const uint8_t kinds[WHAT_COUNT] = { [WHAT_MUTEX] = SIM_MUTEX + 1,
		[WHAT_SPIN] = SIM_SPIN + 1,
		[WHAT_RWLOCK] = SIM_RWLOCK + 1,
		[WHAT_BARRIER] = SIM_BARRIERS + 1,
		[WHAT_COND] = SIM_COND + 1,
		[WHAT_SEM] = SIM_SEM + 1 };
	if (what >= WHAT_COUNT || kinds[what] == 0 || number == 0)
		return NULL;
	const struct play_table *table = &player->tables[kinds[what] - 1];
	uint32_t object = number <= table->count ? table->objects[number - 1] : REPLAY_NONE;
	return object == REPLAY_NONE ? NULL : &player->replay->objects[object];
}

static uint8_t what_of(const struct load_object *object)
{
	return object->what & 0x3f;
}

/* Whether a semaphore stands for something else, whose posts the recording does not have. */
static bool is_stand_in(const struct load_object *object)
{
	return what_of(object) == WHAT_BARRIER;
}

const char *replay_name(void *context, uint8_t what, uint32_t number)
{
	const struct player *player = context;
	const struct replay *replay = player->replay;
	uint32_t index, pid;
	uint64_t recorded;
	if (what == WHAT_THREAD) {
		const struct load_thread *thread = loaded(player, number, &index);
		if (!thread)
			return NULL;
		pid = thread->pid;
		recorded = thread->tid;
	} else {
		const struct load_object *object = object_of(player, what, (uint64_t)number + 1);
		if (!object)
			return NULL;
		pid = object->pid;
		what = what_of(object);
		recorded = object->address;
	}
	const char *name = replay->opts.name ? replay->opts.name(replay->opts.name_context, pid,
						       what, recorded)
					     : NULL;
	return name ? name : event_names_find(&replay->names, pid, what, recorded);
}

static void name_object(const struct player *player, struct event *event, uint32_t index)
{
	const struct load_object *object = object_of(player, event->what, event->object);
	if (object) {
		event->what = what_of(object);
		event->object = object->address;
		return;
	}
	if (event->object > 0 && event->what == WHAT_SEM &&
		event->object == (uint64_t)player->threads[index].turn_sem + 1) {
		event->what = WHAT_OTHER;
		event->object = 0;
		return;
	}
	/* A pause: for whatever it was. */
	const struct load_thread *thread = &player->replay->threads[player->threads[index].list];
	size_t at = player->threads[index].at;
	uint32_t kept = REPLAY_NONE;
	if (event->what == WHAT_SLEEP || event->what == WHAT_SEM)
		for (size_t i = at > 0 ? at - 1 : 0; i <= at && i < thread->count; i++)
			if (thread->steps[i].kind == STEP_SLEEP ||
				thread->steps[i].kind == STEP_AWAIT_WAKE)
				kept = thread->steps[i].object;
	event->object = 0;
	if (kept == REPLAY_NONE)
		return;
	event->what = player->replay->objects[kept].what;
	event->object = player->replay->objects[kept].address;
}

static void name_value(const struct player *player, struct event *event)
{
	if (event->kind == EVENT_WOKEN || event->kind == EVENT_THREAD_START ||
		(event->kind == EVENT_PASS && event->flags & EVENT_WAITED) ||
		(event->kind == EVENT_WAIT && event->what == WHAT_JOIN)) {
		event->value = recorded_tid(player, event->value);
	} else if (event->kind == EVENT_WAIT && event->what == WHAT_COND) {
		const struct load_object *mutex = object_of(player, WHAT_MUTEX, event->value);
		event->value = mutex ? mutex->address : 0;
	}
}

/* The cores' speed: what the run got of them when it wanted as many. */
static int follow_load(struct player *player, const struct event *event)
{
	const struct replay_facts *facts = &player->replay->facts;
	bool is_spinning = event->kind == EVENT_WAIT && event->what == WHAT_SPIN;
	if (event->kind == EVENT_THREAD_START || event->kind == EVENT_WOKEN)
		player->active++;
	else if ((event->kind == EVENT_WAIT && !is_spinning) || event->kind == EVENT_THREAD_EXIT)
		player->active -= player->active > 0;
	double speed = player->active < player->cores       ? facts->available_spare
		       : player->active < 2 * player->cores ? facts->available_full
							    : facts->available_crowded;
	if (speed == player->speed || player->cores != facts->cores || player->run->begin)
		return 0;
	player->speed = speed;
	int code = 0;
	for (uint32_t i = 0; code == 0 && i < player->cores; i++)
		code = sim_set_speed(player->sim, i, speed);
	return code;
}

int replay_emit(struct player *player, const struct event *given, struct err *err)
{
	int code = follow_load(player, given);
	if (code < 0 || !player->sink)
		return code;
	uint32_t index;
	struct event event = *given;
	const struct load_thread *thread = loaded(player, given->tid, &index);
	if (event.kind == EVENT_THREAD_START && !thread) {
		/* object: which thread of the recording; nobody has asked for it yet. */
		index = (uint32_t)event.object - 1;
		if (index >= player->replay->thread_count)
			return 0;
		if (mem_grow(&player->by_tid, &player->by_tid_capacity, (size_t)given->tid + 1,
			    sizeof *player->by_tid) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		player->by_tid[given->tid] = index + 1;
		thread = &player->replay->threads[index];
	}
	if (event.kind == EVENT_NAME || !thread || play_is_cut(player, index))
		return 0;
	const struct load_object *object = object_of(player, event.what, event.object);
	if (event.kind == EVENT_RELEASE && (!object || is_stand_in(object)))
		return 0;
	name_value(player, &event);
	event.pid = thread->pid;
	event.tid = thread->tid;
	if (event.kind == EVENT_THREAD_START) {
		event.object = thread->routine;
		event.site = thread->start_site;
	} else if (event.kind == EVENT_REGION_BEGIN || event.kind == EVENT_REGION_END) {
		const struct play_thread *play = &player->threads[index];
		event.object = player->replay->threads[play->list].steps[play->at - 1].amount;
	} else if (event.what != WHAT_NONE) {
		name_object(player, &event, index);
	}
	if (event.kind == EVENT_WAIT && event.what == WHAT_NONE)
		event.what = WHAT_OTHER;
	return sink_event(player->sink, &event, err);
}
