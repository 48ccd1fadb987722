/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which hypothesis explains what was decided at a condition (see meaning.h). */
#include "base/map.h"
#include "base/mem.h"
#include "meaning/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The mutex of a condition that nobody waited for: that of who signals it. */
static void find_mutex(const struct judge *judge, const struct meaning_use *use)
{
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	if (!cond->mutex && use->signaller_count > 0)
		cond->mutex = judge->m->types[use->signallers[0]].mutex;
}

static int judge_cond(struct judge *judge)
{
	struct meaning *m = judge->m;
	struct meaning_cond *cond = &m->conds[judge->cond];
	const struct meaning_use *use = &m->uses[judge->cond];
	find_mutex(judge, use);
	const uint64_t *index =
		cond->mutex ? map_find(&m->mutex_index, cond->pid, cond->mutex) : NULL;
	cond->tells_in_vain = use->again > 0 && 4 * use->again >= cond->waits;
	cond->kind = cond->waits > 0 ? MEANING_UNKNOWN : MEANING_UNUSED;
	if (!index || use->signaller_count == 0)
		return 0;
	/* Sections that wait, tell others, and wait again: none of them is one decision. */
	if ((double)use->turns > (1 - MEANING_EXPLAINED) * (double)cond->waits)
		return 0;
	judge->mutex = &m->mutexes[*index];
	judge_set_roles(judge, use);
	int code = judge_order(judge);
	if (code < 0)
		return code;
	if (cond->waits == 0)
		return judge_unseen(judge, use);
	code = judge_gate(judge);
	if (code == 0 && judge_executions(judge, ROLE_PUT) > 0)
		code = judge_queue(judge, use);
	if (code == 0)
		code = judge_drain(judge, use);
	if (code == 0)
		code = judge_barrier(judge);
	return code == 0 ? judge_progress(judge, 0) : code;
}

/* What was explained in another way, or not, may be room. */
static int judge_room(struct judge *judge)
{
	struct meaning *m = judge->m;
	const struct meaning_cond *cond = &m->conds[judge->cond];
	const struct meaning_use *use = &m->uses[judge->cond];
	const uint64_t *index =
		cond->mutex ? map_find(&m->mutex_index, cond->pid, cond->mutex) : NULL;
	if (!index || cond->waits == 0 || cond->kind == MEANING_DRAIN)
		return 0;
	judge->mutex = &m->mutexes[*index];
	judge_set_roles(judge, use);
	int code = judge_order(judge);
	if (code == 0)
		code = judge_room_of_drain(judge, use);
	if (code == 0 && m->is_of_other_pace && judge_is_told_in_rounds(judge, use))
		meaning_forget(m, judge->cond); /* how many rounds there were says nothing */
	return code;
}

static bool is_type_of(const struct meaning *m, uint32_t type, const struct meaning_cond *cond)
{
	return m->types[type].pid == cond->pid && m->types[type].mutex == cond->mutex;
}

static enum role role_of(enum meaning_role role)
{
	switch (role) {
	case MEANING_GETS:
	case MEANING_ENTERS:
		return ROLE_GET;
	case MEANING_PUTS:
	case MEANING_OPENS:
		return ROLE_PUT;
	default:
		return ROLE_CLOSE;
	}
}

/* Gives sections of the judged condition's mutex the roles that those from the same sites have at another. */
static bool copy_roles(const struct judge *judge, uint32_t model)
{
	const struct meaning *m = judge->m;
	bool has_put = false, has_get = false;
	for (uint32_t i = 0; i < m->type_count; i++) {
		judge->roles[i] = ROLE_NONE;
		if (!is_type_of(m, i, &m->conds[judge->cond]))
			continue;
		const struct meaning_section *like = meaning_find(
			m, m->conds[model].pid, m->conds[model].mutex, m->types[i].site);
		for (size_t j = 0; like && j < like->part_count; j++)
			if (like->parts[j].cond == model)
				judge->roles[i] = role_of(like->parts[j].role);
		has_put |= judge->roles[i] == ROLE_PUT;
		has_get |= judge->roles[i] == ROLE_GET;
	}
	return has_put && has_get;
}

/* Conditions at the same place beside their mutex, used from the same code: queues in an array, gates of many jobs. */
static int judge_sibling(const struct judge *judge, uint32_t model)
{
	const struct meaning_cond *like = &judge->m->conds[model];
	const struct meaning_cond *cond = &judge->m->conds[judge->cond];
	bool is_gate = like->kind == MEANING_GATE;
	bool is_queue = like->kind == MEANING_QUEUE && like->is_initial_known;
	if ((!is_gate && !is_queue) || like->pid != cond->pid ||
		like->object - like->mutex != cond->object - cond->mutex ||
		!copy_roles(judge, model))
		return 0;
	return judge_queue_like(judge, like);
}

static int judge_by_siblings(struct judge *judge)
{
	struct meaning *m = judge->m;
	const struct meaning_cond *cond = &m->conds[judge->cond];
	const uint64_t *index =
		cond->mutex ? map_find(&m->mutex_index, cond->pid, cond->mutex) : NULL;
	if (!index || cond->is_initial_known ||
		(cond->kind != MEANING_QUEUE && cond->kind != MEANING_UNUSED))
		return 0;
	judge->mutex = &m->mutexes[*index];
	int code = judge_order(judge);
	for (uint32_t i = 0; i < m->cond_count && code == 0; i++)
		if (i != judge->cond)
			code = judge_sibling(judge, i);
	return code;
}

int meaning_judge(struct meaning *meaning)
{
	meaning->refused = calloc(meaning->section_count / 8 + 1, 1);
	meaning->vain = calloc(meaning->section_count / 8 + 1, 1);
	AUTO_FREE uint8_t *roles = calloc(meaning->type_count + 1, 1);
	AUTO_FREE uint8_t *is_first = calloc(meaning->type_count + 1, 1);
	if (!meaning->refused || !meaning->vain || !roles || !is_first)
		return -ENOMEM;
	for (uint32_t i = 0; i < meaning->cond_count; i++) {
		struct judge judge = {
			.m = meaning, .cond = i, .roles = roles, .is_first = is_first
		};
		int code = judge_cond(&judge);
		if (code < 0)
			return code;
	}
	for (uint32_t i = 0; i < meaning->cond_count; i++) {
		struct judge judge = {
			.m = meaning, .cond = i, .roles = roles, .is_first = is_first
		};
		int code = judge_room(&judge);
		if (code < 0)
			return code;
	}
	for (uint32_t i = 0; i < meaning->cond_count; i++) {
		struct judge judge = {
			.m = meaning, .cond = i, .roles = roles, .is_first = is_first
		};
		int code = judge_by_siblings(&judge);
		if (code < 0)
			return code;
	}
	return 0;
}
