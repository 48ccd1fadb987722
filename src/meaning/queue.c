/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues of which sections get a fixed number of items (see meaning.h): who waits finds too few. */
#include "base/map.h"
#include "base/mem.h"
#include "meaning/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One of so many that were put, left in the end, is too many. */
enum { LEFT_PART = 20 };

struct hypothesis {
	uint32_t put_items, get_items;
	int64_t first; /* b at which there is nothing to get: minus the items at first */
	uint64_t decisions, explained;
	uint64_t waits, waits_explained; /* of those */
	uint64_t vain; /* who waited, found nothing and went on, none of those */
	uint64_t way_on; /* what most of them did next, of `once`; 0: not known */
	uint64_t vain_so, got, got_so; /* how many of those, and of who got something, did */
	uint64_t closing_put; /* after so many puts it is closed; 0: not by that */
	bool is_closed;
	bool must_tell; /* who signals nothing found no room, and puts nothing */
	bool once; /* who has waited and finds nothing goes on with nothing */
	bool ends_itself; /* who finds nothing and tells others closes it, until something is put again */
	bool by_signals; /* each signal is an item; who signals nothing puts nothing */
	uint64_t capacity; /* of the room, if it is known */
	int64_t most, left; /* items */
};

/* Who found nothing goes on another way than who got something: the program says so, too. */
static bool are_told_apart(const struct hypothesis *h)
{
	return h->way_on && (double)h->vain_so >= MEANING_EXPLAINED * (double)h->vain &&
	       (double)h->got_so <= (1 - MEANING_EXPLAINED) * (double)h->got;
}

/*
 * That items are taken by others before the woken one comes is the exception: where it is as often the rule nothing is explained by that,
 * unless what the threads do next tells the same.
 */
static double share(const struct hypothesis *h)
{
	uint64_t unexplained = 2 * h->vain > h->waits && !are_told_apart(h) ? h->vain : 0;
	return judge_share(h->decisions + unexplained, h->explained, h->waits, h->waits_explained);
}

/* What an entry does, but if there was no room. */
static enum role role_at(
	const struct judge *judge, const struct hypothesis *h, const struct meaning_entry *entry)
{
	enum role role = judge_role_at(judge, entry);
	bool must_tell = h->must_tell || h->by_signals;
	return role == ROLE_PUT && must_tell && !entry->tells ? ROLE_NONE : role;
}

/* Items of an entry that puts; who tells everybody puts one. */
static uint32_t items_of(const struct hypothesis *h, const struct meaning_entry *entry)
{
	return h->by_signals && entry->signals > 0 ? entry->signals : h->put_items;
}

static bool is_refused_put(
	const struct judge *judge, const struct hypothesis *h, const struct meaning_entry *entry)
{
	return h->must_tell && !entry->tells && judge_role_at(judge, entry) == ROLE_PUT;
}

/* The b at which sections waited most often; of several the least. */
static int find_first(const struct judge *judge, struct hypothesis *h)
{
	struct map seen = { 0 };
	int64_t b = 0;
	uint64_t most = 0;
	int code = 0;
	for (size_t i = 0; i < judge->mutex->count && code >= 0; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		enum role role = role_at(judge, h, entry);
		b += role == ROLE_PUT ? (int64_t)items_of(h, entry) : 0;
		b -= role == ROLE_GET && !entry->is_timed_out ? (int64_t)h->get_items : 0;
		if (entry->what == ENTRY_WAIT && entry->subject == judge->cond) {
			uint64_t *count;
			code = map_add(&seen, (uint64_t)b, 0, 0, &count);
			if (code >= 0 && (++*count > most || (*count == most && b < h->first))) {
				most = *count;
				h->first = b;
			}
		}
	}
	map_release(&seen);
	return code < 0 ? code : 0;
}

static bool is_of_mutex(const struct judge *judge, uint32_t type)
{
	const struct meaning_cond *cond = &judge->m->conds[judge->cond];
	return judge->m->types[type].mutex == cond->mutex && judge->m->types[type].pid == cond->pid;
}

static void mark(uint8_t *bits, const struct meaning_entry *entry, bool marks)
{
	if (marks)
		meaning_mark(bits, entry->section);
}

static bool is_vain(const struct hypothesis *h, const struct meaning_entry *entry, int64_t items)
{
	return h->once && entry->has_waited && items < (int64_t)h->get_items && !h->is_closed;
}

/* Counts the decisions that the hypothesis explains; marks those refused if asked. */
static void play(const struct judge *judge, struct hypothesis *h, bool marks)
{
	int64_t items = -h->first;
	uint64_t waiting = 0, puts = 0;
	h->decisions = h->explained = h->waits = h->waits_explained = 0;
	h->vain = h->vain_so = h->got = h->got_so = 0;
	h->is_closed = false;
	h->most = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		bool is_enough = items >= (int64_t)h->get_items;
		if (is_refused_put(judge, h, entry)) {
			h->decisions++;
			h->explained += items >= (int64_t)h->capacity;
			mark(judge->m->refused, entry, marks);
		}
		if (entry->what == ENTRY_WAIT && entry->subject == judge->cond) {
			h->decisions++;
			h->waits++;
			h->waits_explained += !is_enough && !h->is_closed;
			h->explained += !is_enough && !h->is_closed;
			waiting += !entry->is_again;
		}
		switch (role_at(judge, h, entry)) {
		case ROLE_NONE:
			break;
		case ROLE_PUT:
			items += items_of(h, entry);
			h->most = items > h->most ? items : h->most;
			/* Who waits for this is told: else it waits for more. */
			h->decisions += waiting > 0 && !is_enough && !entry->tells &&
					items >= (int64_t)h->get_items;
			h->is_closed |= ++puts == h->closing_put;
			h->is_closed &= !h->ends_itself;
			break;
		case ROLE_CLOSE:
			h->is_closed = true;
			break;
		case ROLE_GET:
			waiting -= entry->has_waited && waiting > 0;
			if (!is_enough && entry->is_timed_out) {
				mark(judge->m->refused, entry, marks);
				break;
			}
			if (is_vain(h, entry, items)) {
				h->vain++;
				h->vain_so += entry->next == h->way_on;
				mark(judge->m->vain, entry, marks);
				break;
			}
			h->is_closed |= h->ends_itself && !is_enough && entry->has_signalled;
			h->decisions++;
			h->got++;
			h->got_so += entry->next == h->way_on;
			h->explained += is_enough || h->is_closed;
			if (is_enough || !h->is_closed)
				items -= h->get_items;
			else
				mark(judge->m->refused, entry, marks);
			break;
		}
	}
	h->left = items;
}

/* Plays it; if it explains more than the best one so far, that is what is best. */
static int try_queue(
	const struct judge *judge, uint32_t put_items, uint32_t get_items, struct hypothesis *best)
{
	struct hypothesis h = { .put_items = put_items, .get_items = get_items };
	/* Who comes to a latch waits for any number of items: it begins without. */
	int code = get_items == 1 ? find_first(judge, &h) : 0;
	if (code < 0)
		return code;
	if (h.first > 0)
		return 0;
	play(judge, &h, false);
	if (share(&h) <= share(best))
		return 0;
	*best = h;
	return 0;
}

/* The most frequent way to go on of sections that found nothing; 0: none did. */
static int find_way_on(const struct judge *judge, uint64_t *ret)
{
	struct map ways = { 0 };
	uint64_t items = 0, most = 0;
	int code = 0;
	for (size_t i = 0; i < judge->mutex->count && code >= 0; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		enum role role = judge_role_at(judge, entry);
		items += role == ROLE_PUT;
		if (role != ROLE_GET || items-- > 0)
			continue;
		items = 0;
		uint64_t *count;
		code = map_add(&ways, entry->next, 0, 0, &count);
		if (code >= 0 && ++*count > most) {
			most = *count;
			*ret = entry->next;
		}
	}
	map_release(&ways);
	return code < 0 ? code : 0;
}

/* One item each, of a queue that is empty at first, whose sections wait once. */
static int try_once(const struct judge *judge, struct hypothesis *best)
{
	struct hypothesis h = { .put_items = 1, .get_items = 1, .once = true };
	int code = find_way_on(judge, &h.way_on);
	if (code < 0)
		return code;
	play(judge, &h, false);
	if (share(&h) > share(best))
		*best = h;
	return 0;
}

/* Sections of one type may put several, or none: as many as they signal. */
static int try_signals(const struct judge *judge, struct hypothesis *best)
{
	struct hypothesis h = { .put_items = 1, .get_items = 1, .by_signals = true };
	int code = find_first(judge, &h);
	if (code < 0 || h.first > 0)
		return code;
	play(judge, &h, false);
	if (share(&h) > share(best))
		*best = h;
	return 0;
}

/*
 * A stack of tasks that make tasks, empty at first: who comes back from the last one finds nothing, and tells those who wait that there will be no more. A thread's first
 * look, at a place of its own, may always have found something: sections of one more type may get.
 */
static void try_end(const struct judge *judge, struct hypothesis *best)
{
	uint32_t found = UINT32_MAX;
	for (uint32_t i = 0; i <= judge->m->type_count; i++) {
		bool is_more = i < judge->m->type_count;
		struct hypothesis h = { .put_items = 1, .get_items = 1, .ends_itself = true };
		if (is_more && (judge->roles[i] != ROLE_NONE || !is_of_mutex(judge, i)))
			continue;
		if (is_more)
			judge->roles[i] = ROLE_GET;
		play(judge, &h, false);
		if (is_more)
			judge->roles[i] = ROLE_NONE;
		if (!(share(&h) > share(best)))
			continue;
		*best = h;
		found = is_more ? i : UINT32_MAX;
	}
	if (found != UINT32_MAX)
		judge->roles[found] = ROLE_GET;
}

/* Items of one put that what came before the first wait after it says: that wait found none left. 0: nothing does. */
static int find_batch(const struct judge *judge, uint32_t *ret)
{
	AUTO_RELEASE(map) struct map seen = { 0 };
	uint64_t puts = 0, gets = 0, most = 0;
	*ret = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		enum role role = judge_role_at(judge, entry);
		puts += role == ROLE_PUT;
		gets += role == ROLE_GET && !entry->is_timed_out;
		if (entry->what != ENTRY_WAIT || entry->subject != judge->cond || puts == 0 ||
			gets % puts != 0 || gets / puts > UINT32_MAX / 2)
			continue;
		uint64_t *count;
		int code = map_add(&seen, gets / puts, 0, 0, &count);
		if (code < 0)
			return code;
		if (++*count > most) {
			most = *count;
			*ret = (uint32_t)(gets / puts);
		}
	}
	return 0;
}

/* One item each; or as many as the totals say, or as many as were there until somebody waited. */
static int try_counts(const struct judge *judge, struct hypothesis *best)
{
	uint64_t puts = judge_executions(judge, ROLE_PUT), gets = judge_executions(judge, ROLE_GET);
	int code = try_queue(judge, 1, 1, best);
	if (code == 0 && share(best) < MEANING_EXPLAINED)
		code = try_once(judge, best);
	if (code < 0 || share(best) >= MEANING_EXPLAINED || puts == 0 || gets == 0)
		return code;
	uint64_t each = puts > gets ? (puts + gets / 2) / gets : (gets + puts / 2) / puts;
	if (each >= 2 && each <= UINT32_MAX / 2)
		code = puts > gets ? try_queue(judge, 1, (uint32_t)each, best)
				   : try_queue(judge, (uint32_t)each, 1, best);
	uint32_t batch = 0;
	if (code == 0 && puts < gets && share(best) < MEANING_EXPLAINED)
		code = find_batch(judge, &batch);
	if (code == 0 && batch >= 2)
		code = try_queue(judge, batch, 1, best);
	if (code == 0 && share(best) < MEANING_EXPLAINED)
		code = try_signals(judge, best);
	if (code == 0 && share(best) < MEANING_EXPLAINED)
		try_end(judge, best);
	return code;
}

void judge_set_roles(const struct judge *judge, const struct meaning_use *use)
{
	for (size_t i = 0; i < judge->m->type_count; i++)
		judge->roles[i] = ROLE_NONE;
	for (size_t i = 0; i < use->signaller_count; i++)
		judge->roles[use->signallers[i]] = ROLE_PUT;
	for (size_t i = 0; i < use->waiter_count; i++)
		judge->roles[use->waiters[i]] = ROLE_GET;
}

/* What each section put. */
static int note_signals(const struct judge *judge, const struct hypothesis *h)
{
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	cond->puts_taken = true;
	cond->taken_of = judge->cond;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		if (role_at(judge, h, entry) == ROLE_PUT &&
			judge_note_items(judge, entry->section, items_of(h, entry)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int accept_queue(const struct judge *judge, struct hypothesis *h)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_GETS, [ROLE_PUT] = MEANING_PUTS, [ROLE_CLOSE] = MEANING_CLOSES
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	play(judge, h, true);
	cond->kind = MEANING_QUEUE;
	cond->consistency = share(h);
	cond->decisions = h->decisions;
	cond->is_initial_known = cond->is_seen = cond->waits > 0;
	cond->initial = (uint64_t)-h->first;
	cond->put_items = h->put_items;
	cond->get_items = h->get_items;
	cond->is_closed = h->is_closed;
	cond->ends_itself = h->ends_itself;
	cond->closing_put = h->closing_put;
	cond->capacity = h->capacity;
	if (h->by_signals && note_signals(judge, h) < 0)
		return -ENOMEM;
	return judge_add_parts(judge, roles);
}

/* Once, and everybody was told: more likely the end than an item, unless everybody is told of items, too. */
static bool looks_like_end(const struct judge *judge, uint32_t type)
{
	enum { TOLD_TO_ALL_MAX = 10 };
	uint64_t told_to_all = 0;
	if (judge->m->types[type].executions != 1 || judge_executions(judge, ROLE_PUT) < 2)
		return false;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		if (entry->what == ENTRY_SIGNAL && entry->type == type &&
			entry->subject == judge->cond)
			return false;
		told_to_all += entry->what == ENTRY_BROADCAST && entry->subject == judge->cond;
	}
	return told_to_all <= TOLD_TO_ALL_MAX;
}

/* Nobody puts anything into a queue that has been closed. */
bool judge_comes_last(const struct judge *judge, uint32_t type)
{
	bool has_come = false;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		if (entry->what != ENTRY_END || judge->roles[entry->subject] != ROLE_PUT)
			continue;
		if (has_come && entry->subject != type)
			return false;
		has_come |= entry->subject == type;
	}
	return has_come;
}

/*
 * One more of those who signal that may have closed the queue instead, and then has that role: the last to put anything,
 * if that explains more, or as much and it looks like an end. 1: there is one, 0 or -ENOMEM.
 */
static int find_closer(
	const struct judge *judge, const struct meaning_use *use, struct hypothesis *best)
{
	uint32_t closer = UINT32_MAX;
	for (size_t i = 0; i < use->signaller_count; i++) {
		struct hypothesis h = { 0 };
		uint32_t type = use->signallers[i];
		if (judge->roles[type] != ROLE_PUT || !judge_comes_last(judge, type))
			continue;
		bool is_preferred = looks_like_end(judge, type);
		judge->roles[type] = ROLE_CLOSE;
		int code = try_counts(judge, &h);
		judge->roles[type] = ROLE_PUT;
		if (code < 0)
			return code;
		if (share(&h) > share(best) || (share(&h) >= share(best) && is_preferred)) {
			closer = type;
			*best = h;
		}
	}
	if (closer == UINT32_MAX)
		return 0;
	judge->roles[closer] = ROLE_CLOSE;
	return 1;
}

/* Those who get know how much there will be: after the last put who finds nothing goes on. */
static void find_last_put(const struct judge *judge, struct hypothesis *best)
{
	struct hypothesis h = *best;
	if (best->is_closed || best->decisions == 0)
		return;
	h.closing_put = 0;
	for (size_t i = 0; i < judge->mutex->count; i++)
		h.closing_put += judge_role_at(judge, &judge->mutex->log[i]) == ROLE_PUT;
	play(judge, &h, false);
	if (share(&h) > share(best))
		*best = h;
}

/* Items that nobody ever took may not have been put, for want of room: then those who came with them signalled nothing. */
static int find_room(const struct judge *judge, struct hypothesis *best)
{
	uint64_t puts = judge_executions(judge, ROLE_PUT);
	struct hypothesis h = *best;
	if (!best->is_closed || best->left <= 0 || (uint64_t)best->left * LEFT_PART < puts)
		return 0;
	h.must_tell = true;
	h.first = 0;
	h.closing_put = 0;
	int code = h.get_items == 1 ? find_first(judge, &h) : 0;
	if (code < 0 || h.first > 0)
		return code;
	play(judge, &h, false);
	h.capacity = h.most > 0 ? (uint64_t)h.most : 0;
	play(judge, &h, false);
	if (h.capacity > 0 && share(&h) >= MEANING_EXPLAINED && h.left < best->left)
		*best = h;
	return 0;
}

/* Several each time, and often, or so few that many would be left: perhaps sections get as many as there are. */
static bool takes_batches(const struct judge *judge, const struct hypothesis *h)
{
	enum { OFTEN = 8 };
	uint64_t puts = judge_executions(judge, ROLE_PUT);
	bool leaves_many = h->left > 0 && (uint64_t)h->left * LEFT_PART >= puts;
	return judge_executions(judge, ROLE_GET) >= OFTEN && (h->get_items > 1 || leaves_many);
}

/* Those who only signal are producers; the last of them may instead have closed the queue, each in its own way. */
int judge_queue(const struct judge *judge, const struct meaning_use *use)
{
	struct hypothesis best = { 0 };
	size_t types = judge->m->type_count;
	int code = try_counts(judge, &best);
	bool is_found = code == 0;
	while (is_found) {
		code = find_closer(judge, use, &best);
		is_found = code > 0;
	}
	AUTO_FREE uint8_t *roles = calloc(types + 1, sizeof *roles);
	if (code < 0 || !roles)
		return -ENOMEM;
	find_last_put(judge, &best);
	if (find_room(judge, &best) < 0)
		return -ENOMEM;
	memcpy(roles, judge->roles, types);
	judge_set_roles(judge, use);
	double of_drain = 0;
	bool may_drain =
		takes_batches(judge, &best) ||
		(judge->m->is_of_other_pace && best.by_signals && judge_is_told_when_empty(judge));
	if (may_drain && judge_drain_share(judge, use, &of_drain) < 0)
		return -ENOMEM;
	judge_set_roles(judge, use);
	if (of_drain > 0 && of_drain >= share(&best))
		return 0; /* judge_drain() comes next */
	code = judge_generations(judge, share(&best));
	if (code != 0 || share(&best) < MEANING_EXPLAINED)
		return code;
	memcpy(judge->roles, roles, types);
	code = accept_queue(judge, &best);
	return code < 0 ? code : 1;
}

/* Sections that found nothing change nothing, and go on another way than the others. */
static void play_tries(const struct judge *judge, uint64_t way_on, struct hypothesis *h, bool marks)
{
	uint64_t items = 0;
	h->decisions = h->explained = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		enum role role = judge_role_at(judge, entry);
		items += role == ROLE_PUT;
		if (role != ROLE_GET)
			continue;
		bool is_empty = items == 0;
		h->decisions++;
		h->explained += is_empty ? entry->next == way_on && !entry->has_signalled
					 : entry->next != way_on;
		items -= !is_empty;
		if (is_empty)
			mark(judge->m->refused, entry, marks);
	}
}

/*
 * A queue that was never empty before it was closed, and then was taken to the last item: nobody had to wait. 1: it is, and all that
 * look like its end have that role; 0.
 */
static int judge_closed_unseen(const struct judge *judge, const struct meaning_use *use)
{
	struct hypothesis h = { .put_items = 1, .get_items = 1 };
	uint64_t closers = 0;
	for (size_t i = 0; i < use->signaller_count; i++) {
		uint32_t type = use->signallers[i];
		bool is_end = judge_comes_last(judge, type) && looks_like_end(judge, type);
		judge->roles[type] = is_end ? ROLE_CLOSE : ROLE_PUT;
		closers += is_end;
	}
	play(judge, &h, false);
	bool is_closed = closers > 0 && share(&h) >= 1 &&
			 judge_executions(judge, ROLE_GET) > judge_executions(judge, ROLE_PUT);
	for (size_t i = 0; i < use->signaller_count && !is_closed; i++)
		judge->roles[use->signallers[i]] = ROLE_PUT;
	if (!is_closed)
		return 0;
	int code = accept_queue(judge, &h);
	return code < 0 ? code : 1;
}

/*
 * Signalled and never waited for: the other sections of the mutex may be the consumers of a queue that
 * never was empty, or that is left alone when it is.
 */
int judge_unseen(const struct judge *judge, const struct meaning_use *use)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_TRIES, [ROLE_PUT] = MEANING_PUTS
	};
	struct meaning *m = judge->m;
	struct meaning_cond *cond = &m->conds[judge->cond];
	struct hypothesis h = { .put_items = 1, .get_items = 1 };
	uint64_t way_on = 0;
	for (uint32_t i = 0; i < m->type_count; i++)
		if (judge->roles[i] == ROLE_NONE && is_of_mutex(judge, i))
			judge->roles[i] = ROLE_GET;
	int code = judge_closed_unseen(judge, use);
	if (code != 0)
		return code;
	uint64_t puts = judge_executions(judge, ROLE_PUT);
	uint64_t gets = judge_executions(judge, ROLE_GET);
	play(judge, &h, false);
	if (gets >= 2 && gets <= puts && puts - gets <= puts / 20 && share(&h) >= 1) {
		code = accept_queue(judge, &h);
		return code < 0 ? code : 1;
	}
	code = find_way_on(judge, &way_on);
	if (code < 0 || way_on == 0)
		return code;
	play_tries(judge, way_on, &h, false);
	if (share(&h) < MEANING_EXPLAINED)
		return 0;
	play_tries(judge, way_on, &h, true);
	cond->kind = MEANING_QUEUE;
	cond->consistency = share(&h);
	cond->decisions = h.decisions;
	cond->put_items = cond->get_items = 1;
	code = judge_add_parts(judge, roles);
	return code < 0 ? code : 1;
}

int judge_queue_like(const struct judge *judge, const struct meaning_cond *like)
{
	bool is_gate = like->kind == MEANING_GATE;
	struct hypothesis h = { .put_items = is_gate ? 1 : like->put_items,
		.get_items = is_gate ? 1 : like->get_items,
		.first = -(int64_t)like->initial };
	play(judge, &h, false);
	if (h.decisions > 0 && share(&h) < MEANING_EXPLAINED)
		return 0;
	meaning_forget(judge->m, judge->cond);
	int code = accept_queue(judge, &h);
	judge->m->conds[judge->cond].is_initial_known = true;
	return code < 0 ? code : 1;
}
