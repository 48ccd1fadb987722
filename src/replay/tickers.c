/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that do something from time to time until they are told to stop (audits, statistics, flushes): how often says how
 * long the others took, and in a profile how long the emulator did.
 *
 *	joiner	works ...                      [ joins ] goes on
 *	ticker	pause x pause x pause x ... pause x end
 *
 * Pauses (sleeps, waits for a condition whose time ran out) at one place, TICKS_LEAST or more, with nothing between that
 * another thread could wait for but locks; and it ends within one round of being joined, a chance of one in TICKS_LEAST
 * for a fixed number. In the replay it does rounds, the recorded ones and then those again, until it is joined. See also
 * builder/tickers.h, of models, and polls.c, of those that only look.
 */
#include "replay/player.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* LAPS_MAX: of all recorded rounds; a joiner that does not come by then never does. */
enum { TICKS_LEAST = 20, LAPS_MAX = 1000 };

static const uint32_t SEVERAL = UINT32_MAX;

void tickers_pause(struct load_thread *thread)
{
	struct load_ticks *ticks = &thread->ticks;
	uint64_t site = thread->steps[thread->wait_step - 1].site;
	if (ticks->count == 0 || ticks->site != site)
		*ticks = (struct load_ticks){ .site = site,
			.join_step = ticks->join_step,
			.joiner = ticks->joiner,
			.joined_ns = ticks->joined_ns };
	else if (thread->wait_ns - ticks->last_ns > ticks->longest_ns)
		ticks->longest_ns = thread->wait_ns - ticks->last_ns;
	ticks->last_ns = thread->wait_ns;
	ticks->count++;
}

void tickers_joined(struct replay *replay, uint32_t joiner, uint32_t joined)
{
	const struct load_thread *thread = &replay->threads[joiner];
	if (joined == REPLAY_NONE || joined == joiner)
		return;
	struct load_ticks *ticks = &replay->threads[joined].ticks;
	ticks->joiner = joiner;
	ticks->join_step = thread->wait_step;
	ticks->joined_ns = thread->wait_ns;
}

/* A pause, or one that polls.c or waits.c took away. */
static bool is_tick(const struct load_thread *thread, size_t at)
{
	const struct step *step = &thread->steps[at];
	uint8_t kind = step->kind == STEP_NOTHING ? step->was : step->kind;
	return (kind == STEP_SLEEP || kind == STEP_TIMED_WAIT) && step->site == thread->ticks.site;
}

/* A wait for the condition that is no pause. */
static bool is_told(const struct step *step, uint32_t cond)
{
	return (step->kind == STEP_DECIDE || step->kind == STEP_AWAIT_SIGNAL) &&
	       step->object == cond;
}

/* By object: who waits for it as for a condition, plus one; 0: nobody, SEVERAL. NULL without memory. Owned by the caller. */
static uint32_t *find_waiters(const struct replay *replay)
{
	uint32_t *ret = calloc(replay->object_count + 1, sizeof *ret);
	for (uint32_t i = 0; ret && i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		for (size_t k = 0; k < thread->count; k++) {
			const struct step *step = &thread->steps[k];
			if (step->kind != STEP_DECIDE && step->kind != STEP_AWAIT_SIGNAL &&
				step->kind != STEP_TIMED_WAIT)
				continue;
			uint32_t *waiter = &ret[step->object];
			*waiter = *waiter == 0 || *waiter == i + 1 ? i + 1 : SEVERAL;
		}
	}
	return ret;
}

/* Nobody else waits for it, other than for a lock to be given back. */
static bool is_own(const struct step *step, uint32_t index, const uint32_t *waiters)
{
	switch ((enum step_kind)step->kind) {
	case STEP_NOTHING:
	case STEP_YIELD:
	case STEP_LOCK:
	case STEP_UNLOCK:
	case STEP_SLEEP:
	case STEP_TIMED_WAIT:
	case STEP_MARK:
		return !step->is_pooled;
	case STEP_PUT:
	case STEP_DECIDE:
	case STEP_AWAIT_SIGNAL:
		return waiters[step->object] == 0 || waiters[step->object] == index + 1;
	default:
		return false;
	}
}

/* Finds the pauses and checks what is between; the locks that it holds in all of them must be as many. */
static bool find_rounds(const struct replay *replay, uint32_t index, const uint32_t *waiters)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_ticks *ticks = &thread->ticks;
	uint32_t cond = REPLAY_NONE;
	int held = 0, held_first = 0;
	size_t count = 0, told = 0;
	for (size_t i = 0; i + 1 < thread->count; i++) {
		const struct step *step = &thread->steps[i];
		held += step->kind == STEP_LOCK;
		held -= step->kind == STEP_UNLOCK;
		if (is_tick(thread, i)) {
			ticks->first = count++ == 0 ? i : ticks->first;
			ticks->last = ticks->end = i;
			held_first = count == 1 ? held : held_first;
			cond = step->other == REPLAY_NONE ? REPLAY_NONE : step->object;
			told = 0;
		} else if (count > 0 && is_told(step, cond)) {
			ticks->end = i;
			told++;
		}
		if (count > 0 && ((is_tick(thread, i) && held != held_first) ||
					 !is_own(step, index, waiters)))
			return false;
	}
	return count >= TICKS_LEAST && told <= 1;
}

static uint64_t work_between(const struct load_thread *thread, size_t begin, size_t end)
{
	uint64_t ret = 0;
	for (size_t i = begin; i < end; i++)
		ret += thread->steps[i].work_ns;
	return ret;
}

static void begin_rounds(struct replay *replay, struct load_thread *thread)
{
	struct load_ticks *ticks = &thread->ticks;
	uint64_t rounds_ns = work_between(thread, ticks->first + 1, ticks->last + 1);
	uint64_t tail_ns = work_between(thread, ticks->end + 1, thread->count);
	ticks->ends_before = tail_ns > rounds_ns / ticks->count / 2;
	for (size_t i = ticks->first; i <= ticks->last; i++) {
		struct step *step = &thread->steps[i];
		if (step->kind == STEP_NOTHING)
			step->kind = step->was;
		if (step->is_poll)
			step->amount = replay->polls[step->amount].pause_ns;
		step->is_poll = false;
	}
	replay->facts.tickers++;
}

static bool may_tick(const struct load_thread *thread)
{
	const struct load_ticks *ticks = &thread->ticks;
	return ticks->count >= TICKS_LEAST && ticks->join_step > 0 && thread->has_exited &&
	       thread->ended_ns >= ticks->joined_ns &&
	       thread->ended_ns - ticks->joined_ns <= ticks->longest_ns;
}

int tickers_find(struct replay *replay)
{
	AUTO_FREE uint32_t *waiters = NULL;
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		struct load_thread *thread = &replay->threads[i];
		if (!may_tick(thread))
			continue;
		if (!waiters && !(waiters = find_waiters(replay)))
			return -ENOMEM;
		thread->ticks.are_by_time = find_rounds(replay, i, waiters);
		if (thread->ticks.are_by_time)
			begin_rounds(replay, thread);
	}
	return 0;
}

void tickers_forget(struct replay *replay)
{
	for (size_t i = 0; i < replay->thread_count; i++)
		replay->threads[i].ticks.are_by_time = false;
	replay->facts.tickers = 0;
}

static bool was_joined(const struct player *player, const struct load_ticks *ticks)
{
	const struct play_thread *joiner = &player->threads[ticks->joiner];
	if (joiner->list != ticks->joiner || joiner->is_over)
		return true;
	return joiner->at >= ticks->join_step ||
	       (joiner->at + 1 == ticks->join_step && joiner->has_come);
}

bool tickers_end(struct player *player, uint32_t index)
{
	const struct load_thread *thread = &player->replay->threads[index];
	struct play_thread *play = &player->threads[index];
	if (!thread->ticks.are_by_time || play->list != index || !is_tick(thread, play->at))
		return false;
	play->is_ticking = true;
	if (!thread->ticks.ends_before || !was_joined(player, &thread->ticks))
		return false;
	play->at = thread->count - 2; /* then its end */
	return true;
}

void tickers_go_on(struct player *player, uint32_t index)
{
	const struct load_ticks *ticks = &player->replay->threads[index].ticks;
	struct play_thread *play = &player->threads[index];
	if (!play->is_ticking || play->stage > 0)
		return;
	play->is_ticking = false;
	if (play->at <= ticks->first || play->at > ticks->last + 1)
		return;
	if (play->laps >= LAPS_MAX || was_joined(player, ticks)) {
		play->at = ticks->end + 1;
	} else if (play->at > ticks->last) {
		play->at = ticks->first + 1;
		play->laps++;
	}
}
