/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside progress.c and needs.c: what one type of sections may wait for, and how far others have come. */
#ifndef MEANING_PROGRESS_H
#define MEANING_PROGRESS_H

#include "meaning/parts.h"

enum {
	PROGRESS_TYPES_MAX = 32, /* of one mutex */
	PROGRESS_FEW_THREADS = 64, /* of more not all pairs are tried, but those so near in rank */
	PROGRESS_NEAR = 8,
};

/* Whose progress it is: that of all together; each thread's own balance with all others, with one of them, with its neighbours. */
/* BEFORE and SINCE are COMMON with what had been when the section began, see enum meaning_sink. */
enum family_kind {
	FAMILY_COMMON,
	FAMILY_BEFORE,
	FAMILY_SINCE,
	FAMILY_OWN,
	FAMILY_FIXED,
	FAMILY_DISTANCE
};

struct family {
	enum family_kind kind;
	uint32_t source,
		sink; /* local types; source: `types` stands for all that signal, but the waiter's */
	int partner; /* FIXED: local thread; DISTANCE: how many ranks further */
	int64_t each, per;
	bool counts_begun; /* COMMON: of the sink */
};

static inline bool family_is_common(const struct family *f)
{
	return f->kind == FAMILY_COMMON || f->kind == FAMILY_BEFORE || f->kind == FAMILY_SINCE;
}

/* Of one thread (of COMMON: the first stands for all). */
struct level {
	int64_t least, second; /* balances of those that went on */
	uint64_t at_least, gone_on, waits, broken; /* explained; gone on below it */
	bool has_second, is_needed;
};

struct progress_judge {
	const struct judge *judge;
	size_t entries; /* that are read */
	uint32_t types[PROGRESS_TYPES_MAX], type_count;
	bool gives[PROGRESS_TYPES_MAX]; /* it signals the condition */
	uint32_t *local; /* of each type, plus one */
	uint32_t *ranks, *threads; /* local thread of each thread; and back */
	uint32_t thread_count, waiter; /* waiter: local type that is judged */
	bool are_pairs_tried;
	/* Counts so far: [type * (threads + 1) + thread], the last one of all threads. */
	int64_t *given, *ended, *given_in_all, *ended_in_all;
	int64_t begun[PROGRESS_TYPES_MAX]; /* by all threads */
	int64_t all_given; /* by those that signal, and are not the waiter's type */
	/* When the waiter's section that each thread is in began: [thread], [thread * (types + 1) + type or all_given]. */
	int64_t *begun_before, *given_before;
	struct level *levels;
	uint8_t *is_explained; /* of each entry: a wait */
	uint8_t *is_last; /* of each entry: its thread's last section of the waiter's type */
	int64_t lasts;
	int64_t *balances; /* room for one of each entry */
	uint64_t decisions, unexplained; /* of types that have needs */
	/* Sections that went on below their level, and what had been given then. */
	struct progress_exempt {
		uint64_t section, given;
	} * exempts;
	size_t exempt_count, exempt_capacity;
};

struct outcome {
	bool has_failed; /* out of memory */
	uint64_t waits, decisions,
		broken; /* waits: explained, that were not before; broken: went on below the level */
};

/* Before the section of an entry decides: that it has begun, and what it gives before it waits. */
void progress_enter(struct progress_judge *p, const struct meaning_entry *entry);
/* Counts an entry of the mutex's log. */
void progress_read(struct progress_judge *p, const struct meaning_entry *entry);
/* 1: a section of the waiter's type waits, 2: goes on, 0: another entry. */
int progress_decision(const struct progress_judge *p, const struct meaning_entry *entry);
/* The thread whose progress this one needs; thread_count: all threads'; UINT32_MAX: none. */
uint32_t progress_partner(const struct progress_judge *p, const struct family *f, uint32_t thread);
struct level *progress_level(struct progress_judge *p, const struct family *f, uint32_t thread);
void progress_forget_counts(struct progress_judge *p);
int64_t *progress_count_of(
	const struct progress_judge *p, int64_t *counts, uint32_t type, uint32_t thread);
/* A section goes on at this balance; when all have, what level that makes. */
void level_note(struct level *level, int64_t balance);
void level_settle(struct level *level);
/* By all threads; source: of a family. */
int64_t progress_given_in_all(const struct progress_judge *p, uint32_t source);
/* This section went on below its level. 0 or -ENOMEM. */
int progress_exempt(struct progress_judge *p, const struct meaning_entry *entry);
int progress_add_need(struct progress_judge *p, struct meaning_need need);
/* each.c: needs of each thread by itself, if these explain the waits, and what they do explain. 1, 0, -ENOMEM. */
int progress_each(
	struct progress_judge *p, uint64_t waits, uint64_t decisions, struct outcome *ret);
/* Whether so many waits and decisions explained are enough. */
bool progress_is_enough(uint64_t waits, const struct outcome *outcome, uint64_t decisions);
/* Finds the levels, and what they explain. is_final: that counts as explained from now on. */
struct outcome progress_try(struct progress_judge *p, const struct family *f, bool is_final);
/* Which family explains most of the waits that are left; how many. 0: none, and *best is untouched. */
uint64_t progress_best(struct progress_judge *p, struct family *best);

#endif
