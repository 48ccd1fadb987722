/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits for conditions, and the signals that ended them. */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>

static void note(uint32_t *first, bool *are_several, uint32_t index)
{
	*are_several |= *first > 0 && *first != index + 1;
	*first = *first > 0 ? *first : index + 1;
}

/* Whether the thread has only looked since that step, up to the last one. */
static bool only_looked(const struct load_thread *thread, size_t step)
{
	for (size_t i = step + 1; i + 1 < thread->count; i++)
		if (thread->steps[i].kind != STEP_NOTHING && thread->steps[i].kind != STEP_YIELD)
			return false;
	return true;
}

/*
 * It was woken, looked, and waits again in the same section: what it waits for was not what that signal told of, which on
 * other cores it need not wait for. But who told others something in between, or took a lock, had done something (a turn of its
 * own).
 */
static void forget_vain_wait(struct load_thread *thread, struct load_hold *hold, uint32_t object)
{
	size_t before = hold->ordered_wait;
	struct step *step = before ? &thread->steps[before - 1] : NULL;
	if (step && step->object == object && only_looked(thread, before - 1) &&
		(step->kind == STEP_AWAIT_SIGNAL || step->kind == STEP_SLEEP))
		step->kind = STEP_NOTHING;
	hold->ordered_wait = thread->count;
}

/* A condition's wait; its mutex is held, else it is a pause. */
int conds_wait(struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	uint32_t mutex = event->value ? load_object(replay, event->pid, WHAT_MUTEX, event->value)
				      : REPLAY_NONE;
	struct load_thread *thread = &replay->threads[index];
	if (event->value && mutex == REPLAY_NONE)
		return -ENOMEM;
	struct load_hold *hold = mutex == REPLAY_NONE ? NULL : locks_find(thread, mutex);
	if (hold && locks_note_site(replay, hold->site) < 0) /* nobody could wait without it */
		return -ENOMEM;
	size_t decision = hold ? section_decision(thread, hold, object) : 0;
	if (decision) {
		replay->objects[mutex].holder = REPLAY_NONE;
		replay->facts.conditions++;
		thread->wait_step = decision;
		if (!hold->has_waited || !section_takes_all(replay, object)) {
			hold->has_waited = true;
			/* Its time ran out, and it waits on: until there is what it waits for. */
			if (thread->steps[decision - 1].kind == STEP_TIMED_WAIT)
				thread->steps[decision - 1].kind = STEP_DECIDE;
			return 0;
		}
		/* Each of its waits empties the queue: one more of the same. */
		struct step *again = load_push(thread, STEP_DECIDE);
		if (!again)
			return -ENOMEM;
		uint64_t work_ns = again->work_ns;
		*again = thread->steps[decision - 1];
		again->work_ns = work_ns;
		thread->wait_step = thread->count;
		return 0;
	}
	struct step *step = load_push(thread, STEP_SLEEP);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	thread->wait_step = thread->count;
	if (!hold)
		return 0;
	step->other = mutex;
	replay->objects[object].has_turns |= hold->told == object + 1;
	forget_vain_wait(thread, hold, object);
	note(&replay->objects[object].waiter, &replay->objects[object].has_waiters, index);
	replay->objects[mutex].guards_condition = true;
	replay->objects[mutex].holder = REPLAY_NONE;
	return 0;
}

/* The signal that ended a condition's wait: the last one, or the one that comes at the same instant. */
int conds_resolve(struct replay *replay, uint32_t index, uint64_t woken_ns)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_object *cond = &replay->objects[thread->wait_object];
	struct step *step = &thread->steps[thread->wait_step - 1];
	if (step->other == REPLAY_NONE) /* no mutex: a pause */
		return 0;
	replay->facts.conditions++;
	if (cond->signals > 0 && cond->last_signal_ns >= thread->wait_ns &&
		(!thread->was_woken || cond->last_signal_ns == woken_ns)) {
		step->kind = STEP_AWAIT_SIGNAL;
		step->amount = cond->signals - 1;
		replay->facts.by_order++;
		return 0;
	}
	if (mem_grow(&replay->unresolved, &replay->unresolved_capacity,
		    replay->unresolved_count + 1, sizeof *replay->unresolved) < 0)
		return -ENOMEM;
	replay->unresolved[replay->unresolved_count] = (struct unresolved){ .thread = index,
		.step = thread->wait_step - 1,
		.woken_ns = woken_ns,
		.next = cond->unresolved };
	cond->unresolved = ++replay->unresolved_count;
	return 0;
}

int conds_signal(struct replay *replay, uint32_t index, uint32_t object, const struct event *event)
{
	struct load_object *cond = &replay->objects[object];
	struct load_thread *thread = &replay->threads[index];
	for (size_t i = 0; i < thread->hold_count; i++) {
		struct load_hold *hold = &thread->holds[i];
		hold->told = hold->ordered_wait ? object + 1 : hold->told;
		hold->ordered_wait = 0;
	}
	if (cond->meaning != UINT32_MAX &&
		!section_waits_by_order(
			replay, object)) /* the section that it belongs to provides */
		return 0;
	struct step *step = load_push(thread, STEP_SIGNAL);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->site = event->site;
	step->is_all = event->flags & EVENT_ALL;
	step->amount = cond->signals++;
	note(&cond->signaller, &cond->has_signallers, index);
	cond->last_signal_ns = event->time_ns;
	/* Those whose wait ended now, but whose PASS came first. */
	size_t next, left = 0;
	for (size_t i = cond->unresolved; i > 0; i = next) {
		struct unresolved *wait = &replay->unresolved[i - 1];
		next = wait->next;
		if (wait->woken_ns == event->time_ns) {
			struct step *waiting = &replay->threads[wait->thread].steps[wait->step];
			if (waiting->kind != STEP_NOTHING)
				waiting->kind = STEP_AWAIT_SIGNAL;
			waiting->amount = cond->signals - 1;
			replay->facts.by_order++;
		} else if (wait->woken_ns > event->time_ns) {
			wait->next = left;
			left = i;
		}
	}
	cond->unresolved = left;
	return 0;
}

/*
 * Who takes all that there is does so in as many rounds as others leave it time for (a log that is written in the background), and
 * the signal that tells of the end of each is not the same one at another pace. At the recorded one it is, nearly: two such programs
 * are replayed within 3% in the recorded order, and 19% too fast and 31% too slow by rounds, whose number depends on who comes just in
 * time for one.
 */
static void find_rounds(struct replay *replay)
{
	if (!replay->opts.stretch)
		return;
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		uint32_t taken = REPLAY_NONE;
		for (size_t k = 0; k < thread->count; k++) {
			const struct step *step = &thread->steps[k];
			if (step->kind == STEP_DECIDE && section_takes_all(replay, step->object))
				taken = step->object;
			if (step->kind == STEP_SIGNAL && taken != REPLAY_NONE)
				replay->objects[step->object].rounds_of = taken + 1;
		}
	}
}

/* Waits whose signal was never seen: pauses, as long as they were. */
void conds_settle(struct replay *replay)
{
	find_rounds(replay);
	for (size_t i = 0; i < replay->unresolved_count; i++) {
		struct unresolved *wait = &replay->unresolved[i];
		struct step *step = &replay->threads[wait->thread].steps[wait->step];
		if (step->kind == STEP_SLEEP && step->other != REPLAY_NONE)
			step->kind = STEP_TIMED_WAIT;
	}
}
