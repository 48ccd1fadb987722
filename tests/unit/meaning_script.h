/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small made-up timelines of one mutex, whose conditions have a meaning that is known. */
#ifndef TESTS_MEANING_SCRIPT_H
#define TESTS_MEANING_SCRIPT_H

#include "cmocka_all.h"

#include "meaning/parts.h"

#include <string.h>

enum {
	QUEUE_LOCK = 100,
	OTHER_LOCK = 99,
	HAS_ITEM = 101,
	HAS_ROOM = 102,
	PUT_SITE = 11,
	GET_SITE = 12,
	CLOSE_SITE = 13
};

/* Events one after the other, a microsecond apart. */
struct script {
	struct meaning *meaning;
	struct event_sink sink;
	uint64_t now_ns;
};

static inline void event(struct script *s, uint32_t tid, enum event_kind kind, enum event_what what,
	uint64_t object, uint64_t site, uint16_t flags)
{
	struct event e = { .time_ns = s->now_ns += 1000,
		.pid = 1,
		.tid = tid,
		.kind = (uint8_t)kind,
		.what = (uint8_t)what,
		.object = object,
		.site = site,
		.flags = flags,
		.value = what == WHAT_COND && kind == EVENT_WAIT ? QUEUE_LOCK : 0 };
	assert_int_equal(sink_event(&s->sink, &e, NULL), 0);
}

static inline void lock(struct script *s, uint32_t tid, uint64_t site)
{
	event(s, tid, EVENT_PASS, WHAT_MUTEX, QUEUE_LOCK, site, 0);
}

static inline void unlock(struct script *s, uint32_t tid)
{
	event(s, tid, EVENT_RELEASE, WHAT_MUTEX, QUEUE_LOCK, 0, 0);
}

static inline void wait_begin(struct script *s, uint32_t tid, uint64_t cond)
{
	event(s, tid, EVENT_RELEASE, WHAT_MUTEX, QUEUE_LOCK, 0, EVENT_IMPLICIT);
	event(s, tid, EVENT_WAIT, WHAT_COND, cond, 0, 0);
}

static inline void wait_end(struct script *s, uint32_t tid, uint64_t cond, uint16_t flags)
{
	event(s, tid, EVENT_PASS, WHAT_COND, cond, 0, flags | EVENT_WAITED);
	event(s, tid, EVENT_PASS, WHAT_MUTEX, QUEUE_LOCK, 0, EVENT_IMPLICIT);
}

static inline void signal_one(struct script *s, uint32_t tid, uint64_t cond)
{
	event(s, tid, EVENT_RELEASE, WHAT_COND, cond, 0, 0);
}

static inline void broadcast(struct script *s, uint32_t tid, uint64_t cond)
{
	event(s, tid, EVENT_RELEASE, WHAT_COND, cond, 0, EVENT_ALL);
}

static inline void lock_and_signal(struct script *s, uint32_t tid, uint64_t site, uint64_t cond)
{
	lock(s, tid, site);
	signal_one(s, tid, cond);
	unlock(s, tid);
}

static inline void lock_and_broadcast(struct script *s, uint32_t tid, uint64_t site, uint64_t cond)
{
	lock(s, tid, site);
	broadcast(s, tid, cond);
	unlock(s, tid);
}

static inline struct script begin(void)
{
	struct script s = { 0 };
	assert_int_equal(meaning_new(&s.meaning), 0);
	s.sink = meaning_sink(s.meaning);
	return s;
}

static inline const struct meaning_cond *finish(struct script *s, uint64_t cond)
{
	size_t count;
	assert_int_equal(sink_finish(&s->sink, s->now_ns, NULL), 0);
	uint32_t index = meaning_find_cond(s->meaning, 1, cond);
	assert_true(index != UINT32_MAX);
	return &meaning_conds(s->meaning, &count)[index];
}

/* What the sections from a site do to a condition; NULL: nothing. */
static inline const struct meaning_part *part_of(
	const struct script *s, uint64_t site, uint64_t cond)
{
	const struct meaning_section *section = meaning_find(s->meaning, 1, QUEUE_LOCK, site);
	assert_non_null(section);
	for (size_t i = 0; i < section->part_count; i++)
		if (section->parts[i].cond == meaning_find_cond(s->meaning, 1, cond))
			return &section->parts[i];
	return NULL;
}

/* Their role; -1: none. */
static inline int role_of(const struct script *s, uint64_t site, uint64_t cond)
{
	const struct meaning_part *part = part_of(s, site, cond);
	return part ? (int)part->role : -1;
}

/* A bounded queue as programs write it: thread 1 puts, thread 2 gets; they wait as `items` says. */
struct bounded {
	int items, room;
};

static inline void put(struct script *s, struct bounded *q)
{
	lock(s, 1, PUT_SITE);
	assert_true(q->items < q->room);
	q->items++;
	signal_one(s, 1, HAS_ITEM);
	unlock(s, 1);
}

static inline void get(struct script *s, struct bounded *q)
{
	lock(s, 2, GET_SITE);
	assert_true(q->items > 0);
	q->items--;
	signal_one(s, 2, HAS_ROOM);
	unlock(s, 2);
}

/* Thread 2 waits for each of six items. */
static inline void wait_for_items(struct script *s, struct bounded *q)
{
	for (int i = 0; i < 6; i++) {
		lock(s, 2, GET_SITE);
		wait_begin(s, 2, HAS_ITEM);
		put(s, q);
		wait_end(s, 2, HAS_ITEM, 0);
		q->items--;
		unlock(s, 2);
	}
}

#endif
