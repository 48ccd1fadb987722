/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks and semaphores that are taken in turns, in the recorded order: those of which the recording says it (the
 * ordered sections of an OpenMP loop), and those for which threads waited when a replay came to a deadlock. The
 * recorded order of all is one that comes through. A barrier at which threads wait for ever is none (threads of an OpenMP
 * team that run tasks while they wait, which a recording shows as coming and going): it lets all pass from then on.
 *
 * Whose turn it is not waits at a semaphore of its own. The turn passes when the object was taken; that of a mutex
 * which guards no condition when it is given back, as nobody could have it before.
 */
#include "replay/player.h"

#include <errno.h>

/* So often some of the objects that were waited for; then all. */
enum { SETTLE_MAX = 3 };

static bool can_take_turns(const struct load_object *object)
{
	return object->turns > 0 &&
	       (object->play == PLAY_MUTEX || object->play == PLAY_SPIN ||
		       object->play == PLAY_RWLOCK || object->play == PLAY_SEM);
}

static size_t settle(struct replay *replay, bool is_for_all)
{
	size_t count = 0;
	for (size_t i = 0; i < replay->object_count; i++) {
		struct load_object *object = &replay->objects[i];
		bool is_lock = can_take_turns(object);
		if (object->takes_turns || object->lets_pass ||
			!(object->was_awaited || (is_for_all && is_lock)))
			continue;
		object->takes_turns = is_lock;
		object->lets_pass = !is_lock;
		count++;
	}
	return count;
}

bool replay_settle(struct replay *replay)
{
	if (replay->was_poll_lost && replay->awaits_polls) {
		replay->awaits_polls = false;
		replay->facts.polls = 0;
		return true;
	}
	if (replay->deals_anew) {
		replay->deals_anew = false;
		replay->facts.supplies = replay->facts.dealt = replay->facts.shared_rounds = 0;
		return true;
	}
	if (replay->facts.tickers > 0) { /* turns are those of the recorded rounds */
		tickers_forget(replay);
		return true;
	}
	size_t count = replay->settled < SETTLE_MAX ? settle(replay, false) : 0;
	if (count == 0)
		count = settle(replay, true);
	replay->settled++;
	replay->facts.in_turns += count;
	return count > 0;
}

/* The object that a thread waits for, of which the replay came to a standstill, or wants to have back; REPLAY_NONE. */
static uint32_t awaited_by(
	const struct replay *replay, const struct step *step, const struct play_thread *thread)
{
	if (thread->awaited_with > 0)
		return thread->awaited_with - 1;
	switch (step->kind) {
	case STEP_LOCK:
	case STEP_SEM_WAIT:
		return step->object;
	case STEP_BARRIER:
		return replay->episodes[step->amount].object;
	case STEP_DOCK:
		return step->other;
	default:
		return REPLAY_NONE;
	}
}

void turns_note_stuck(const struct player *player)
{
	struct replay *replay = player->replay;
	for (size_t i = 0; i < replay->object_count; i++)
		replay->objects[i].was_awaited = false;
	for (size_t i = 0; i < replay->thread_count && player->threads; i++) {
		const struct play_thread *thread = &player->threads[i];
		const struct step *step = player_step(player, (uint32_t)i);
		if (thread->tid == 0 || !step)
			continue;
		uint32_t object = awaited_by(replay, step, thread);
		if (object != REPLAY_NONE)
			replay->objects[object].was_awaited = true;
	}
}

int turns_wait(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	struct play_thread *thread = &player->threads[index];
	uint64_t *place;
	if (!player->replay->objects[step->object].takes_turns ||
		step->amount <= player->turns[step->object])
		return 0;
	int code = map_add(&player->turn_waiters, step->object, step->amount, index, &place);
	if (code == 0) /* nobody has two turns at once */
		return -EINVAL;
	if (code < 0)
		return code;
	if (thread->turn_sem == SIM_NONE) {
		code = sim_add_sem(player->sim, NULL, 0, &thread->turn_sem);
		if (code == 0)
			code = player_add_to_table(player, SIM_SEM, thread->turn_sem, REPLAY_NONE);
		if (code < 0)
			return code;
	}
	op->kind = SIM_SEM_WAIT;
	op->object = thread->turn_sem;
	return 1;
}

bool turns_pass_when_given_back(const struct load_object *object)
{
	return object->takes_turns && object->play == PLAY_MUTEX && !object->guards_condition;
}

bool turns_pass(struct player *player, uint32_t object, struct sim_op *op)
{
	if (!player->replay->objects[object].takes_turns)
		return false;
	uint64_t next = ++player->turns[object];
	const uint64_t *place = map_find(&player->turn_waiters, object, next);
	if (!place)
		return false;
	op->kind = SIM_SEM_POST;
	op->object = player->threads[*place].turn_sem;
	op->amount = 1;
	(void)map_remove(&player->turn_waiters, object, next);
	return true;
}
