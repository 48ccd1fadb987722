/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues of which a section gets what there is: all (a list that is swapped for an empty one), or up to a limit (batches). How many each
 * took is what the puts before it left; a limit that is never reached cannot be told from none.
 */
#include "meaning/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum {
	LIMIT_FINE =
		32, /* limits that are all tried; above it each is an eighth more than the one before */
	LIMIT_MOST = 65536,
	TOLD_PART = 100, /* one of so many puts may have told otherwise than all others */
};

struct drain {
	uint64_t most; /* of one get; UINT64_MAX: all */
	uint64_t decisions, explained, waits, waits_explained, reached;
};

static double share(const struct drain *d)
{
	return judge_share(d->decisions, d->explained, d->waits, d->waits_explained);
}

int judge_note_items(const struct judge *judge, uint64_t section, uint64_t items)
{
	uint64_t *slot;
	int code = map_add(&judge->m->taken, judge->cond, section, items, &slot);
	return code < 0 ? code : 0;
}

/* Who waits again in the same section has got all before. keeps: notes what each section took, and who was refused. */
static int play(const struct judge *judge, struct drain *d, bool keeps)
{
	uint64_t items = 0, waiting = 0;
	bool is_closed = false;
	*d = (struct drain){ .most = d->most };
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		bool is_wait = entry->what == ENTRY_WAIT && entry->subject == judge->cond;
		enum role role = judge_role_at(judge, entry);
		/* Who waits is told of the first item: else it waits for more. */
		d->decisions += role == ROLE_PUT && waiting > 0 && items == 0 && !entry->tells;
		items += role == ROLE_PUT;
		is_closed |= role == ROLE_CLOSE;
		waiting += is_wait && !entry->is_again;
		if (is_wait && entry->is_again) { /* whatever there is: no evidence */
			items = d->most == UINT64_MAX ? 0 : items;
			continue;
		}
		d->decisions += is_wait || role == ROLE_GET;
		d->explained += is_wait ? items == 0 && !is_closed
					: role == ROLE_GET && (items > 0 || is_closed);
		d->waits += is_wait;
		d->waits_explained += is_wait && items == 0 && !is_closed;
		if (role != ROLE_GET)
			continue;
		waiting -= entry->has_waited && waiting > 0;
		uint64_t taken = items < d->most ? items : d->most;
		d->reached += items > d->most;
		items -= taken;
		if (keeps && judge_note_items(judge, entry->section, taken) < 0)
			return -ENOMEM;
		if (keeps && taken == 0 && is_closed)
			meaning_mark(judge->m->refused, entry->section);
	}
	return 0;
}

/* Who comes last, and once, closes it, unless that explains less. */
static int find_closers(const struct judge *judge, const struct meaning_use *use, struct drain *d)
{
	for (size_t i = 0; i < use->signaller_count; i++) {
		uint32_t type = use->signallers[i];
		struct drain closed = { .most = d->most };
		if (judge->roles[type] != ROLE_PUT || judge->m->types[type].executions != 1 ||
			!judge_comes_last(judge, type))
			continue;
		judge->roles[type] = ROLE_CLOSE;
		int code = play(judge, &closed, false);
		if (code < 0)
			return code;
		if (share(&closed) < share(d))
			judge->roles[type] = ROLE_PUT;
		else
			*d = closed;
	}
	return 0;
}

/* The limit that explains most; of several next to one another that do the middle one. */
static int find_limit(const struct judge *judge, struct drain *best)
{
	uint64_t first = 0, last = 0, step = 1;
	for (uint64_t most = 2; most <= LIMIT_MOST; most += step) {
		struct drain d = { .most = most };
		int code = play(judge, &d, false);
		if (code < 0)
			return code;
		step = most < LIMIT_FINE ? 1 : most / 8;
		if (share(&d) > share(best)) {
			*best = d;
			first = last = most;
		} else if (first > 0 && share(&d) >= share(best)) {
			last = most;
		}
		if (d.reached == 0)
			break; /* from here on it is none */
	}
	if (last == first)
		return 0;
	best->most = (first + last) / 2;
	return play(judge, best, false);
}

static bool has_closer(const struct judge *judge)
{
	return judge_executions(judge, ROLE_CLOSE) > 0;
}

/* Nobody waits after the last put, if nothing else closes it. */
static void find_closing_put(const struct judge *judge, struct meaning_cond *cond)
{
	cond->is_closed = has_closer(judge);
	for (size_t i = 0; i < judge->mutex->count && !cond->is_closed; i++)
		cond->closing_put += judge_role_at(judge, &judge->mutex->log[i]) == ROLE_PUT;
}

/* The best hypothesis; those who close it have that role then. */
static int find_drain_hypothesis(
	const struct judge *judge, const struct meaning_use *use, struct drain *ret)
{
	*ret = (struct drain){ .most = UINT64_MAX };
	int code = play(judge, ret, false);
	if (code == 0)
		code = find_closers(judge, use, ret);
	return code == 0 && share(ret) < 1 ? find_limit(judge, ret) : code;
}

bool judge_is_told_when_empty(const struct judge *judge)
{
	uint64_t items = 0, puts = 0, untold = 0, others = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		enum role role = judge_role_at(judge, entry);
		bool is_put = role == ROLE_PUT;
		puts += is_put;
		untold += is_put && !entry->tells;
		others += is_put && entry->tells != (items == 0);
		items = role == ROLE_GET ? 0 : items + is_put;
	}
	return untold > 0 && others * TOLD_PART <= puts;
}

int judge_drain_share(const struct judge *judge, const struct meaning_use *use, double *ret)
{
	struct drain drain;
	int code = find_drain_hypothesis(judge, use, &drain);
	*ret = share(&drain);
	return code;
}

int judge_drain(const struct judge *judge, const struct meaning_use *use)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_GETS, [ROLE_PUT] = MEANING_PUTS, [ROLE_CLOSE] = MEANING_CLOSES
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	struct drain drain;
	int code = find_drain_hypothesis(judge, use, &drain);
	if (code < 0 || share(&drain) < MEANING_EXPLAINED)
		return code;
	/* Nearly all: the progress of others may explain all of it. */
	code = share(&drain) < 1 ? judge_progress(judge, share(&drain)) : 0;
	if (code != 0)
		return code;
	cond->kind = MEANING_DRAIN;
	cond->consistency = share(&drain);
	cond->decisions = drain.decisions;
	cond->is_seen = cond->is_initial_known = true;
	cond->put_items = 1;
	cond->most = drain.most == UINT64_MAX ? 0 : drain.most;
	find_closing_put(judge, cond);
	code = play(judge, &drain, true);
	if (code == 0)
		code = judge_add_parts(judge, roles);
	return code < 0 ? code : 1;
}

static bool are_among(const uint32_t *some, size_t some_count, const uint32_t *types, size_t count)
{
	for (size_t i = 0; i < some_count; i++) {
		size_t at = 0;
		while (at < count && types[at] != some[i])
			at++;
		if (at == count)
			return false;
	}
	return some_count > 0;
}

/*
 * The drain of the same mutex whose getters alone signal the judged condition, and, if it is its room, whose putters alone wait
 * there; UINT32_MAX: there is none.
 */
static uint32_t find_drain(const struct judge *judge, const struct meaning_use *use, bool is_room)
{
	const struct meaning *m = judge->m;
	const struct meaning_cond *told = &m->conds[judge->cond];
	for (uint32_t i = 0; i < m->cond_count; i++) {
		const struct meaning_cond *cond = &m->conds[i];
		const struct meaning_use *of = &m->uses[i];
		if (cond->kind == MEANING_DRAIN && cond->pid == told->pid &&
			cond->mutex == told->mutex &&
			are_among(use->signallers, use->signaller_count, of->waiters,
				of->waiter_count) &&
			(!is_room || are_among(use->waiters, use->waiter_count, of->signallers,
					     of->signaller_count)))
			return i;
	}
	return UINT32_MAX;
}

bool judge_is_told_in_rounds(const struct judge *judge, const struct meaning_use *use)
{
	return find_drain(judge, use, false) != UINT32_MAX;
}

struct room {
	uint32_t drain;
	int64_t none; /* room made less room taken at which there is none */
	uint64_t decisions, explained, waits, waits_explained;
};

static int64_t room_after(
	const struct judge *judge, const struct room *room, const struct meaning_entry *entry)
{
	enum role role = judge_role_at(judge, entry);
	if (role == ROLE_PUT)
		return (int64_t)meaning_taken(judge->m, room->drain, entry->section);
	return role == ROLE_GET && !entry->is_timed_out ? -1 : 0;
}

/* Where most waited there was none. */
static int find_none(const struct judge *judge, struct room *room)
{
	AUTO_RELEASE(map) struct map seen = { 0 };
	int64_t balance = 0;
	uint64_t most = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		uint64_t *count;
		balance += room_after(judge, room, entry);
		if (entry->what != ENTRY_WAIT || entry->subject != judge->cond)
			continue;
		if (map_add(&seen, (uint64_t)balance, 0, 0, &count) < 0)
			return -ENOMEM;
		if (++*count > most) {
			most = *count;
			room->none = balance;
		}
	}
	return 0;
}

static void play_room(const struct judge *judge, struct room *room)
{
	int64_t balance = 0;
	for (size_t i = 0; i < judge->mutex->count; i++) {
		const struct meaning_entry *entry = &judge->mutex->log[i];
		bool is_wait = entry->what == ENTRY_WAIT && entry->subject == judge->cond;
		bool goes_on = judge_role_at(judge, entry) == ROLE_GET && !entry->is_timed_out;
		room->decisions += is_wait || goes_on;
		room->waits += is_wait;
		room->waits_explained += is_wait && balance <= room->none;
		room->explained += is_wait   ? balance <= room->none
				   : goes_on ? balance > room->none
					     : false;
		balance += room_after(judge, room, entry);
	}
}

int judge_room_of_drain(const struct judge *judge, const struct meaning_use *use)
{
	static const enum meaning_role roles[] = {
		[ROLE_GET] = MEANING_GETS, [ROLE_PUT] = MEANING_PUTS
	};
	struct meaning_cond *cond = &judge->m->conds[judge->cond];
	struct room room = { .drain = find_drain(judge, use, true) };
	if (room.drain == UINT32_MAX)
		return 0;
	int code = find_none(judge, &room);
	if (code < 0 || room.none > 0)
		return code;
	play_room(judge, &room);
	double consistency =
		judge_share(room.decisions, room.explained, room.waits, room.waits_explained);
	if (consistency < MEANING_EXPLAINED || consistency < cond->consistency)
		return 0;
	meaning_forget(judge->m, judge->cond);
	cond->kind = MEANING_QUEUE;
	cond->consistency = consistency;
	cond->decisions = room.decisions;
	cond->is_seen = cond->is_initial_known = true;
	cond->initial = (uint64_t)-room.none;
	cond->put_items = cond->get_items = 1;
	cond->puts_taken = true;
	cond->taken_of = room.drain;
	return judge_add_parts(judge, roles);
}
