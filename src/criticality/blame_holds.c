/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who holds a lock, and what that costs others. */
#include "criticality/blame_parts.h"

#include "base/mem.h"

#include <errno.h>

/* What the holders have accrued since the last change of anything about the object. */
void object_settle(struct object *object, const struct account *account)
{
	if (object->waiters > 0) {
		uint64_t grown = account->g - object->settled_g;
		object->own_g += grown;
		object->held_blame += object->active_holders * grown;
		if (object->blocked_holders > 0) {
			uint64_t idle = (account->idle_ns - object->settled_idle_ns) << UNIT_SHIFT;
			object->held_blame += idle;
			object->own_idle += idle / object->blocked_holders;
		}
	}
	uint64_t w = account->w[RANK_WORKER] + account->w[RANK_STANDBY];
	uint64_t w_idle = account->w_idle[RANK_WORKER] + account->w_idle[RANK_STANDBY];
	object->queued += object->waiters * (w - object->settled_w);
	object->queued_idle += object->waiters * (w_idle - object->settled_w_idle);
	object->settled_w = w;
	object->settled_w_idle = w_idle;
	object->settled_g = account->g;
	object->settled_idle_ns = account->idle_ns;
}

void holds_await(struct blame *blame, const struct account *account, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	for (size_t i = 0; i < mine->count; i++) {
		struct object *object = &blame->objects[mine->holds[i].object];
		object_settle(object, account);
		mine->holds[i].queued = object->queued;
		mine->holds[i].queued_idle = object->queued_idle;
	}
}

/* Of several holders (readers, tokens) it is not this one alone that others wait for. */
void holds_pass_on(
	struct blame *blame, const struct account *account, uint32_t index, struct object *to)
{
	struct blame_thread *mine = &blame->threads[index];
	for (size_t i = 0; i < mine->count; i++) {
		struct object *object = &blame->objects[mine->holds[i].object];
		if ((object->what != WHAT_MUTEX && object->what != WHAT_SPIN) || object == to)
			continue;
		object_settle(object, account);
		uint64_t loss = object->queued - mine->holds[i].queued;
		uint64_t idle_loss = object->queued_idle - mine->holds[i].queued_idle;
		object->passed_on += loss;
		object->passed_on_idle += idle_loss;
		to->taken_over += loss;
		to->taken_over_idle += idle_loss;
	}
}

/*
 * Counts a holder, or (by = -1) no longer counts it and blames it for the stretch that ends; one
 * that waits for a thread holds nobody up. The object is settled.
 */
static void count_holder(struct object *object, struct hold *hold, const struct account *account,
	uint32_t index, int by)
{
	const struct thread *thread = &account->threads[index];
	bool is_blocked = thread->is_waiting && !what_is_held_up(thread->what);
	if (!thread->is_active && !is_blocked)
		return;
	uint64_t own = thread->is_active ? object->own_g : object->own_idle;
	*(thread->is_active ? &object->active_holders : &object->blocked_holders) += (uint32_t)by;
	if (by < 0)
		hold->blame += own - hold->mark;
	if (by < 0 && is_blocked)
		hold->blocked_ns += account->now_ns - hold->mark_ns;
	hold->mark = own;
	hold->mark_ns = account->now_ns;
}

struct hold *hold_find(struct blame_thread *mine, uint32_t object)
{
	for (size_t i = mine->count; i-- > 0;)
		if (mine->holds[i].object == object)
			return &mine->holds[i];
	return NULL;
}

static void drop_hold(struct blame_thread *mine, const struct hold *hold)
{
	size_t at = (size_t)(hold - mine->holds);
	for (mine->count--; at < mine->count; at++)
		mine->holds[at] = mine->holds[at + 1];
}

static int push_hold(struct blame *blame, const struct account *account, uint32_t index,
	struct object *object, struct hold hold)
{
	struct blame_thread *mine = &blame->threads[index];
	if (mem_grow(&mine->holds, &mine->capacity, mine->count + 1, sizeof *mine->holds) < 0)
		return -ENOMEM;
	object_settle(object, account);
	hold.object = object_index(blame, object);
	hold.since_ns = account->now_ns;
	mine->holds[mine->count] = hold;
	count_holder(object, &mine->holds[mine->count++], account, index, 1);
	return 0;
}

/* A lock is given back: what it cost others meanwhile goes to who held it and from where. */
int hold_end(struct blame *blame, const struct account *account, uint32_t index, struct hold *hold)
{
	struct object *object = &blame->objects[hold->object];
	object_settle(object, account);
	count_holder(object, hold, account, index, -1);
	struct hold ended = *hold;
	drop_hold(&blame->threads[index], hold);
	if (ended.is_coming)
		return 0;
	uint64_t held_ns = account->now_ns - ended.since_ns;
	object->held_ns += held_ns;
	object->unseen_held_ns += (uint64_t)((unsigned __int128)held_ns * ended.shares / SHARE_ONE);
	if (ended.blame == 0 && ended.blocked_ns == 0)
		return 0;
	struct pairing *pairing = blame_pairing(&blame->by_thread, ended.object, index);
	if (!pairing)
		return -ENOMEM;
	pairing->held_blame += ended.blame;
	pairing->blocked_ns += ended.blocked_ns;
	return blame_pair_held(&blame->by_site, ended.object, ended.site, ended.blame);
}

int hold_end_coming(struct blame *blame, const struct account *account, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	for (size_t i = mine->count; i-- > 0;)
		if (mine->holds[i].is_coming)
			(void)hold_end(
				blame, account, index, &mine->holds[i]); /* needs no memory */
	return 0;
}

/* The free acquisitions that this one stands for. */
static uint64_t take_shares(struct blame_thread *mine, const struct event *event)
{
	if (mine->burst == 0 || !event_is_free_lock(event))
		return 0;
	mine->burst--;
	return mine->burst_shares;
}

/*
 * Who takes what others post never gives it back: of many semaphores such a thread counts as a holder
 * of those that it took from last, so that an event's time is bounded.
 */
static void forget_token(struct blame *blame, const struct account *account, uint32_t index)
{
	enum { SEMAPHORES_HELD = 8 }; /* at once: as deep as anyone nests them */
	struct blame_thread *mine = &blame->threads[index];
	struct hold *oldest = NULL;
	size_t count = 0;
	for (size_t i = mine->count; i-- > 0;)
		if (blame->objects[mine->holds[i].object].what == WHAT_SEM) {
			oldest = &mine->holds[i];
			count++;
		}
	if (count < SEMAPHORES_HELD)
		return;
	oldest->is_coming = true; /* it was never held */
	(void)hold_end(blame, account, index, oldest); /* needs no memory */
}

int hold_take(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct object *object = blame_object(blame, event->pid, event->what, event->object);
	if (!object)
		return -ENOMEM;
	if (!object->site)
		object->site = event->site;
	struct hold *hold = hold_find(&blame->threads[index], object_index(blame, object));
	uint64_t shares = take_shares(&blame->threads[index], event);
	object->acquisitions += account->is_inside;
	object->unseen_shares += account->is_inside ? shares : 0;
	blame->free_locks += account->is_inside && event_is_free_lock(event);
	if (!hold && event->what == WHAT_SEM)
		forget_token(blame, account, index);
	if (!hold)
		return push_hold(blame, account, index, object,
			(struct hold){ .site = event->site, .shares = shares });
	if (!hold->is_coming) {
		hold->depth++;
		return 0;
	}
	hold->is_coming = false;
	hold->site = event->site;
	hold->shares = shares;
	hold->since_ns = account->now_ns;
	return 0;
}

/* What was left out before it counts as its first acquisitions. */
void hold_burst(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct blame_thread *mine = &blame->threads[index];
	bool is_sane = event->object > 0 && event->value < UINT64_MAX / SHARE_ONE;
	mine->burst = event->object;
	mine->burst_shares = is_sane ? event->value * SHARE_ONE / event->object : 0;
	blame->left_out += account->is_inside ? event->value : 0;
}

int hold_give_back(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	uint64_t kind = (uint64_t)event->what << 32 | event->pid;
	uint32_t object = index_find(&blame->index, event->object, kind);
	struct hold *hold = object == INDEX_NONE ? NULL : hold_find(&blame->threads[index], object);
	if (!hold) /* taken before recording began */
		return 0;
	if (hold->depth > 0) {
		hold->depth--;
		return 0;
	}
	return hold_end(blame, account, index, hold);
}

/* Who was woken to take a free lock holds the others up until it has it. */
int hold_expect(struct blame *blame, const struct account *account, uint32_t index)
{
	uint32_t number = blame->threads[index].last_object;
	struct object *object = number > 0 ? &blame->objects[number - 1] : NULL;
	if (!object || !what_is_held(object->what) ||
		object->active_holders + object->blocked_holders > 0 ||
		hold_find(&blame->threads[index], number - 1))
		return 0;
	return push_hold(blame, account, index, object, (struct hold){ .is_coming = true });
}

void hold_recount(struct blame *blame, const struct account *account, uint32_t index, int by)
{
	struct blame_thread *mine = &blame->threads[index];
	for (size_t i = 0; i < mine->count; i++) {
		struct object *object = &blame->objects[mine->holds[i].object];
		object_settle(object, account);
		count_holder(object, &mine->holds[i], account, index, by);
	}
}
