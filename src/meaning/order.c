/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a section provides what it puts: at its end, or, if it signals and then waits for something else, when
 * it waits, since others have the mutex meanwhile. A thread that hands out work and waits in the same section until it is
 * done, or that reports a task done and waits for its next one, does the latter. Which way it is for a type of
 * sections is seen in those of them that did both.
 */
#include "base/cleanup.h"
#include "meaning/parts.h"

#include <errno.h>
#include <stdlib.h>

/* The section that a thread is in, as far as the log has been read. */
struct progress {
	uint64_t section; /* plus one */
	bool has_signalled, has_waited, has_waited_here, is_over;
	uint32_t signals;
	struct meaning_entry *given; /* where it gave; NULL: not yet */
};

static struct progress *progress_of(struct progress *threads, const struct meaning_entry *entry)
{
	struct progress *progress = &threads[entry->thread];
	if (progress->section != entry->section + 1)
		*progress = (struct progress){ .section = entry->section + 1 };
	return progress;
}

/* Also one that timed out. */
static bool is_wait(const struct meaning_entry *entry)
{
	return entry->what == ENTRY_WAIT || entry->what == ENTRY_NOTHING;
}

/* Of the judged condition, in the section or after it. */
static bool is_signal(const struct judge *judge, const struct meaning_entry *entry)
{
	return (entry->what == ENTRY_SIGNAL || entry->what == ENTRY_BROADCAST) &&
	       entry->subject == judge->cond;
}

static void find_first(const struct judge *judge, struct progress *threads)
{
	enum { BEFORE = 1, AFTER = 2 };
	for (size_t i = 0; i < judge->m->type_count; i++)
		judge->is_first[i] = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		struct progress *progress = progress_of(threads, entry);
		bool signals = is_signal(judge, entry) && !progress->is_over;
		if (is_wait(entry) && progress->has_signalled)
			judge->is_first[entry->type] |= BEFORE;
		if (signals && progress->has_waited)
			judge->is_first[entry->type] |= AFTER;
		progress->has_waited |= is_wait(entry);
		progress->has_signalled |= signals;
		progress->is_over |= entry->what == ENTRY_END;
	}
	for (size_t i = 0; i < judge->m->type_count; i++)
		judge->is_first[i] = judge->is_first[i] == BEFORE ? ORDER_FIRST
				     : judge->is_first[i] == 0    ? ORDER_UNSEEN
								  : ORDER_LAST;
}

static void note_order(const struct judge *judge, struct progress *threads)
{
	for (size_t i = 0; i < judge->m->thread_count; i++)
		threads[i] = (struct progress){ 0 };
	for (size_t i = 0; i < judge->mutex->count; i++) {
		struct meaning_entry *entry = &judge->mutex->log[i];
		entry->begins = threads[entry->thread].section != entry->section + 1;
		struct progress *progress = progress_of(threads, entry);
		bool is_time = entry->what == ENTRY_END ||
			       (is_wait(entry) && judge->is_first[entry->type] == ORDER_FIRST);
		progress->has_signalled |= is_signal(judge, entry);
		progress->signals += is_signal(judge, entry) && entry->what == ENTRY_SIGNAL;
		progress->has_waited_here |=
			entry->what == ENTRY_WAIT && entry->subject == judge->cond;
		entry->gives = is_time && !progress->given;
		entry->tells = false;
		entry->signals = 0;
		entry->has_waited = progress->has_waited_here;
		if (entry->gives)
			progress->given = entry;
		if (!progress->given)
			continue;
		progress->given->tells = progress->has_signalled;
		progress->given->signals = progress->signals;
	}
}

int judge_order(const struct judge *judge)
{
	AUTO_FREE struct progress *threads = calloc(judge->m->thread_count + 1, sizeof *threads);
	if (!threads)
		return -ENOMEM;
	find_first(judge, threads);
	note_order(judge, threads);
	return 0;
}

int judge_other_order(const struct judge *judge, const struct meaning_use *use)
{
	AUTO_FREE struct progress *threads = calloc(judge->m->thread_count + 1, sizeof *threads);
	bool is_other = false;
	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < use->waiter_count; i++)
		for (size_t k = 0; k < use->signaller_count; k++) {
			uint8_t *order = &judge->is_first[use->waiters[i]];
			if (use->waiters[i] != use->signallers[k] || *order != ORDER_UNSEEN)
				continue;
			*order = ORDER_FIRST;
			is_other = true;
		}
	if (is_other)
		note_order(judge, threads);
	return is_other;
}

enum role judge_role_at(const struct judge *judge, const struct meaning_entry *entry)
{
	enum role role = (enum role)judge->roles[entry->type];
	bool is_here = role == ROLE_GET ? entry->what == ENTRY_END : entry->gives;
	return is_here ? role : ROLE_NONE;
}
