/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When all events are known: how each object is played, and what a user can ask for by name. */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>

/* As much as the account of criticality holds. */
#define END_MAX_NS (UINT64_C(1) << 47)

/*
 * As its program said, or as many as were taken beyond that in the end. Else never less than 0, as far as was seen: nobody knows
 * how much more where nobody waited, and what follows at once on another core may be told before it.
 */
static void set_semaphore(struct load_object *sem)
{
	int64_t least = sem->first > 0 ? sem->balance : sem->least_balance;
	uint64_t lacks = least < 0 ? (uint64_t)-least : 0;
	sem->value = sem->first > lacks + 1 ? sem->first - 1 : lacks;
}

static void set_play(struct load_object *object)
{
	static const uint8_t plays[WHAT_COUNT] = { [WHAT_MUTEX] = PLAY_MUTEX,
		[WHAT_SPIN] = PLAY_SPIN,
		[WHAT_RWLOCK] = PLAY_RWLOCK,
		[WHAT_COND] = PLAY_COND,
		[WHAT_BARRIER] = PLAY_BARRIER,
		[WHAT_SEM] = PLAY_SEM,
		[WHAT_QUEUE] = PLAY_SEM };
	if (object->play == PLAY_NONE && object->what < WHAT_COUNT)
		object->play = plays[object->what];
	if (object->what == WHAT_JOINED || object->what == WHAT_FORKED ||
		object->what == WHAT_FORKED_NEXT || object->what == WHAT_ROOM)
		object->play = PLAY_SEM;
	else if (object->what == WHAT_SEM)
		set_semaphore(object);
	object->is_handed_over = object->handed_over > object->barged;
	object->writers_first = object->reader_yields > object->reader_passes;
}

static int collect_sites(struct replay *replay)
{
	AUTO_RELEASE(map) struct map seen = { 0 };
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		for (size_t k = 0; k < thread->count; k++) {
			uint64_t *place, site = thread->steps[k].site;
			int code = site ? map_add(&seen, thread->pid, site, 0, &place) : 0;
			if (code > 0 && mem_grow(&replay->sites, &replay->site_capacity,
						replay->site_count + 1, sizeof *replay->sites) < 0)
				code = -ENOMEM;
			if (code < 0)
				return code;
			if (code > 0)
				replay->sites[replay->site_count++] = (struct replay_target){
					.kind = REPLAY_SITE, .pid = thread->pid, .number = site
				};
		}
	}
	return 0;
}

int objects_finish(struct replay *replay, struct err *err)
{
	conds_settle(replay);
	size_t count = replay->object_count;
	for (uint32_t i = 0; i < count; i++)
		if (replay->objects[i].what == WHAT_BARRIER &&
			replay->objects[i].arrival_count > 0 && barriers_meet(replay, i) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < replay->object_count; i++)
		set_play(&replay->objects[i]);
	passages_settle(replay);
	costs_settle(replay);
	if (tickers_find(replay) < 0 || collect_sites(replay) < 0 || supplies_find(replay) < 0 ||
		pools_find(replay) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	replay->facts.threads = replay->thread_count;
	replay->facts.measured_ns = replay->end_ns;
	if (replay->thread_count == 0 || replay->end_ns == 0)
		return err_set(err, -EINVAL, "there is nothing to replay: no thread ran");
	if (replay->end_ns > END_MAX_NS)
		return err_set(err, -ERANGE, "a recording of more than 39 hours is not replayed");
	return 0;
}

void replay_facts(const struct replay *replay, struct replay_facts *ret)
{
	*ret = replay->facts;
}

bool replay_region(
	const struct replay *replay, size_t n, struct replay_target *ret, const char **ret_name)
{
	if (n >= replay->region_count)
		return false;
	*ret = replay->regions[n];
	*ret_name = event_names_find(&replay->names, ret->pid, WHAT_REGION, ret->number);
	return true;
}

bool replay_site(const struct replay *replay, size_t n, struct replay_target *ret)
{
	if (n >= replay->site_count)
		return false;
	*ret = replay->sites[n];
	return true;
}

/* Nearly all who post it had taken it: else it is a signal. */
static bool is_lock(const struct load_object *object)
{
	enum { FOREIGN_PART = 20 };
	if (object->what == WHAT_SEM)
		return object->posts > 0 &&
		       (object->posts - object->own_posts) * FOREIGN_PART <= object->posts;
	return load_is_lock(object->what);
}

/* A lock whose holders are known; NULL: another object, or a futex, of which only the waits are known. */
static const struct load_object *lock_of(
	const struct replay *replay, const struct replay_target *target)
{
	const uint64_t *place = map_find(
		&replay->object_index, (uint64_t)target->pid << 32 | target->what, target->number);
	return place && is_lock(&replay->objects[*place]) ? &replay->objects[*place] : NULL;
}

bool replay_can_speed_up(const struct replay *replay, const struct replay_target *target)
{
	return target->kind != REPLAY_LOCK || lock_of(replay, target);
}

bool replay_can_leave_out(const struct replay *replay, const struct replay_target *target)
{
	const struct load_object *lock = lock_of(replay, target);
	return lock && !lock->guards_condition;
}
