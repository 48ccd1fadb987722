/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions in the replay: who waits, by what a condition means or in the recorded order, and who is let go. */
#include "replay/player.h"

#include <errno.h>

/* The mutex is this thread's again when it is asked next. */
int play_wait_for(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	player->threads[index].awaited_with = step->other + 1;
	op->other = player->numbers[step->other];
	(void)play_op(op, SIM_COND_WAIT, player->numbers[step->object]);
	return PLAY_AGAIN;
}

static const struct meaning_cond *meaning_of(const struct player *player, uint32_t object)
{
	size_t count;
	return &meaning_conds(
		player->replay->opts.meaning, &count)[player->replay->objects[object].meaning];
}

static int decide_queue(struct player *player, uint32_t index, const struct step *step,
	const struct meaning_cond *meaning, struct sim_op *op)
{
	struct play_cond *cond = &player->conds[step->object];
	struct play_thread *thread = &player->threads[index];
	int64_t need = meaning->get_items;
	bool has_items = !meaning->is_initial_known || cond->items >= need;
	bool is_refused = deal_is_refused(player, index, step);
	if (cond->is_closed || (has_items && !is_refused)) {
		if (has_items && !is_refused)
			cond->items -= need;
		cond->refused_waiting -= thread->counts_as_refused;
		thread->counts_as_refused = false;
		return PLAY_DONE;
	}
	cond->refused_waiting += is_refused && !thread->counts_as_refused;
	thread->counts_as_refused |= is_refused;
	return play_wait_for(player, index, step, op);
}

static int decide_barrier(struct player *player, uint32_t index, const struct step *step,
	const struct meaning_cond *meaning, struct sim_op *op)
{
	struct play_cond *cond = &player->conds[step->object];
	struct play_thread *thread = &player->threads[index];
	if (thread->stage == 0) {
		thread->generation = cond->generation;
		if (++cond->arrived >= meaning->participants) {
			cond->arrived = 0;
			cond->generation++;
			return play_op(op, SIM_BROADCAST, player->numbers[step->object]);
		}
		thread->stage = 1;
	}
	return thread->generation != cond->generation ? PLAY_DONE
						      : play_wait_for(player, index, step, op);
}

int play_decide(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	const struct meaning_cond *meaning = meaning_of(player, step->object);
	struct play_cond *cond = &player->conds[step->object];
	struct play_thread *thread = &player->threads[index];
	uint64_t *passes = NULL;
	switch (meaning->kind) {
	case MEANING_QUEUE:
		return decide_queue(player, index, step, meaning, op);
	case MEANING_BARRIER:
		return decide_barrier(player, index, step, meaning, op);
	case MEANING_DRAIN:
		if (cond->items == 0 && !cond->is_closed)
			return play_wait_for(player, index, step, op);
		thread->has_nothing = cond->items == 0 && !step->is_refused;
		cond->rounds++;
		cond->items -= meaning->most > 0 && cond->items > (int64_t)meaning->most
				       ? (int64_t)meaning->most
				       : cond->items;
		return PLAY_DONE;
	case MEANING_GATE:
		return cond->opened > 0 ? PLAY_DONE : play_wait_for(player, index, step, op);
	case MEANING_GENERATIONS:
		if (map_add(&player->passes, index, step->object, 0, &passes) < 0)
			return -ENOMEM;
		if (cond->opened <= *passes)
			return play_wait_for(player, index, step, op);
		++*passes;
		return PLAY_DONE;
	case MEANING_PROGRESS:
		if (thread->stage++ == 0 && progress_decide(player, index, step) < 0)
			return -ENOMEM;
		return progress_may_go_on(player, index, step)
			       ? PLAY_DONE
			       : play_wait_for(player, index, step, op);
	case MEANING_UNKNOWN:
	case MEANING_UNUSED:
		break;
	}
	return PLAY_DONE;
}

int play_put(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	if (step->class == MEANING_COUNTS || step->class == MEANING_ENDS ||
		step->class == MEANING_BEGINS)
		return progress_count(player, index, step, op);
	const struct meaning_cond *meaning = meaning_of(player, step->object);
	struct play_cond *cond = &player->conds[step->object];
	bool is_for_all = true, is_enough = true;
	if (step->class == MEANING_PUTS) {
		cond->items +=
			meaning->puts_taken ? (int64_t)step->amount : (int64_t)meaning->put_items;
		cond->is_closed |= ++cond->puts == meaning->closing_put;
		bool ends = cond->is_closed || cond->refused_waiting > 0 ||
			    deal_is_over(player, step->object);
		is_for_all = ends || meaning->put_items > 1 || meaning->get_items > 1 ||
			     meaning->puts_taken;
		is_enough = ends || !meaning->is_initial_known || cond->items >= meaning->get_items;
	} else if (step->class == MEANING_CLOSES) {
		cond->is_closed = true;
	} else {
		cond->opened++;
	}
	if (!is_enough && !meaning->tells_in_vain)
		return PLAY_DONE;
	return play_op(op, is_for_all ? SIM_BROADCAST : SIM_SIGNAL, player->numbers[step->object]);
}

/*
 * Of rounds: until that one has ended in which all is taken that there is now. Else in the recorded order: until that signal was
 * given. Where several threads wait and several signal it may have been another one's: then it is guessed that it need not be
 * waited for, but where each signals for the next one to have its turn.
 */
int play_await_signal(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	const struct load_object *object = &player->replay->objects[step->object];
	if (player->guesses_no_order && object->has_waiters && object->has_signallers &&
		!object->has_turns)
		return PLAY_DONE;
	struct play_cond *cond = &player->conds[step->object];
	struct play_thread *thread = &player->threads[index];
	if (object->rounds_of > 0) {
		const struct play_cond *taken = &player->conds[object->rounds_of - 1];
		if (thread->stage++ == 0)
			thread->generation = taken->rounds + (taken->items > 0);
		return cond->rounds >= thread->generation ? PLAY_DONE
							  : play_wait_for(player, index, step, op);
	}
	const uint8_t *signals = cond->signals;
	if (signals && signals[step->amount / 8] >> step->amount % 8 & 1)
		return PLAY_DONE;
	return play_wait_for(player, index, step, op);
}

int play_signal(struct player *player, const struct step *step, struct sim_op *op)
{
	struct play_cond *cond = &player->conds[step->object];
	uint32_t rounds_of = player->replay->objects[step->object].rounds_of;
	if (rounds_of > 0)
		cond->rounds = player->conds[rounds_of - 1].rounds;
	if (cond->signals)
		cond->signals[step->amount / 8] |= (uint8_t)(1 << step->amount % 8);
	return play_op(op, step->is_all || cond->has_order ? SIM_BROADCAST : SIM_SIGNAL,
		player->numbers[step->object]);
}
