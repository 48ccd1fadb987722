/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions that are not queues of single items: gates, barriers. */
#include "base/map.h"
#include "base/mem.h"
#include "meaning/parts.h"

#include <errno.h>

uint64_t judge_executions(const struct judge *judge, enum role role)
{
	uint64_t count = 0;
	for (size_t i = 0; i < judge->m->type_count; i++)
		if (judge->roles[i] == role)
			count += judge->m->types[i].executions;
	return count;
}

double judge_share(uint64_t decisions, uint64_t explained, uint64_t waits, uint64_t waits_explained)
{
	if (decisions == 0 || (waits > 0 && 2 * waits_explained <= waits))
		return 0;
	return (double)explained / (double)decisions;
}

int judge_add_part(const struct judge *judge, uint32_t type, enum meaning_role role, bool is_first)
{
	struct meaning_section *section = &judge->m->types[type];
	size_t capacity = section->part_count;
	if (mem_grow(&section->parts, &capacity, section->part_count + 1, sizeof *section->parts) <
		0)
		return -ENOMEM;
	section->parts[section->part_count++] =
		(struct meaning_part){ judge->cond, role, is_first };
	return 0;
}

int judge_add_parts(const struct judge *judge, const enum meaning_role of_role[])
{
	for (uint32_t i = 0; i < judge->m->type_count; i++)
		if (judge->roles[i] != ROLE_NONE &&
			judge_add_part(judge, i, of_role[judge->roles[i]],
				judge->is_first[i] == ORDER_FIRST) < 0)
			return -ENOMEM;
	return 0;
}

/* One broadcast, after which nobody waits. */
int judge_gate(const struct judge *judge)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_ENTERS, [ROLE_PUT] = MEANING_OPENS
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	uint64_t waits_after = 0, passes_before = 0;
	bool is_open = false;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		bool is_ours = entry->what != ENTRY_END && entry->subject == judge->cond;
		waits_after += is_ours && is_open && entry->what == ENTRY_WAIT;
		is_open |= is_ours && entry->what != ENTRY_WAIT;
		passes_before += !is_open && judge_role_at(judge, entry) == ROLE_GET;
	}
	uint64_t gets = judge_executions(judge, ROLE_GET);
	if (judge_executions(judge, ROLE_PUT) != 1 || gets == 0 || waits_after + passes_before > 0)
		return 0;
	cond->kind = MEANING_GATE;
	cond->consistency = 1;
	cond->decisions = gets + cond->waits;
	cond->is_seen = true;
	int code = judge_add_parts(judge, roles);
	return code < 0 ? code : 1;
}

/* A thread's i-th pass needs the i-th opening. */
int judge_generations(const struct judge *judge, double least)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_ENTERS, [ROLE_PUT] = MEANING_OPENS
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	struct map passes = { 0 }; /* of each thread */
	uint64_t opened = 0, decisions = 0, explained = 0, waits = 0, waits_explained = 0;
	int code = 0;
	for (size_t i = 0; i < judge->mutex->count && code >= 0; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		bool is_wait = entry->what == ENTRY_WAIT && entry->subject == judge->cond;
		enum role role = judge_role_at(judge, entry);
		opened += role == ROLE_PUT;
		if (!is_wait && role != ROLE_GET)
			continue;
		uint64_t *count;
		code = map_add(&passes, entry->thread, 0, 0, &count);
		if (code < 0)
			break;
		decisions++;
		explained += is_wait == (*count >= opened);
		waits += is_wait;
		waits_explained += is_wait && *count >= opened;
		*count += role == ROLE_GET;
	}
	map_release(&passes);
	if (code < 0)
		return code;
	double consistency = judge_share(decisions, explained, waits, waits_explained);
	if (opened == 0 || consistency < MEANING_EXPLAINED || consistency <= least)
		return 0;
	cond->kind = MEANING_GENERATIONS;
	cond->consistency = consistency;
	cond->decisions = decisions;
	cond->is_seen = true;
	code = judge_add_parts(judge, roles);
	return code < 0 ? code : 1;
}

/* Whether some thread waits at one time and wakes the other at another: 1, 0 or -ENOMEM. */
static int roles_change(const struct judge *judge)
{
	enum { WAITED = 1, WOKE = 2 };
	AUTO_RELEASE(map) struct map roles = { 0 };
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		uint64_t *role;
		if ((entry->what != ENTRY_WAIT && entry->what != ENTRY_BROADCAST) ||
			entry->subject != judge->cond)
			continue;
		if (map_add(&roles, entry->thread, 0, 0, &role) < 0)
			return -ENOMEM;
		*role |= entry->what == ENTRY_WAIT ? WAITED : WOKE;
		if (*role == (WAITED | WOKE))
			return 1;
	}
	return 0;
}

/* The last to come wakes the others: as many sections from one broadcast to the next each time. */
int judge_barrier(const struct judge *judge)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_ARRIVES, [ROLE_PUT] = MEANING_ARRIVES
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	uint64_t waits = 0, episodes = 0, alike = 0, participants = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		if (entry->what == ENTRY_END || entry->subject != judge->cond)
			continue;
		waits += entry->what == ENTRY_WAIT;
		if (entry->what != ENTRY_BROADCAST)
			continue;
		participants = participants ? participants : waits + 1;
		alike += waits + 1 == participants;
		episodes++;
		waits = 0;
	}
	if (episodes == 0 || participants < 2 || participants > UINT32_MAX ||
		(double)alike < MEANING_EXPLAINED * (double)episodes)
		return 0;
	uint64_t sections = judge_executions(judge, ROLE_GET) + judge_executions(judge, ROLE_PUT);
	if ((double)sections * MEANING_EXPLAINED > (double)(episodes * participants))
		return 0; /* many neither waited nor woke anybody */
	/* Two of which always the same one waits do not meet: one tells the other. */
	int code = participants > 2 ? 1 : roles_change(judge);
	if (code <= 0)
		return code;
	cond->kind = MEANING_BARRIER;
	cond->consistency = (double)alike / (double)episodes;
	cond->decisions = episodes;
	cond->participants = (uint32_t)participants;
	cond->is_seen = true;
	code = judge_add_parts(judge, roles);
	return code < 0 ? code : 1;
}
