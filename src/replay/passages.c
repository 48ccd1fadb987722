/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pipes and eventfds, by which one thread lets another go on: a semaphore that counts writes. Who reads waits for those whose
 * bytes it got, and so does who polled until there was something to read:
 *
 *	recorded, the writer	recorded, the reader	replayed
 *	write 8			poll (waited)		post 1		wait 2
 *	write 8			read 8, read 8		post 1
 *
 * A pipe that was seen to be full holds no more than it did then: a semaphore of bytes, for which writes wait.
 *
 * A read of an eventfd takes all that was written, unless there are as many reads as writes: then each takes one (EFD_SEMAPHORE, or
 * who reads at once). Where more was read than was seen to be written, somebody else writes, too: then nothing is known of it,
 * and waits are as long as they were. An end that no writer told of (shutdown(), several readers) is not waited for.
 */
#include "replay/parts.h"

#include "base/mem.h"
#include "base/sorted.h"

#include <errno.h>

enum {
	STEPS_BETWEEN = 8, /* between the poll and the read: the lock of an event loop, say */
	WAITS_LEAST = 4,
	PAGE = 4096, /* a pipe has places for pages, and one that is read in part is not free yet */
	PAGES_LEAST = 4,
};

static bool is_eventfd(const struct event *event)
{
	return event->object & EVENT_EVENTFD;
}

/* A pipe is one object to all processes. */
static struct load_object *passage_of(
	struct replay *replay, const struct event *event, uint32_t *ret_index)
{
	*ret_index =
		load_object(replay, is_eventfd(event) ? event->pid : 0, WHAT_QUEUE, event->object);
	return *ret_index == REPLAY_NONE ? NULL : &replay->objects[*ret_index];
}

static bool is_for_file(const struct replay *replay, const struct step *step)
{
	return step->kind == STEP_SLEEP && step->object != REPLAY_NONE &&
	       replay->objects[step->object].what == WHAT_IO;
}

static uint64_t bytes_of(const struct load_object *passage)
{
	return passage->write_count > 0 ? passage->written[passage->write_count - 1] : 0;
}

static uint64_t left_in(const struct load_object *passage)
{
	uint64_t written = bytes_of(passage);
	return written > passage->read ? written - passage->read : 0;
}

void passages_wait(const struct replay *replay, struct load_thread *thread)
{
	if (thread->written > 0)
		thread->left = left_in(&replay->objects[thread->written - 1]);
}

static void note_write(struct load_object *passage, uint64_t bytes)
{
	uint64_t left = left_in(passage);
	passage->most_written = bytes > passage->most_written ? bytes : passage->most_written;
	passage->most_left = left > passage->most_left ? left : passage->most_left;
}

/* By how many bytes a full pipe may hold more at one time than at another. */
static uint64_t fullness(const struct load_object *passage)
{
	return passage->most_written < PAGE && passage->most_left >= PAGES_LEAST * PAGE
		       ? PAGE
		       : passage->most_written;
}

static void note_wait(struct load_object *passage, uint64_t left)
{
	uint64_t within = fullness(passage);
	bool is_near = left <= passage->wait_left + within && left + within >= passage->wait_left;
	passage->write_waits++;
	if (passage->wait_votes == 0 || (is_near && left > passage->wait_left))
		passage->wait_left = left;
	passage->wait_votes += passage->wait_votes == 0 || is_near ? 1 : -1;
}

/*
 * Writes wait because it is full, or seem to because they have no core, as full as it may be: it is bounded if most waited at about
 * one number, near the most that it ever held. What is being read is still counted as left.
 */
static bool is_bounded(const struct load_object *passage)
{
	return passage->wait_votes >= WAITS_LEAST &&
	       passage->wait_votes >= passage->write_waits / 4 &&
	       passage->wait_left >= 2 * passage->most_written &&
	       passage->wait_left + fullness(passage) + passage->most_written >= passage->most_left;
}

/* Before a write, as much room as it takes; a semaphore. 0 or -ENOMEM. */
static int push_room(
	struct replay *replay, struct load_thread *thread, const struct event *event, bool is_write)
{
	uint32_t room = load_object(replay, 0, WHAT_ROOM, event->object);
	struct step *step = room == REPLAY_NONE
				    ? NULL
				    : load_push(thread, is_write ? STEP_SEM_WAIT : STEP_SEM_POST);
	if (!step)
		return -ENOMEM;
	step->object = room;
	step->site = event->site;
	step->amount = is_write ? replay->objects[room].turns++ : event->value;
	step->other = is_write ? (uint32_t)event->value : REPLAY_NONE;
	return 0;
}

/*
 * A write that had to wait, or was without a core meanwhile, is told of when it is over. Who reads has had it since it began: so it
 * comes before that wait, which waits for nothing if it waits for room.
 */
static void put_before_wait(struct load_thread *thread, size_t first)
{
	struct step *wait = &thread->steps[first - 1], kept = *wait;
	for (size_t i = first; i < thread->count; i++)
		thread->steps[i - 1] = thread->steps[i];
	wait->work_ns = kept.work_ns;
	wait->stretch = kept.stretch;
	wait->wakes = kept.wakes;
	kept.work_ns = 0;
	kept.wakes = 0;
	thread->steps[thread->count - 1] = kept;
}

int passages_put(struct replay *replay, uint32_t index, const struct event *event)
{
	uint32_t object;
	struct load_thread *thread = &replay->threads[index];
	size_t first = thread->count;
	const struct step *last = first > 0 ? &thread->steps[first - 1] : NULL;
	bool has_waited = last && is_for_file(replay, last) && thread->passed_ns == event->time_ns;
	if (!is_eventfd(event) && push_room(replay, thread, event, true) < 0)
		return -ENOMEM;
	struct step *step = load_push(thread, STEP_SEM_POST);
	struct load_object *passage = passage_of(replay, event, &object);
	if (!step || !passage ||
		mem_grow(&passage->written, &passage->write_capacity, passage->write_count + 1,
			sizeof *passage->written) < 0)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->amount = 1;
	if (has_waited) {
		put_before_wait(thread, first);
		thread->steps[thread->count - 1].other = object;
		thread->steps[thread->count - 1].is_all = true;
		if (thread->written == object + 1)
			note_wait(passage, thread->left);
	}
	passage->written[passage->write_count++] = bytes_of(passage) + event->value;
	passage->has_bytes |= event->value > 0;
	note_write(passage, event->value);
	thread->written = object + 1;
	return 0;
}

static bool ends_before(const void *item, const void *key)
{
	return *(const uint64_t *)item < *(const uint64_t *)key;
}

/*
 * How many writes there were until the one with the last byte that was read. One more than seen: that is told of later, unless the
 * read before took several, the last of which may have come after it.
 */
static size_t writes_until(const struct load_object *passage, const struct event *event)
{
	size_t count = passage->write_count, taken = passage->writes_taken;
	bool takes_all = is_eventfd(event) || event->value == 0;
	if (takes_all && count <= taken && passage->last_taken > 1)
		return taken;
	if (takes_all ? count <= taken : passage->read > bytes_of(passage))
		return (count > taken ? count : taken) + 1;
	return takes_all ? count
			 : sorted_before(passage->written, count, sizeof *passage->written,
				   ends_before, &passage->read) +
				   1;
}

/* The wait for files that this read is the end of; NULL: it did not wait. */
static struct step *find_poll(const struct replay *replay, struct load_thread *thread)
{
	for (size_t n = 0, i = thread->count; n < STEPS_BETWEEN && i-- > 0; n++) {
		struct step *step = &thread->steps[i];
		if (is_for_file(replay, step))
			return step->other == REPLAY_NONE || step->is_all ? step : NULL;
		if (!step_is_look(step))
			return NULL;
	}
	return NULL;
}

int passages_take(struct replay *replay, uint32_t index, const struct event *event)
{
	uint32_t object;
	struct load_object *passage = passage_of(replay, event, &object);
	struct load_thread *thread = &replay->threads[index];
	if (!passage)
		return -ENOMEM;
	passage->read += event->value;
	struct step *poll = find_poll(replay, thread);
	if (poll) {
		poll->other = object;
		poll->is_all = false;
	}
	struct step *step = load_push(thread, STEP_SEM_WAIT);
	if (!step)
		return -ENOMEM;
	size_t until = writes_until(passage, event);
	step->object = object;
	step->site = event->site;
	step->amount = passage->turns++;
	step->is_all = event->value == 0 && !is_eventfd(event);
	step->other = until > passage->writes_taken ? (uint32_t)(until - passage->writes_taken) : 0;
	passage->last_taken = step->other;
	if (until > passage->writes_taken)
		passage->writes_taken = until;
	return is_eventfd(event) ? 0 : push_room(replay, thread, event, false);
}

/* As many reads as writes: see above. */
static bool takes_one(const struct load_object *passage)
{
	return passage->address & EVENT_EVENTFD && passage->turns == passage->write_count;
}

static bool is_known(const struct load_object *passage)
{
	bool is_event = passage->address & EVENT_EVENTFD;
	bool is_covered =
		is_event ? takes_one(passage) || passage->writes_taken <= passage->write_count
			 : passage->read <= bytes_of(passage);
	return passage->has_bytes && passage->turns > 0 && is_covered;
}

static void settle_room(struct replay *replay, struct step *step)
{
	struct load_object *room = &replay->objects[step->object];
	const uint64_t *place =
		map_find(&replay->object_index, WHAT_QUEUE, room->address); /* of all processes */
	const struct load_object *passage = &replay->objects[*place];
	room->value = passage->wait_left;
	bool is_nothing = step->kind == STEP_SEM_WAIT ? step->other == 0 : step->amount == 0;
	if (!is_known(passage) || !is_bounded(passage) || is_nothing)
		step->kind = STEP_NOTHING;
}

/* The wait of a write: for room, if that is what writes wait for. */
static void settle_write(const struct replay *replay, struct step *step)
{
	const struct load_object *passage = &replay->objects[step->other];
	step->other = REPLAY_NONE;
	step->is_all = false;
	if (is_known(passage) && is_bounded(passage))
		step->kind = STEP_NOTHING;
}

static void settle(const struct replay *replay, struct step *step)
{
	bool is_wait = is_for_file(replay, step) && step->other != REPLAY_NONE;
	const struct load_object *passage = &replay->objects[is_wait ? step->other : step->object];
	if (is_wait)
		step->other = REPLAY_NONE;
	bool takes = step->kind == STEP_SEM_WAIT;
	if (takes && takes_one(passage))
		step->other = 1;
	bool has_all = takes && step->other == 0; /* the rest of what it has waited for before */
	bool is_untold = takes && step->is_all && passage->writes_taken > passage->write_count;
	if (is_wait == is_known(passage) || has_all || is_untold)
		step->kind = STEP_NOTHING;
}

static bool is_of(const struct replay *replay, const struct step *step, unsigned what)
{
	return (step->kind == STEP_SEM_WAIT || step->kind == STEP_SEM_POST) &&
	       replay->objects[step->object].what == what;
}

void passages_settle(struct replay *replay)
{
	for (size_t i = 0; i < replay->thread_count; i++)
		for (size_t k = 0; k < replay->threads[i].count; k++) {
			struct step *step = &replay->threads[i].steps[k];
			bool is_wait = is_for_file(replay, step) && step->other != REPLAY_NONE;
			if (is_of(replay, step, WHAT_ROOM))
				settle_room(replay, step);
			else if (is_wait && step->is_all)
				settle_write(replay, step);
			else if (is_wait || is_of(replay, step, WHAT_QUEUE))
				settle(replay, step);
		}
}
