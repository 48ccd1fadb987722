/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locks that threads ask for, have and give back, and what that shows of who gets a lock first. */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>

bool load_is_lock(uint8_t what)
{
	return what == WHAT_MUTEX || what == WHAT_RWLOCK || what == WHAT_SPIN;
}

struct load_hold *locks_find(struct load_thread *thread, uint32_t object)
{
	for (size_t i = thread->hold_count; i > 0; i--)
		if (thread->holds[i - 1].object == object)
			return &thread->holds[i - 1];
	return NULL;
}

/* `step` stands for the taking. */
static int take(struct replay *replay, uint32_t index, size_t step, uint32_t object,
	const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	if (mem_grow(&thread->holds, &thread->hold_capacity, thread->hold_count + 1,
		    sizeof *thread->holds) < 0)
		return -ENOMEM;
	struct load_object *lock = &replay->objects[object];
	thread->steps[step].amount = lock->turns++;
	lock->takes_turns |= (event->flags & EVENT_ORDERED) != 0;
	struct load_hold *hold = &thread->holds[thread->hold_count++];
	*hold = (struct load_hold){ .object = object, .depth = 1, .site = event->site };
	if (event->flags & EVENT_SHARED)
		lock->readers++;
	else
		lock->holder = index;
	return event->what == WHAT_MUTEX ? replay_section_begin(replay, thread, hold) : 0;
}

static void drop_hold(struct load_thread *thread, struct load_hold *hold)
{
	size_t at = (size_t)(hold - thread->holds);
	for (size_t i = at + 1; i < thread->hold_count; i++)
		thread->holds[i - 1] = thread->holds[i];
	thread->hold_count--;
}

/* Which of those who ask gets a lock first: evidence, for locks that others wait for. */
static void observe_asking(struct load_object *lock, bool is_shared)
{
	if (lock->what == WHAT_RWLOCK) {
		if (is_shared && lock->holder == REPLAY_NONE && lock->writers_waiting > 0)
			lock->reader_yields++;
	} else if (lock->holder == REPLAY_NONE && lock->waiting > 0) {
		lock->handed_over++;
	}
}

static void observe_getting(struct load_object *lock, bool is_shared)
{
	if (lock->what == WHAT_RWLOCK)
		lock->reader_passes += is_shared && lock->writers_waiting > 0;
	else
		lock->barged += lock->waiting > 0;
}

void locks_count_waiting(struct load_object *lock, bool is_shared, bool is_more)
{
	uint32_t *kind = is_shared ? &lock->readers_waiting : &lock->writers_waiting;
	if (is_more) {
		lock->waiting++;
		++*kind;
	} else {
		lock->waiting -= lock->waiting > 0;
		*kind -= *kind > 0;
	}
}

static int push_lock(struct replay *replay, struct load_thread *thread, uint32_t object,
	const struct event *event)
{
	struct step *step = load_push(thread, STEP_LOCK);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->is_shared = event->flags & EVENT_SHARED;
	step->is_try = event->flags & EVENT_TRIED;
	replay->objects[object].is_tried |= step->is_try;
	return 0;
}

int locks_ask(struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *lock = &replay->objects[object];
	if (locks_find(thread, object))
		return 0;
	observe_asking(lock, event->flags & EVENT_SHARED);
	locks_count_waiting(lock, event->flags & EVENT_SHARED, true);
	int code = push_lock(replay, thread, object, event);
	thread->wait_step = thread->count;
	return code;
}

int locks_note_site(struct replay *replay, uint64_t site)
{
	uint64_t *place;
	return map_add(&replay->lock_sites, site, 0, 0, &place) < 0 ? -ENOMEM : 0;
}

int locks_note_try(struct replay *replay, struct load_thread *thread, const struct event *event)
{
	uint64_t address = thread->failed_address, site = thread->failed_site;
	bool is_mutex = event->what == WHAT_MUTEX;
	if (event->kind == EVENT_RUN || event->kind == EVENT_PREEMPT)
		return 0;
	thread->failed_address = 0;
	if (is_mutex && event->kind == EVENT_TRY_FAILED) {
		thread->failed_address = event->object;
		thread->failed_site = event->site;
		return 0;
	}
	bool takes = is_mutex && (event->kind == EVENT_WAIT || event->kind == EVENT_PASS) &&
		     !(event->flags & (EVENT_TRIED | EVENT_IMPLICIT));
	return takes && address != 0 && event->object == address && event->site != site
		       ? locks_note_site(replay, site)
		       : 0;
}

int locks_take_awaited(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	const struct step *step = &thread->steps[thread->wait_step - 1];
	if (event->what == WHAT_MUTEX && locks_note_site(replay, step->site) < 0)
		return -ENOMEM;
	return take(replay, index, thread->wait_step - 1, step->object, event);
}

static bool has_tries(const struct replay *replay)
{
	for (size_t i = 0; i < replay->object_count; i++)
		if (replay->objects[i].is_tried)
			return true;
	return false;
}

void locks_settle_tries(struct replay *replay)
{
	if (!has_tries(replay))
		return;
	for (size_t i = 0; i < replay->thread_count; i++)
		for (size_t j = 0; j < replay->threads[i].count; j++) {
			struct step *step = &replay->threads[i].steps[j];
			if (step->is_try && map_find(&replay->lock_sites, step->site, 0))
				step->is_try = false;
		}
}

/* The mutex that it took last and still has, plus one; 0: none. */
uint64_t locks_mutex_held(const struct replay *replay, const struct load_thread *thread)
{
	for (size_t i = thread->hold_count; i > 0; i--)
		if (replay->objects[thread->holds[i - 1].object].what == WHAT_MUTEX)
			return (uint64_t)thread->holds[i - 1].object + 1;
	return 0;
}

int locks_release(struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *lock = &replay->objects[object];
	struct load_hold *hold = locks_find(thread, object);
	if (hold && --hold->depth > 0)
		return 0;
	struct load_thread *holder =
		lock->holder < replay->thread_count ? &replay->threads[lock->holder] : NULL;
	struct load_hold *foreign = !hold && holder ? locks_find(holder, object) : NULL;
	if (!hold && (!foreign || lock->what == WHAT_RWLOCK))
		return 0;
	if (hold) {
		struct load_hold ended = *hold;
		drop_hold(thread, hold);
		if (replay_section_end(replay, thread, ended) < 0)
			return -ENOMEM;
		lock = &replay->objects[object];
	} else {
		drop_hold(holder, foreign);
		lock->play = PLAY_SEM; /* given back by another: that is no mutex */
		lock->value = 1;
	}
	if (lock->holder == index || foreign)
		lock->holder = REPLAY_NONE;
	else
		lock->readers -= lock->readers > 0;
	struct step *step = load_push(thread, STEP_UNLOCK);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	return 0;
}

int locks_take_free(
	struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_hold *hold = locks_find(thread, object);
	if (hold) {
		hold->depth++;
		return 0;
	}
	observe_getting(&replay->objects[object], event->flags & EVENT_SHARED);
	int code = push_lock(replay, thread, object, event);
	return code < 0 ? code : take(replay, index, thread->count - 1, object, event);
}
