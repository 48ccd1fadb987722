/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads each of which waits for a certain other one, in no order of their ids, or for all; and those that wait for one and
 * another by turns (odd and even steps, the dimensions of a hypercube): every thread, and each of the sections of
 * a period, has the partner that explains most of its waits. Few waits are no evidence: of many partners one explains them by chance.
 */
#include "base/cleanup.h"
#include "meaning/progress.h"

#include <errno.h>
#include <stdlib.h>

enum { PERIOD_MAX = 6, WAITS_LEAST = 4 /* of one partner */ };

/* Partners: each thread, then all. */
struct each {
	struct progress_judge *p;
	uint32_t source, period, partners;
	struct level *levels; /* [(thread * period + phase) * partners + partner] */
	uint32_t *best; /* partner of each thread and phase; `partners`: none */
};

static uint32_t slot_of(const struct each *e, uint32_t thread)
{
	int64_t ended = *progress_count_of(e->p, e->p->ended, e->p->waiter, thread);
	return thread * e->period + (uint32_t)(ended % e->period);
}

/* How many of all others' sections there are for one of its own. */
static int64_t per_of(const struct each *e, uint32_t thread, uint32_t partner)
{
	const struct progress_judge *p = e->p;
	int64_t own = *progress_count_of(p, p->ended_in_all, p->waiter, thread);
	int64_t all = *progress_count_of(p, p->given_in_all, e->source, partner);
	int64_t ratio = own > 0 ? (all + own / 2) / own : 1;
	return partner == p->thread_count && ratio > 1 ? ratio : 1;
}

static int64_t balance_of(const struct each *e, uint32_t thread, uint32_t partner)
{
	const struct progress_judge *p = e->p;
	return *progress_count_of(p, p->given, e->source, partner) -
	       per_of(e, thread, partner) * *progress_count_of(p, p->ended, p->waiter, thread);
}

static void find_levels(struct each *e)
{
	struct progress_judge *p = e->p;
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		uint32_t thread = p->ranks[entry->thread];
		progress_enter(p, entry);
		struct level *levels = &e->levels[(size_t)slot_of(e, thread) * e->partners];
		for (uint32_t k = 0;
			progress_decision(p, entry) == 2 && !p->is_last[i] && k < e->partners; k++)
			level_note(&levels[k], balance_of(e, thread, k));
		progress_read(p, entry);
	}
	for (size_t i = 0; i < (size_t)p->thread_count * e->period * e->partners; i++)
		level_settle(&e->levels[i]);
}

static void try_levels(struct each *e)
{
	struct progress_judge *p = e->p;
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		uint32_t thread = p->ranks[entry->thread];
		int decision = progress_decision(p, entry);
		progress_enter(p, entry);
		struct level *levels = &e->levels[(size_t)slot_of(e, thread) * e->partners];
		for (uint32_t k = 0; decision > 0 && k < e->partners; k++) {
			if (!levels[k].is_needed || balance_of(e, thread, k) >= levels[k].least)
				continue;
			levels[k].waits += decision == 1;
			levels[k].broken += decision == 2 && !p->is_last[i];
		}
		progress_read(p, entry);
	}
}

/* The best partners, and what they explain together. */
static struct outcome choose(struct each *e)
{
	struct outcome outcome = { 0 };
	for (uint32_t slot = 0; slot < e->p->thread_count * e->period; slot++) {
		const struct level *levels = &e->levels[(size_t)slot * e->partners];
		uint64_t most = 0;
		e->best[slot] = e->partners;
		for (uint32_t k = 0; k < e->partners; k++) {
			if (k == slot / e->period || levels[k].waits < WAITS_LEAST ||
				levels[k].waits <= levels[k].broken + most)
				continue;
			most = levels[k].waits - levels[k].broken;
			e->best[slot] = k;
		}
		if (e->best[slot] == e->partners)
			continue;
		outcome.waits += levels[e->best[slot]].waits;
		outcome.broken += levels[e->best[slot]].broken;
	}
	return outcome;
}

static int keep(struct each *e)
{
	struct progress_judge *p = e->p;
	const struct meaning *m = p->judge->m;
	int code = 0;
	for (uint32_t slot = 0; slot < p->thread_count * e->period && code == 0; slot++) {
		uint32_t thread = slot / e->period, partner = e->best[slot];
		if (partner == e->partners)
			continue;
		code = progress_add_need(p,
			(struct meaning_need){ .cond = p->judge->cond,
				.type = p->types[p->waiter],
				.source = p->types[e->source],
				.sink = p->types[p->waiter],
				.each = 1,
				.per = (uint32_t)per_of(e, thread, partner),
				.tid = m->threads[p->threads[thread]].tid,
				.source_tid = partner == p->thread_count
						      ? 0
						      : m->threads[p->threads[partner]].tid,
				.period = e->period,
				.phase = slot % e->period,
				.level = e->levels[(size_t)slot * e->partners + partner].least });
	}
	return code;
}

/* Those that went on all the same. */
static int except(struct each *e)
{
	struct progress_judge *p = e->p;
	int code = 0;
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries && code == 0; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		uint32_t thread = p->ranks[entry->thread];
		progress_enter(p, entry);
		uint32_t slot = slot_of(e, thread), partner = e->best[slot];
		if (progress_decision(p, entry) == 2 && partner < e->partners &&
			balance_of(e, thread, partner) <
				e->levels[(size_t)slot * e->partners + partner].least)
			code = progress_exempt(p, entry);
		progress_read(p, entry);
	}
	return code;
}

static int try_period(struct each *e, uint64_t waits, uint64_t decisions, struct outcome *ret)
{
	size_t slots = (size_t)e->p->thread_count * e->period;
	AUTO_FREE struct level *levels = calloc(slots * e->partners, sizeof *levels);
	AUTO_FREE uint32_t *best = calloc(slots, sizeof *best);
	if (!levels || !best)
		return -ENOMEM;
	e->levels = levels;
	e->best = best;
	find_levels(e);
	try_levels(e);
	struct outcome outcome = choose(e);
	if (!progress_is_enough(waits, &outcome, decisions))
		return 0;
	*ret = outcome;
	int code = keep(e);
	code = code < 0 ? code : except(e);
	return code < 0 ? code : 1;
}

int progress_each(struct progress_judge *p, uint64_t waits, uint64_t decisions, struct outcome *ret)
{
	struct each e = { .p = p, .partners = p->thread_count + 1 };
	if (p->thread_count < 2 || p->thread_count > PROGRESS_FEW_THREADS)
		return 0;
	for (e.period = 1; e.period <= PERIOD_MAX; e.period++)
		for (e.source = 0; e.source < p->type_count; e.source++) {
			int code = p->gives[e.source] ? try_period(&e, waits, decisions, ret) : 0;
			if (code != 0)
				return code;
		}
	return 0;
}
