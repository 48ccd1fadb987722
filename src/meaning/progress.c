/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions at which threads wait for several things: for room and for items, each for items of its own, or for the
 * progress of its neighbours. Each type of sections that waits there is judged by itself, and where all its threads
 * together wait for nothing that is counted, each thread by itself. A need is a balance of two counts (struct
 * meaning_need); its level is the least at which sections went on. Of all needs, that is taken which explains most
 * waits, and so on with those that are left: a stencil needs two neighbours.
 *
 * A pair of threads is taken by the distance of their thread ids' ranks, or with one certain source for all: then all
 * threads' waits are evidence for one hypothesis, and that of one pair alone is none.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "meaning/progress.h"

#include <errno.h>
#include <stdlib.h>

enum {
	THREADS_MAX = 1024, /* of pairs; more: all together only */
	NEEDS_MAX = 4, /* of one type of sections */
	WAITS_LEAST = 4, /* fewer are no evidence */
	NEW_WAITS_SHARE = 32, /* each need explains one in so many more */
	WORK_MAX = 50000000, /* entries read, all in all */
};

/* Most waits, beside MEANING_EXPLAINED of all decisions: what a need of many possible ones explains by chance is less. */
static const double WAITS_EXPLAINED = 0.8;

static void release(struct progress_judge *p)
{
	free(p->local);
	free(p->ranks);
	free(p->threads);
	free(p->given);
	free(p->ended);
	free(p->given_in_all);
	free(p->ended_in_all);
	free(p->levels);
	free(p->is_explained);
	free(p->is_last);
	free(p->balances);
}

static int add_need(struct progress_judge *p, struct meaning_need need)
{
	struct meaning *m = p->judge->m;
	if (mem_grow(&m->needs, &m->need_capacity, m->need_count + 1, sizeof *m->needs) < 0)
		return -ENOMEM;
	m->needs[m->need_count++] = need;
	return 0;
}

/* With the levels that were found last. */
static int keep_family(struct progress_judge *p, const struct family *f)
{
	const struct meaning *m = p->judge->m;
	struct meaning_need need = { .cond = p->judge->cond,
		.type = p->types[p->waiter],
		.source = f->source < p->type_count ? p->types[f->source] : UINT32_MAX,
		.sink = p->types[f->sink],
		.each = (uint32_t)f->each,
		.per = (uint32_t)f->per };
	int code = 0;
	for (uint32_t i = 0; i < p->thread_count && code == 0; i++) {
		const struct level *level = progress_level(p, f, i);
		uint32_t partner = f->kind == FAMILY_COMMON ? 0 : progress_partner(p, f, i);
		if (!level->is_needed || partner == UINT32_MAX)
			continue;
		need.level = level->least;
		need.tid = f->kind == FAMILY_COMMON ? 0 : m->threads[p->threads[i]].tid;
		need.source_tid = f->kind == FAMILY_COMMON || partner == p->thread_count
					  ? 0
					  : m->threads[p->threads[partner]].tid;
		code = add_need(p, need);
		if (f->kind == FAMILY_COMMON)
			break;
	}
	return code;
}

/* A queue is closed for a thread once: in its last section it may go on without what it came for. */
static int find_lasts(struct progress_judge *p)
{
	enum { SECTIONS_LEAST = 4 };
	AUTO_FREE size_t *lasts = calloc(p->thread_count + 1, sizeof *lasts); /* plus one */
	AUTO_FREE size_t *counts = calloc(p->thread_count + 1, sizeof *counts);
	if (!lasts || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < p->entries; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		p->is_last[i] = 0;
		if (progress_decision(p, entry) != 2)
			continue;
		lasts[p->ranks[entry->thread]] = i + 1;
		counts[p->ranks[entry->thread]]++;
	}
	p->lasts = 0;
	for (uint32_t i = 0; i < p->thread_count; i++)
		if (counts[i] >= SECTIONS_LEAST) {
			p->is_last[lasts[i] - 1] = 1;
			p->lasts++;
		}
	return 0;
}

/* 1: the waiter's type has needs, which explain it; 0, -ENOMEM. */
static int judge_type(struct progress_judge *p)
{
	size_t before = p->judge->m->need_count;
	uint64_t waits = 0, decisions = 0, explained = 0, broken = 0;
	for (size_t i = 0; i < p->entries; i++) {
		int decision = progress_decision(p, &p->judge->mutex->log[i]);
		decisions += decision > 0;
		waits += decision == 1;
		p->is_explained[i] = 0;
	}
	if (waits < WAITS_LEAST)
		return 0;
	if (find_lasts(p) < 0)
		return -ENOMEM;
	for (int n = 0; n < NEEDS_MAX && explained < waits; n++) {
		struct family best = { 0 };
		uint64_t score = progress_best(p, &best);
		if (score < 2 || score * NEW_WAITS_SHARE < waits)
			break;
		struct outcome outcome = progress_try(p, &best, true);
		explained += outcome.waits;
		broken += outcome.broken;
		if (outcome.has_failed || keep_family(p, &best) < 0)
			return -ENOMEM;
	}
	uint64_t unexplained = waits - explained + broken;
	if ((double)explained >= WAITS_EXPLAINED * (double)waits &&
		(double)unexplained <= (1 - MEANING_EXPLAINED) * (double)decisions)
		return 1;
	p->judge->m->need_count = before;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Threads of this mutex, by their ids. */
static int rank_threads(struct progress_judge *p)
{
	const struct meaning *m = p->judge->m;
	AUTO_FREE uint32_t(*known)[2] = calloc(m->thread_count + 1, sizeof *known);
	p->ranks = calloc(m->thread_count + 1, sizeof *p->ranks);
	p->threads = calloc(m->thread_count + 1, sizeof *p->threads);
	if (!known || !p->ranks || !p->threads)
		return -ENOMEM;
	for (size_t i = 0; i < p->judge->mutex->count; i++) {
		uint32_t thread = p->judge->mutex->log[i].thread;
		if (p->ranks[thread]++ > 0)
			continue;
		known[p->thread_count][0] = m->threads[thread].tid;
		known[p->thread_count++][1] = thread;
	}
	qsort(known, p->thread_count, sizeof *known, by_tid);
	for (uint32_t i = 0; i < p->thread_count; i++) {
		p->ranks[known[i][1]] = i;
		p->threads[i] = known[i][1];
	}
	return 0;
}

/* False: there are too many. */
static bool find_types(struct progress_judge *p, const struct meaning_use *use)
{
	const struct meaning_mutex *mutex = p->judge->mutex;
	for (size_t i = 0; i < mutex->count; i++) {
		uint32_t *local = &p->local[mutex->log[i].type];
		if (*local == 0 && p->type_count == PROGRESS_TYPES_MAX)
			return false;
		if (*local == 0) {
			p->types[p->type_count++] = mutex->log[i].type;
			*local = p->type_count;
		}
	}
	for (size_t i = 0; i < use->signaller_count; i++)
		if (p->local[use->signallers[i]])
			p->gives[p->local[use->signallers[i]] - 1] = true;
	return true;
}

static int prepare(struct progress_judge *p)
{
	const struct meaning_mutex *mutex = p->judge->mutex;
	if (rank_threads(p) < 0)
		return -ENOMEM;
	size_t counts = (size_t)p->type_count * (p->thread_count + 1);
	p->given = calloc(counts, sizeof *p->given);
	p->ended = calloc(counts, sizeof *p->ended);
	p->given_in_all = calloc(counts, sizeof *p->given);
	p->ended_in_all = calloc(counts, sizeof *p->ended);
	p->levels = calloc(p->thread_count + 1, sizeof *p->levels);
	p->is_explained = calloc(mutex->count + 1, 1);
	p->is_last = calloc(mutex->count + 1, 1);
	p->balances = calloc(mutex->count + 1, sizeof *p->balances);
	if (!p->balances || !p->given || !p->ended || !p->given_in_all || !p->ended_in_all ||
		!p->levels || !p->is_explained || !p->is_last)
		return -ENOMEM;
	p->are_pairs_tried = p->thread_count <= THREADS_MAX;
	size_t pairs =
		p->thread_count <= PROGRESS_FEW_THREADS ? 3 * p->thread_count : 6 * PROGRESS_NEAR;
	size_t families = p->type_count * (p->type_count + (p->are_pairs_tried ? pairs : 0));
	p->entries =
		WORK_MAX / (families + 1) < mutex->count ? WORK_MAX / (families + 1) : mutex->count;
	for (size_t i = 0; i < p->entries; i++)
		progress_read(p, &mutex->log[i]);
	for (size_t i = 0; i < counts; i++) {
		p->given_in_all[i] = p->given[i];
		p->ended_in_all[i] = p->ended[i];
	}
	return 0;
}

/* What its sections do to the condition. Those that are counted say so at their end, or before they wait. */
static int add_parts(
	struct progress_judge *p, const uint8_t *has_needs, const struct meaning_use *use)
{
	const struct judge *judge = p->judge;
	for (uint32_t i = 0; i < p->type_count; i++) {
		bool is_first = judge->is_first[p->types[i]];
		int code = has_needs[i] ? judge_add_part(judge, p->types[i], MEANING_AWAITS, false)
					: 0;
		if (code == 0 && p->gives[i])
			code = judge_add_part(judge, p->types[i], MEANING_COUNTS, is_first);
		if (code == 0)
			code = judge_add_part(judge, p->types[i], MEANING_ENDS, false);
		if (code < 0)
			return code;
	}
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	cond->kind = MEANING_PROGRESS;
	cond->is_seen = true;
	for (size_t i = 0; i < use->waiter_count; i++)
		cond->is_partial |= p->local[use->waiters[i]] == 0 || /* of another mutex */
				    !has_needs[p->local[use->waiters[i]] - 1];
	return 0;
}

int judge_progress(const struct judge *judge)
{
	const struct meaning_use *use = &judge->m->uses[judge->cond];
	struct progress_judge p = { .judge = judge };
	uint8_t has_needs[PROGRESS_TYPES_MAX] = { 0 };
	bool has_some = false;
	if (judge->m->conds[judge->cond].waits < WAITS_LEAST)
		return 0;
	p.local = calloc(judge->m->type_count + 1, sizeof *p.local);
	int code = p.local ? 0 : -ENOMEM;
	if (code == 0 && find_types(&p, use)) {
		code = prepare(&p);
		for (size_t i = 0; i < use->waiter_count && code >= 0; i++) {
			if (p.local[use->waiters[i]] == 0)
				continue;
			p.waiter = p.local[use->waiters[i]] - 1;
			code = judge_type(&p);
			has_needs[p.waiter] = code > 0;
			has_some |= code > 0;
		}
		code = code < 0 || !has_some ? code : add_parts(&p, has_needs, use);
	}
	release(&p);
	return code < 0 ? code : has_some;
}
