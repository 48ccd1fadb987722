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
#include "base/map.h"
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
	free(p->exempts);
	free(p->begun_before);
	free(p->given_before);
}

int progress_add_need(struct progress_judge *p, struct meaning_need need)
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
		.per = (uint32_t)f->per,
		.total = (uint64_t)progress_given_in_all(p, f->source),
		.counts = f->kind == FAMILY_BEFORE  ? MEANING_BEFORE
			  : f->kind == FAMILY_SINCE ? MEANING_SINCE
			  : f->counts_begun         ? MEANING_BEGUN
						    : MEANING_ENDED };
	int code = 0;
	for (uint32_t i = 0; i < p->thread_count && code == 0; i++) {
		const struct level *level = progress_level(p, f, i);
		bool is_common = family_is_common(f);
		uint32_t partner = is_common ? 0 : progress_partner(p, f, i);
		if (!level->is_needed || partner == UINT32_MAX)
			continue;
		need.level = level->least;
		need.tid = is_common ? 0 : m->threads[p->threads[i]].tid;
		need.source_tid = is_common || partner == p->thread_count
					  ? 0
					  : m->threads[p->threads[partner]].tid;
		code = progress_add_need(p, need);
		if (is_common)
			break;
	}
	return code;
}

bool progress_is_enough(uint64_t waits, const struct outcome *outcome, uint64_t decisions)
{
	uint64_t unexplained = waits - outcome->waits + outcome->broken;
	return (double)outcome->waits >= WAITS_EXPLAINED * (double)waits &&
	       (double)unexplained <= (1 - MEANING_EXPLAINED) * (double)decisions;
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

/* What a type has needs for, if these explain it: 1, or all of it is forgotten. */
static int accept(struct progress_judge *p, uint64_t waits, uint64_t decisions,
	const struct outcome *outcome, size_t needs, size_t exempts)
{
	if (progress_is_enough(waits, outcome, decisions)) {
		p->decisions += decisions;
		p->unexplained += waits - outcome->waits + outcome->broken;
		return 1;
	}
	p->judge->m->need_count = needs;
	p->exempt_count = exempts;
	return 0;
}

/* 1: the waiter's type has needs, which explain it; 0, -ENOMEM. */
static int judge_type(struct progress_judge *p)
{
	size_t needs = p->judge->m->need_count, exempts = p->exempt_count;
	uint64_t waits = 0, decisions = 0;
	struct outcome all = { 0 };
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
	for (int n = 0; n < NEEDS_MAX && all.waits < waits; n++) {
		struct family best = { 0 };
		uint64_t score = progress_best(p, &best);
		if (score < 2 || score * NEW_WAITS_SHARE < waits)
			break;
		struct outcome outcome = progress_try(p, &best, true);
		all.waits += outcome.waits;
		all.broken += outcome.broken;
		if (outcome.has_failed || keep_family(p, &best) < 0)
			return -ENOMEM;
	}
	if (accept(p, waits, decisions, &all, needs, exempts))
		return 1;
	int code = p->are_pairs_tried ? progress_each(p, waits, decisions, &all) : 0;
	return code <= 0 ? code : accept(p, waits, decisions, &all, needs, exempts);
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
	p->begun_before = calloc(p->thread_count + 1, sizeof *p->begun_before);
	p->given_before = calloc(
		(size_t)(p->thread_count + 1) * (p->type_count + 1), sizeof *p->given_before);
	if (!p->begun_before || !p->given_before || !p->balances || !p->given || !p->ended ||
		!p->given_in_all || !p->ended_in_all || !p->levels || !p->is_explained ||
		!p->is_last)
		return -ENOMEM;
	p->are_pairs_tried = p->thread_count <= THREADS_MAX;
	size_t pairs =
		p->thread_count <= PROGRESS_FEW_THREADS ? 3 * p->thread_count : 6 * PROGRESS_NEAR;
	size_t families =
		p->type_count * (2 * p->type_count + 2 + (p->are_pairs_tried ? pairs : 0));
	p->entries =
		WORK_MAX / (families + 1) < mutex->count ? WORK_MAX / (families + 1) : mutex->count;
	return 0;
}

static void count_all(struct progress_judge *p)
{
	size_t counts = (size_t)p->type_count * (p->thread_count + 1);
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries; i++) {
		progress_enter(p, &p->judge->mutex->log[i]);
		progress_read(p, &p->judge->mutex->log[i]);
	}
	for (size_t i = 0; i < counts; i++) {
		p->given_in_all[i] = p->given[i];
		p->ended_in_all[i] = p->ended[i];
	}
}

/* Whether some need counts sections of a type when they begin. */
static bool is_begun_counted(const struct progress_judge *p, uint32_t type)
{
	const struct meaning *m = p->judge->m;
	for (size_t i = 0; i < m->need_count; i++)
		if (m->needs[i].cond == p->judge->cond && m->needs[i].sink == type &&
			(m->needs[i].counts == MEANING_BEGUN ||
				m->needs[i].counts == MEANING_BEFORE))
			return true;
	return false;
}

/* What its sections do to the condition. Those that are counted say so at their end, or before they wait. */
static int add_parts(
	struct progress_judge *p, const uint8_t *has_needs, const struct meaning_use *use)
{
	const struct judge *judge = p->judge;
	for (uint32_t i = 0; i < p->type_count; i++) {
		bool is_first = judge->is_first[p->types[i]] == ORDER_FIRST;
		int code = has_needs[i] ? judge_add_part(judge, p->types[i], MEANING_AWAITS, false)
					: 0;
		if (code == 0 && p->gives[i])
			code = judge_add_part(judge, p->types[i], MEANING_COUNTS, is_first);
		if (code == 0 && is_begun_counted(p, p->types[i]))
			code = judge_add_part(judge, p->types[i], MEANING_BEGINS, true);
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

/* Each type that waits. How many have needs, or -ENOMEM. */
static int judge_types(struct progress_judge *p, const struct meaning_use *use, uint8_t has_needs[])
{
	int found = 0;
	p->decisions = p->unexplained = p->exempt_count = 0;
	count_all(p);
	for (size_t i = 0; i < use->waiter_count; i++) {
		if (p->local[use->waiters[i]] == 0)
			continue;
		p->waiter = p->local[use->waiters[i]] - 1;
		int code = judge_type(p);
		if (code < 0)
			return code;
		has_needs[p->waiter] = code > 0;
		found += code > 0;
	}
	return found;
}

/* Sections that wait for others of their own type, of which no order was seen: the last to come need not wait. */
static bool counts_itself(const struct progress_judge *p, size_t first_need)
{
	const struct meaning *m = p->judge->m;
	for (size_t i = first_need; i < m->need_count; i++)
		if (m->needs[i].source == m->needs[i].type &&
			p->judge->is_first[m->needs[i].type] == ORDER_UNSEEN)
			return true;
	return false;
}

/* Then they tell before they wait; perhaps they do where nothing is explained otherwise, too. */
static int judge_both_orders(
	struct progress_judge *p, const struct meaning_use *use, uint8_t has_needs[])
{
	size_t before = p->judge->m->need_count;
	int found = judge_types(p, use, has_needs);
	if (found < 0 || (found > 0 && !counts_itself(p, before)))
		return found;
	int code = judge_other_order(p->judge, use);
	if (code <= 0)
		return code < 0 ? code : found;
	p->judge->m->need_count = before;
	int other = judge_types(p, use, has_needs);
	if (other < 0 || other >= found)
		return other;
	p->judge->m->need_count = before;
	code = judge_order(p->judge);
	return code < 0 ? code : judge_types(p, use, has_needs);
}

static int keep_exempts(const struct progress_judge *p)
{
	for (size_t i = 0; i < p->exempt_count; i++) {
		uint64_t *given;
		if (map_add(&p->judge->m->exempt, p->judge->cond, p->exempts[i].section,
			    p->exempts[i].given, &given) < 0)
			return -ENOMEM;
	}
	return 0;
}

int judge_progress(const struct judge *judge, double least)
{
	const struct meaning_use *use = &judge->m->uses[judge->cond];
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	struct progress_judge p = { .judge = judge };
	uint8_t has_needs[PROGRESS_TYPES_MAX] = { 0 };
	size_t needs = judge->m->need_count;
	if (cond->waits < WAITS_LEAST)
		return 0;
	p.local = calloc(judge->m->type_count + 1, sizeof *p.local);
	int code = p.local ? 0 : -ENOMEM;
	if (code == 0 && find_types(&p, use)) {
		code = prepare(&p);
		code = code < 0 ? code : judge_both_orders(&p, use, has_needs);
	}
	double consistency = p.decisions > 0 ? 1 - (double)p.unexplained / (double)p.decisions : 0;
	if (code > 0 && consistency > least) {
		cond->consistency = consistency;
		cond->decisions = p.decisions;
		code = add_parts(&p, has_needs, use);
		code = code < 0 ? code : keep_exempts(&p);
		code = code < 0 ? code : 1;
	} else if (code > 0) {
		judge->m->need_count = needs;
		code = 0;
	}
	release(&p);
	return code;
}
