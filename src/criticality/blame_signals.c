/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who lets others go: the last at a barrier, who signals, who wakes at a futex. */
#include "criticality/blame_parts.h"

#include <errno.h>

/* An episode of a barrier is over for good: nobody can be the last to arrive any more. */
int episode_end(struct blame *blame, const struct account *account, struct object *object)
{
	if (!object->is_open)
		return 0;
	uint64_t end = object->has_left ? object->end_ns : account->now_ns;
	if (object->arrivals > 1 &&
		object->others_ns / (object->arrivals - 1) < object->late_ns / SERIAL_RATIO)
		object->serial_ns += end - object->open_ns;
	object->episodes++;
	object->blame += object->late_units;
	object->is_open = object->has_left = false;
	return blame_pair(&blame->by_thread, object_index(blame, object), object->late_thread,
		object->late_units);
}

int episode_begin(struct blame *blame, const struct account *account, struct object *object)
{
	int code = episode_end(blame, account, object);
	object->is_open = true;
	object->others_ns = object->late_ns = object->arrivals = 0;
	return code;
}

/* What a thread worked since its last barrier: processor time where that is known. */
static uint64_t work_since(const struct account *account, const struct thread *thread,
	const struct blame_thread *mine, const struct event *event)
{
	uint64_t begin = mine->barrier_ns;
	if (event->cpu_ns > mine->barrier_cpu_ns)
		return event->cpu_ns - mine->barrier_cpu_ns;
	if (thread->is_active && thread->since_ns > begin)
		begin = thread->since_ns;
	return account->now_ns - begin;
}

/* The later it comes, the better it explains what the others waited for. */
void episode_arrive(struct blame *blame, struct object *object, const struct account *account,
	uint32_t index, const struct event *event)
{
	const struct thread *thread = &account->threads[index];
	if (!object->is_open)
		return;
	object->others_ns += object->late_ns;
	object->late_ns = work_since(account, thread, &blame->threads[index], event);
	object->arrivals++;
	object->late_thread = index;
	object->late_units = account_since(account, thread, object->wait_g);
	if (object->has_left) { /* it let them go, and was recorded after they went */
		uint64_t after = account->g - object->end_g;
		object->late_units = object->late_units > after ? object->late_units - after : 0;
	}
}

void episode_leave(struct object *object, const struct account *account)
{
	if (object->what != WHAT_BARRIER || object->has_left)
		return;
	object->has_left = true;
	object->end_g = object->kept_g = account->g;
	object->end_ns = object->kept_ns = account->now_ns;
}

bool is_kept(const struct blame *blame, uint32_t index)
{
	const struct blame_thread *mine = &blame->threads[index];
	const struct object *object = mine->object > 0 ? &blame->objects[mine->object - 1] : NULL;
	return object && object->what == WHAT_BARRIER && object->has_left &&
	       mine->wait_ns <= object->kept_ns;
}

int keep_end(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	uint32_t number = blame->threads[index].object - 1;
	struct object *object = &blame->objects[number];
	uint32_t waker = index_find_rarely(&account->index, event->pid, (uint32_t)event->value);
	if (event->value == 0 || waker == INDEX_NONE || waker >= blame->thread_count)
		return 0;
	uint64_t units = account_since(account, &account->threads[waker], object->kept_g);
	object->serial_ns += account->now_ns - object->kept_ns;
	object->kept_g = account->g;
	object->kept_ns = account->now_ns;
	object->blame += units;
	return blame_pair(&blame->by_thread, number, waker, units);
}

void keep_forget(struct blame *blame, const struct account *account, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	struct object *object = &blame->objects[mine->object - 1];
	object_settle(object, account);
	object->waited_ns += object->kept_ns - mine->wait_ns;
	if (--object->waiters == 0 && object->kept_ns > object->busy_since_ns)
		object->contended_ns += object->kept_ns - object->busy_since_ns;
	mine->object = 0;
}

/* Who signals was waited for since the first waiter came, or since the last signal. */
int object_signal(
	struct blame *blame, const struct account *account, uint32_t index, struct object *object)
{
	if (object->waiters == 0)
		return 0;
	uint64_t units = account_since(account, &account->threads[index], object->wait_g);
	uint32_t sample = blame->threads[index].sample;
	object->blame += units;
	object->wait_g = account->g;
	if (units > object->most_units && sample > 0) {
		object->most_units = units;
		object->most_sample = sample;
	}
	return blame_pair(&blame->by_thread, object_index(blame, object), index, units);
}

int semaphore_post(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct object *object = blame_object(blame, event->pid, event->what, event->object);
	if (!object)
		return -ENOMEM;
	bool is_holder = hold_find(&blame->threads[index], object_index(blame, object)) != NULL;
	if (object->waiters > 0) {
		uint64_t *ended_ns = is_holder ? &object->returned_ns : &object->signalled_ns;
		*ended_ns += account->now_ns - object->open_ns;
		object->open_ns = account->now_ns;
	}
	int code = object_signal(blame, account, index, object);
	return code < 0 ? code : hold_give_back(blame, account, index, event);
}

/* What a waiter worked before it came: futex_signal() compares. */
void futex_arrive(struct object *object, const struct account *account, uint32_t index)
{
	if (object->waiters == 0)
		object->others_ns = object->arrivals = 0;
	object->others_ns += account->now_ns - account->threads[index].since_ns;
	object->arrivals++;
}

/* Who wakes from where it waits itself at other times passes a lock on, or is in a barrier. */
static int count_wake(struct blame *blame, struct object *object, uint32_t waker, uint32_t woken)
{
	uint32_t number = object_index(blame, object);
	struct pairing *waiter = blame_pairing(&blame->by_thread, number, woken);
	if (!waiter)
		return -ENOMEM;
	waiter->count++;
	struct pairing *pairing = blame_pairing(&blame->by_thread, number, waker);
	if (!pairing)
		return -ENOMEM;
	object->wakes++;
	object->wakes_by_waiters += pairing->count > 0;
	blame->threads[waker].woke = number + 1;
	return 0;
}

/* A thread's exit may be recorded just before it wakes who waits for that. */
static bool has_exited(const struct account *account, uint32_t tid)
{
	for (uint32_t i = 0; i < EXITED_MAX; i++)
		if (account->exited[i] == tid)
			return true;
	return false;
}

/* The waker that the kernel names signals what has no events of its own. */
int futex_signal(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	uint32_t number = blame->threads[index].object;
	struct object *object = number > 0 ? &blame->objects[number - 1] : NULL;
	if (!object || event->value == 0 || object->what != WHAT_FUTEX)
		return 0;
	uint32_t waker = index_find_rarely(&account->index, event->pid, (uint32_t)event->value);
	if (waker == INDEX_NONE && has_exited(account, (uint32_t)event->value)) {
		object->wakes++;
		object->exit_wakes++;
	}
	if (waker == INDEX_NONE || waker >= blame->thread_count)
		return 0;
	uint64_t late_ns = account->now_ns - account->threads[waker].since_ns;
	if (object->arrivals > 0 && object->others_ns / object->arrivals < late_ns / SERIAL_RATIO)
		object->serial_ns += account->now_ns - object->open_ns;
	object->arrivals = 0;
	int code = count_wake(blame, object, waker, index);
	return code < 0 ? code : object_signal(blame, account, waker, object);
}

int turn_end(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct blame_thread *mine = &blame->threads[index];
	uint32_t number = mine->last_object - 1;
	if (event->value == 0 || !what_is_signalled(blame->objects[number].what))
		return 0;
	uint32_t waker = index_find_rarely(&account->index, event->pid, (uint32_t)event->value);
	struct pairing *pairing = blame_pairing(&blame->by_thread, number, index);
	if (!pairing)
		return -ENOMEM;
	if (waker == INDEX_NONE || waker == index || waker >= blame->thread_count)
		return 0;
	uint64_t lost = mine->lost + mine->timed_out;
	mine->timed_out = 0;
	pairing->lost += lost;
	mine->ended_by_others += lost;
	blame->threads[waker].ended += lost;
	return 0;
}

/*
 * The last that a thread does is to wake who waits for its end, and its exit comes next: that wait
 * was not for something that the thread could have done sooner.
 */
void futex_find_join(struct blame *blame, uint32_t index, const struct event *event)
{
	struct blame_thread *mine = &blame->threads[index];
	if (mine->woke > 0 && event->kind == EVENT_THREAD_EXIT)
		blame->objects[mine->woke - 1].exit_wakes++;
	if (event->kind != EVENT_RUN && event->kind != EVENT_PREEMPT)
		mine->woke = 0;
}

int episode_pass(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct object *object = blame_object(blame, event->pid, event->what, event->object);
	if (!object)
		return -ENOMEM;
	if (!(event->flags & EVENT_WAITED)) {
		episode_arrive(blame, object, account, index, event);
		episode_leave(object, account);
	}
	blame->threads[index].barrier_ns = account->now_ns;
	blame->threads[index].barrier_cpu_ns = event->cpu_ns;
	return 0;
}
