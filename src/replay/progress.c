/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions whose sections wait for how far others have come (MEANING_PROGRESS): what is counted, and whether needs are met. */
#include "replay/player.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t key_of(uint32_t cond, uint32_t type)
{
	return (uint64_t)cond << 32 | type;
}

static uint64_t count_of(const struct map *counts, uint32_t cond, uint32_t type, uint32_t tid)
{
	const uint64_t *count = map_find(counts, key_of(cond, type), tid);
	return count ? *count : 0;
}

static int count(struct map *counts, uint32_t cond, uint32_t type, uint32_t tid)
{
	uint64_t *place;
	int code = map_add(counts, key_of(cond, type), tid, 0, &place);
	if (code >= 0)
		++*place;
	return code < 0 ? code : 0;
}

/* The type of sections that a step belongs to; UINT32_MAX: it is not known. */
static uint32_t type_of(const struct player *player, const struct step *step)
{
	const struct meaning *meaning = player->replay->opts.meaning;
	const struct load_object *mutex = &player->replay->objects[step->other];
	const struct meaning_section *section =
		meaning_find(meaning, mutex->pid, mutex->address, step->site);
	size_t types;
	return section ? (uint32_t)(section - meaning_sections(meaning, &types)) : UINT32_MAX;
}

/* Whose section it is: that of the thread that did it in the recording. */
static uint32_t tid_of(const struct player *player, uint32_t index)
{
	return player->replay->threads[player->threads[index].list].tid;
}

int progress_init(struct player *player)
{
	struct play_progress_needs *needs = &player->needs;
	size_t total;
	if (!player->replay->opts.meaning)
		return 0;
	const struct meaning_need *all = meaning_needs(player->replay->opts.meaning, &total);
	needs->next = calloc(total + 1, sizeof *needs->next);
	if (!needs->next)
		return -ENOMEM;
	for (size_t i = 0; i < total; i++) {
		uint64_t *first;
		if (map_add(&needs->first, key_of(all[i].cond, all[i].type), all[i].tid, 0,
			    &first) < 0)
			return -ENOMEM;
		needs->next[i] = *first;
		*first = i + 1;
	}
	return 0;
}

void progress_release(struct player *player)
{
	map_release(&player->needs.first);
	map_release(&player->needs.given);
	map_release(&player->needs.ended);
	map_release(&player->needs.begun);
	map_release(&player->needs.since);
	free(player->needs.next);
}

static uint64_t given_by_others(const struct player *player, uint32_t cond, uint32_t type)
{
	const struct map *given = &player->needs.given;
	return count_of(given, cond, UINT32_MAX, 0) - count_of(given, cond, type, 0);
}

static uint64_t given_of(const struct player *player, const struct meaning_need *need)
{
	return need->source == UINT32_MAX
		       ? given_by_others(player, need->cond, need->type)
		       : count_of(&player->needs.given, need->cond, need->source, need->source_tid);
}

/* The first of a type's needs, of all threads or of one; then the next. SIZE_MAX: there is none. */
static size_t first_need(const struct player *player, uint32_t cond, uint32_t type, uint32_t tid)
{
	const uint64_t *first = map_find(&player->needs.first, key_of(cond, type), tid);
	return first ? *first - 1 : SIZE_MAX;
}

static size_t next_need(const struct player *player, size_t need)
{
	return player->needs.next[need] - 1;
}

int progress_decide(struct player *player, uint32_t index, const struct step *step)
{
	size_t total;
	const struct meaning_need *all = meaning_needs(player->replay->opts.meaning, &total);
	uint32_t cond = player->replay->objects[step->object].meaning;
	uint32_t type = type_of(player, step);
	uint64_t begun = count_of(&player->needs.begun, cond, type, 0); /* with this one */
	player->threads[index].begun_before = begun > 0 ? begun - 1 : 0;
	for (size_t i = first_need(player, cond, type, 0); i != SIZE_MAX;
		i = next_need(player, i)) {
		uint64_t *since;
		if (all[i].counts != MEANING_SINCE)
			continue;
		if (map_add(&player->needs.since, i, index, 0, &since) < 0)
			return -ENOMEM;
		*since = given_of(player, &all[i]);
	}
	return 0;
}

/* The sink's sections that this need counts. */
static uint64_t sunk_of(const struct player *player, uint32_t index, size_t n,
	const struct meaning_need *need, uint32_t tid)
{
	const struct play_progress_needs *needs = &player->needs;
	const uint64_t *since;
	switch (need->counts) {
	case MEANING_BEGUN:
		return count_of(&needs->begun, need->cond, need->sink, 0);
	case MEANING_BEFORE:
		return player->threads[index].begun_before;
	case MEANING_SINCE:
		since = map_find(&needs->since, n, index);
		return since ? *since : 0;
	case MEANING_ENDED:
		break;
	}
	return count_of(&needs->ended, need->cond, need->sink, need->tid == 0 ? 0 : tid);
}

static bool is_met(const struct player *player, uint32_t index, size_t n,
	const struct meaning_need *need, uint32_t tid)
{
	uint64_t sunk = sunk_of(player, index, n, need, tid);
	if (need->period > 0 && sunk % need->period != need->phase)
		return true;
	if (need->counts == MEANING_SINCE && given_of(player, need) >= need->total)
		return true;
	return (int64_t)(need->each * given_of(player, need)) - (int64_t)(need->per * sunk) >=
	       need->level;
}

bool progress_may_go_on(const struct player *player, uint32_t index, const struct step *step)
{
	size_t total;
	const struct meaning_need *all = meaning_needs(player->replay->opts.meaning, &total);
	uint32_t cond = player->replay->objects[step->object].meaning;
	uint32_t type = type_of(player, step), tid = tid_of(player, index);
	if (step->is_refused)
		return given_by_others(player, cond, type) >= step->amount;
	const uint32_t of[] = { 0, tid };
	for (size_t k = 0; k < ARRAY_SIZE(of); k++)
		for (size_t i = first_need(player, cond, type, of[k]); i != SIZE_MAX;
			i = next_need(player, i))
			if (!is_met(player, index, i, &all[i], tid))
				return false;
	return true;
}

/* Whether somebody who waits there has waited for long enough now. */
static bool lets_go(const struct player *player, uint32_t object)
{
	for (uint32_t i = 0; i < player->replay->thread_count; i++) {
		if (player->threads[i].awaited_with == 0)
			continue;
		const struct step *step = player_step(player, i);
		if (step && step->kind == STEP_DECIDE && step->object == object &&
			progress_may_go_on(player, i, step))
			return true;
	}
	return false;
}

int progress_count(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	struct play_progress_needs *needs = &player->needs;
	uint32_t cond = player->replay->objects[step->object].meaning;
	uint32_t type = type_of(player, step), tid = tid_of(player, index);
	bool is_given = step->class == MEANING_COUNTS;
	struct map *counts = is_given                      ? &needs->given
			     : step->class == MEANING_ENDS ? &needs->ended
							   : &needs->begun;
	if (count(counts, cond, type, 0) < 0 || count(counts, cond, type, tid) < 0)
		return -ENOMEM;
	if (!is_given)
		return PLAY_DONE;
	if (count(counts, cond, UINT32_MAX, 0) < 0)
		return -ENOMEM;
	size_t conds;
	bool tells = meaning_conds(player->replay->opts.meaning, &conds)[cond].tells_in_vain;
	return tells || lets_go(player, step->object)
		       ? play_op(op, SIM_BROADCAST, player->numbers[step->object])
		       : PLAY_DONE;
}
