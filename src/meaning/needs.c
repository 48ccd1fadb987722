/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What balances of counts explain why sections wait: see progress.c. */
#include "base/mem.h"
#include "meaning/progress.h"

#include <errno.h>
#include <stdlib.h>

enum { PER_MAX = 100000 };

int64_t *progress_count_of(
	const struct progress_judge *p, int64_t *counts, uint32_t type, uint32_t thread)
{
	return &counts[(size_t)type * (p->thread_count + 1) + thread];
}

void progress_forget_counts(struct progress_judge *p)
{
	for (size_t i = 0; i < (size_t)p->type_count * (p->thread_count + 1); i++)
		p->given[i] = p->ended[i] = 0;
	for (uint32_t i = 0; i < p->type_count; i++)
		p->begun[i] = 0;
	p->all_given = 0;
}

static void give(struct progress_judge *p, uint32_t type, uint32_t thread)
{
	++*progress_count_of(p, p->given, type, thread);
	++*progress_count_of(p, p->given, type, p->thread_count);
	p->all_given += p->gives[type] && type != p->waiter;
}

static bool gives_first(const struct progress_judge *p, const struct meaning_entry *entry)
{
	return p->judge->is_first[entry->type] == ORDER_FIRST;
}

void progress_enter(struct progress_judge *p, const struct meaning_entry *entry)
{
	uint32_t type = p->local[entry->type] - 1, thread = p->ranks[entry->thread];
	if (entry->begins && type == p->waiter) {
		int64_t *before = &p->given_before[(size_t)thread * (p->type_count + 1)];
		for (uint32_t i = 0; i < p->type_count; i++)
			before[i] = *progress_count_of(p, p->given, i, p->thread_count);
		before[p->type_count] = p->all_given;
		p->begun_before[thread] = p->begun[type];
	}
	p->begun[type] += entry->begins;
	if (entry->gives && gives_first(p, entry))
		give(p, type, thread);
}

/* What an entry adds to the counts. */
void progress_read(struct progress_judge *p, const struct meaning_entry *entry)
{
	uint32_t type = p->local[entry->type] - 1, thread = p->ranks[entry->thread];
	if (entry->gives && !gives_first(p, entry))
		give(p, type, thread);
	if (entry->what == ENTRY_END) {
		++*progress_count_of(p, p->ended, type, thread);
		++*progress_count_of(p, p->ended, type, p->thread_count);
	}
}

int progress_decision(const struct progress_judge *p, const struct meaning_entry *entry)
{
	if (p->local[entry->type] - 1 != p->waiter)
		return 0;
	if (entry->what == ENTRY_WAIT)
		return entry->subject == p->judge->cond;
	return entry->what == ENTRY_END && !entry->is_timed_out ? 2 : 0;
}

uint32_t progress_partner(const struct progress_judge *p, const struct family *f, uint32_t thread)
{
	if (f->kind == FAMILY_OWN)
		return p->thread_count;
	int64_t partner = f->kind == FAMILY_FIXED ? f->partner : (int64_t)thread + f->partner;
	if (partner < 0 || partner >= p->thread_count || partner == thread ||
		*progress_count_of(p, p->given_in_all, f->source, (uint32_t)partner) == 0)
		return UINT32_MAX;
	return (uint32_t)partner;
}

static int64_t given_by_all(const struct progress_judge *p, uint32_t source)
{
	return source == p->type_count ? p->all_given
				       : *progress_count_of(p, p->given, source, p->thread_count);
}

/* Of a common family. */
static int64_t sunk(const struct progress_judge *p, const struct family *f, uint32_t thread)
{
	if (f->kind == FAMILY_BEFORE)
		return p->begun_before[thread];
	if (f->kind == FAMILY_SINCE)
		return p->given_before[(size_t)thread * (p->type_count + 1) + f->source];
	return f->counts_begun ? p->begun[f->sink]
			       : *progress_count_of(p, p->ended, f->sink, p->thread_count);
}

/* False: the family says nothing of this thread. */
static bool find_balance(
	const struct progress_judge *p, const struct family *f, uint32_t thread, int64_t *ret)
{
	if (family_is_common(f)) {
		*ret = f->each * given_by_all(p, f->source) - f->per * sunk(p, f, thread);
		return true;
	}
	uint32_t partner = progress_partner(p, f, thread);
	if (partner == UINT32_MAX)
		return false;
	*ret = f->each * *progress_count_of(p, p->given, f->source, partner) -
	       f->per * *progress_count_of(p, p->ended, p->waiter, thread);
	return true;
}

struct level *progress_level(struct progress_judge *p, const struct family *f, uint32_t thread)
{
	return &p->levels[family_is_common(f) ? 0 : thread];
}

void level_note(struct level *level, int64_t balance)
{
	if (level->gone_on == 0 || balance < level->least) {
		level->has_second = level->gone_on > 0;
		level->second = level->least;
		level->least = balance;
		level->at_least = 0;
	} else if (balance > level->least && (!level->has_second || balance < level->second)) {
		level->has_second = true;
		level->second = balance;
	}
	level->at_least += balance == level->least;
	level->gone_on++;
}

/* One in fifty may be a matter of clocks. */
enum { OUTLIERS = 50 };

void level_settle(struct level *level)
{
	if (level->has_second && level->at_least * OUTLIERS <= level->gone_on)
		level->least = level->second;
	level->is_needed = level->gone_on > 0;
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void find_levels(struct progress_judge *p, const struct family *f)
{
	size_t count = 0;
	for (uint32_t i = 0; i <= p->thread_count; i++)
		p->levels[i] = (struct level){ 0 };
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		uint32_t thread = p->ranks[entry->thread];
		int64_t balance;
		progress_enter(p, entry);
		if (progress_decision(p, entry) == 2 && !p->is_last[i] &&
			find_balance(p, f, thread, &balance)) {
			level_note(progress_level(p, f, thread), balance);
			p->balances[count++] = balance;
		}
		progress_read(p, entry);
	}
	for (uint32_t i = 0; i <= p->thread_count; i++)
		level_settle(&p->levels[i]);
	if (family_is_common(f) && count > 0) {
		qsort(p->balances, count, sizeof *p->balances, by_value);
		p->levels[0].least = p->balances[count / OUTLIERS];
	}
}

int progress_exempt(struct progress_judge *p, const struct meaning_entry *entry)
{
	if (mem_grow(&p->exempts, &p->exempt_capacity, p->exempt_count + 1, sizeof *p->exempts) < 0)
		return -ENOMEM;
	p->exempts[p->exempt_count++] =
		(struct progress_exempt){ entry->section, (uint64_t)p->all_given };
	return 0;
}

/* With the levels that are known. */
static struct outcome try_levels(struct progress_judge *p, const struct family *f, bool is_final)
{
	struct outcome outcome = { 0 };
	for (uint32_t i = 0; i <= p->thread_count; i++)
		p->levels[i].waits = 0;
	progress_forget_counts(p);
	for (size_t i = 0; i < p->entries; i++) {
		const struct meaning_entry *entry = &p->judge->mutex->log[i];
		int decision = progress_decision(p, entry);
		uint32_t thread = p->ranks[entry->thread];
		struct level *level = progress_level(p, f, thread);
		int64_t balance;
		progress_enter(p, entry);
		outcome.decisions += decision > 0;
		if (decision > 0 && level->is_needed && find_balance(p, f, thread, &balance) &&
			balance < level->least) {
			outcome.broken += decision == 2 && !p->is_last[i];
			level->waits += decision == 1;
			outcome.waits += decision == 1 && !p->is_explained[i];
			if (is_final && decision == 1)
				p->is_explained[i] = 1;
			if (is_final && decision == 2 && progress_exempt(p, entry) < 0)
				outcome.has_failed = true;
		}
		progress_read(p, entry);
	}
	return outcome;
}

/*
 * Threads of one family mostly have one level: who never waited has that, too. Where each has its own (the n-th of a
 * round), those who never waited have none.
 */
static void smooth_levels(struct progress_judge *p)
{
	int64_t level = 0;
	uint32_t most = 0, waiting = 0;
	for (uint32_t i = 0; i < p->thread_count; i++) {
		uint32_t alike = 0;
		waiting += p->levels[i].waits > 0;
		for (uint32_t k = 0; k < p->thread_count; k++)
			alike += p->levels[k].waits > 0 && p->levels[i].waits > 0 &&
				 p->levels[k].least == p->levels[i].least;
		if (alike > most || (alike == most && alike > 0 && p->levels[i].least < level)) {
			most = alike;
			level = p->levels[i].least;
		}
	}
	bool is_one = 2 * most > waiting;
	for (uint32_t i = 0; i < p->thread_count; i++) {
		if (is_one && p->levels[i].least > level)
			p->levels[i].least = level;
		if (p->levels[i].waits == 0)
			p->levels[i].is_needed = is_one && p->levels[i].gone_on > 0;
	}
}

struct outcome progress_try(struct progress_judge *p, const struct family *f, bool is_final)
{
	find_levels(p, f);
	struct outcome outcome = try_levels(p, f, is_final && family_is_common(f));
	if (family_is_common(f) || outcome.waits == 0)
		return outcome;
	smooth_levels(p);
	return try_levels(p, f, is_final);
}

/* As many of one as of the other, or a multiple; false: neither. */
static bool set_ratio(struct family *f, int64_t sources, int64_t sinks)
{
	int64_t more = sources > sinks ? sources : sinks, less = sources > sinks ? sinks : sources;
	if (less <= 0)
		return false;
	int64_t ratio = (more + less / 2) / less;
	int64_t off = more - ratio * less;
	if (ratio > PER_MAX || 10 * (off < 0 ? -off : off) > more)
		return false;
	f->each = sources >= sinks ? 1 : ratio;
	f->per = sources >= sinks ? ratio : 1;
	return true;
}

int64_t progress_given_in_all(const struct progress_judge *p, uint32_t source)
{
	int64_t given = 0;
	for (uint32_t i = 0; i < p->type_count; i++)
		if (i == source || (source == p->type_count && p->gives[i] && i != p->waiter))
			given += *progress_count_of(p, p->given_in_all, i, p->thread_count);
	return given;
}

/* From the totals. */
static bool find_ratio(const struct progress_judge *p, struct family *f)
{
	int64_t sources = 0, sinks = 0;
	if (f->kind == FAMILY_SINCE)
		return true;
	if (family_is_common(f)) {
		sources = progress_given_in_all(p, f->source);
		sinks = *progress_count_of(p, p->ended_in_all, f->sink, p->thread_count);
		return set_ratio(f, sources, sinks) || set_ratio(f, sources, sinks - p->lasts);
	}
	for (uint32_t i = 0; i < p->thread_count; i++) {
		int64_t own = *progress_count_of(p, p->ended_in_all, p->waiter, i);
		uint32_t partner = own > 0 ? progress_partner(p, f, i) : UINT32_MAX;
		if (partner == UINT32_MAX)
			continue;
		sources += *progress_count_of(p, p->given_in_all, f->source, partner);
		sinks += own;
	}
	return set_ratio(f, sources, sinks);
}

/* Keeps the better one: that explains more, or comes first. */
static void consider(
	struct progress_judge *p, struct family f, struct family *best, uint64_t *score)
{
	if (!find_ratio(p, &f))
		return;
	struct outcome outcome = progress_try(p, &f, false);
	if (outcome.waits <= outcome.broken || outcome.waits - outcome.broken <= *score ||
		(double)outcome.broken > (1 - MEANING_EXPLAINED) * (double)outcome.decisions)
		return;
	*score = outcome.waits - outcome.broken;
	*best = f;
}

/* Of many threads those that are near one another, or meet at the ends; and sources of which there are few. */
static void consider_pairs(
	struct progress_judge *p, uint32_t source, struct family *best, uint64_t *score)
{
	enum { SOURCES_MAX = 8 };
	int threads = (int)p->thread_count, sources = 0;
	bool are_few = threads <= PROGRESS_FEW_THREADS;
	for (int i = 1; i < threads; i++) {
		if (!are_few && i > PROGRESS_NEAR && i < threads - PROGRESS_NEAR)
			continue;
		consider(p, (struct family){ FAMILY_DISTANCE, source, p->waiter, -i, 1, 1, 0 },
			best, score);
		consider(p, (struct family){ FAMILY_DISTANCE, source, p->waiter, i, 1, 1, 0 }, best,
			score);
	}
	for (uint32_t i = 0; i < p->thread_count; i++)
		sources += *progress_count_of(p, p->given_in_all, source, i) > 0;
	for (int i = 0; i < threads && (are_few || sources <= SOURCES_MAX); i++)
		consider(p, (struct family){ FAMILY_FIXED, source, p->waiter, i, 1, 1, 0 }, best,
			score);
}

/* Counts of all threads together. */
static void consider_common(struct progress_judge *p, struct family *best, uint64_t *score)
{
	for (uint32_t source = 0; source <= p->type_count; source++) {
		if (source < p->type_count && !p->gives[source])
			continue;
		for (uint32_t sink = 0; sink < p->type_count; sink++)
			if (sink != source && (sink == p->waiter || source < p->type_count))
				consider(p,
					(struct family){ FAMILY_COMMON, source, sink, 0, 1, 1, 0 },
					best, score);
	}
	for (uint32_t source = 0; source < p->type_count; source++)
		for (uint32_t sink = 0; sink < p->type_count && p->gives[source]; sink++)
			if (sink != source && sink != p->waiter)
				consider(p,
					(struct family){ FAMILY_COMMON, source, sink, 0, 1, 1, 1 },
					best, score);
	for (uint32_t source = 0; source <= p->type_count; source++) {
		if (source < p->type_count && !p->gives[source])
			continue;
		consider(p, (struct family){ FAMILY_BEFORE, source, p->waiter, 0, 1, 1, 0 }, best,
			score);
		if (source != p->waiter)
			consider(p, (struct family){ FAMILY_SINCE, source, p->waiter, 0, 1, 1, 0 },
				best, score);
	}
}

uint64_t progress_best(struct progress_judge *p, struct family *best)
{
	uint64_t score = 0;
	consider_common(p, best, &score);
	for (uint32_t source = 0; source < p->type_count && p->are_pairs_tried; source++) {
		if (!p->gives[source])
			continue;
		consider(p, (struct family){ FAMILY_OWN, source, p->waiter, 0, 1, 1, 0 }, best,
			&score);
		consider_pairs(p, source, best, &score);
	}
	return score;
}
