/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Critical sections whose conditions have a meaning: where they decide to wait, what they provide. */
#include "replay/parts.h"

#include <errno.h>

static bool is_decision(uint8_t role)
{
	return role == MEANING_GETS || role == MEANING_ARRIVES || role == MEANING_ENTERS ||
	       role == MEANING_AWAITS;
}

/* What a critical section does to a condition of its mutex: waits for it, perhaps, or provides. */
static int push_part(struct replay *replay, struct load_thread *thread,
	const struct load_hold *hold, const struct meaning_part *part, enum step_kind kind)
{
	size_t count;
	const struct meaning_cond *cond = &meaning_conds(replay->opts.meaning, &count)[part->cond];
	uint32_t object = load_object(replay, cond->pid, WHAT_COND, cond->object);
	struct step *step = object == REPLAY_NONE ? NULL : load_push(thread, kind);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->other = hold->object;
	step->class = (uint8_t)part->role;
	step->site = hold->site;
	if (cond->puts_taken && part->role == MEANING_PUTS)
		step->amount = meaning_taken(replay->opts.meaning, part->cond, hold->number);
	replay->objects[hold->object].guards_condition = true;
	return 0;
}

/* Who finds a queue full puts nothing. */
static bool is_bounded(const struct replay *replay, uint32_t cond)
{
	size_t count;
	return meaning_conds(replay->opts.meaning, &count)[cond].capacity > 0;
}

/* Those parts of the section that provide something before it waits, or at its end. */
static int push_provided(struct replay *replay, struct load_thread *thread,
	const struct load_hold *hold, bool is_first)
{
	for (size_t i = 0; hold->section && i < hold->section->part_count; i++) {
		const struct meaning_part *part = &hold->section->parts[i];
		if (hold->has_no_room && part->role == MEANING_PUTS &&
			is_bounded(replay, part->cond))
			continue;
		if (!is_decision((uint8_t)part->role) && part->is_first == is_first &&
			push_part(replay, thread, hold, part, STEP_PUT) < 0)
			return -ENOMEM;
	}
	return 0;
}

int replay_section_begin(struct replay *replay, struct load_thread *thread, struct load_hold *hold)
{
	uint64_t number = replay->sections - 1; /* this PASS was counted */
	const struct load_object *mutex = &replay->objects[hold->object];
	if (!replay->opts.meaning)
		return 0;
	hold->number = number;
	hold->section = meaning_find(replay->opts.meaning, mutex->pid, mutex->address, hold->site);
	hold->has_no_room = hold->section && meaning_is_refused(replay->opts.meaning, number);
	if (push_provided(replay, thread, hold, true) < 0)
		return -ENOMEM;
	hold->decisions = thread->count;
	for (size_t i = 0; hold->section && i < hold->section->part_count; i++) {
		const struct meaning_part *part = &hold->section->parts[i];
		if (!is_decision((uint8_t)part->role) ||
			(part->role == MEANING_GETS &&
				meaning_is_vain(replay->opts.meaning, number)))
			continue;
		if (push_part(replay, thread, hold, part, STEP_DECIDE) < 0)
			return -ENOMEM;
		struct step *step = &thread->steps[thread->count - 1];
		if (part->role == MEANING_GETS)
			step->is_refused = meaning_is_refused(replay->opts.meaning, number);
		else if (part->role == MEANING_AWAITS)
			step->is_refused = meaning_is_exempt(
				replay->opts.meaning, part->cond, number, &step->amount);
	}
	hold->decision_count = thread->count - hold->decisions;
	return 0;
}

/* What waiters wait for is there by then, whenever it is signalled. */
int replay_section_end(struct replay *replay, struct load_thread *thread, struct load_hold hold)
{
	replay->decided += hold.decision_count > 0;
	for (size_t i = 0; i < hold.decision_count; i++)
		if (thread->steps[hold.decisions + i].kind == STEP_DECIDE &&
			thread->steps[hold.decisions + i].class != MEANING_AWAITS)
			thread->steps[hold.decisions + i].amount = replay->decided;
	return push_provided(replay, thread, &hold, false);
}

bool section_takes_all(const struct replay *replay, uint32_t cond)
{
	size_t count;
	uint32_t meaning = replay->objects[cond].meaning;
	return meaning != UINT32_MAX &&
	       meaning_conds(replay->opts.meaning, &count)[meaning].kind == MEANING_DRAIN;
}

bool section_waits_by_order(const struct replay *replay, uint32_t cond)
{
	size_t count;
	uint32_t meaning = replay->objects[cond].meaning;
	return meaning != UINT32_MAX &&
	       meaning_conds(replay->opts.meaning, &count)[meaning].is_partial;
}

size_t section_decision(
	const struct load_thread *thread, const struct load_hold *hold, uint32_t cond)
{
	for (size_t i = 0; i < hold->decision_count; i++)
		if (thread->steps[hold->decisions + i].object == cond)
			return hold->decisions + i + 1;
	return 0;
}
