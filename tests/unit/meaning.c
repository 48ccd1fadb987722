/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions of small made-up timelines, whose meaning is known. */
#include "meaning_script.h"

#include <string.h>

static void a_bounded_queue_has_its_capacity(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 3 };
	for (int round = 0; round < 5; round++) {
		lock(&s, 2, GET_SITE); /* empty: the consumer waits */
		wait_begin(&s, 2, HAS_ITEM);
		put(&s, &q);
		wait_end(&s, 2, HAS_ITEM, 0);
		q.items--;
		signal_one(&s, 2, HAS_ROOM);
		unlock(&s, 2);
		while (q.items < q.room)
			put(&s, &q);
		lock(&s, 1, PUT_SITE); /* full: the producer waits */
		wait_begin(&s, 1, HAS_ROOM);
		get(&s, &q);
		wait_end(&s, 1, HAS_ROOM, 0);
		q.items++;
		signal_one(&s, 1, HAS_ITEM);
		unlock(&s, 1);
		while (q.items > 0)
			get(&s, &q);
	}
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_int_equal(items->initial, 0);
	assert_true(items->consistency == 1);
	size_t count;
	const struct meaning_cond *room =
		&meaning_conds(s.meaning, &count)[meaning_find_cond(s.meaning, 1, HAS_ROOM)];
	assert_int_equal(room->kind, MEANING_QUEUE);
	assert_int_equal(room->initial, 3);
	assert_int_equal(role_of(&s, PUT_SITE, HAS_ITEM), MEANING_PUTS);
	assert_int_equal(role_of(&s, PUT_SITE, HAS_ROOM), MEANING_GETS);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), MEANING_GETS);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ROOM), MEANING_PUTS);
	meaning_free(s.meaning);
}

static void a_latch_takes_as_many_as_come(void **state)
{
	(void)state;
	struct script s = begin();
	for (int round = 0; round < 4; round++) {
		lock(&s, 9, GET_SITE); /* waits for four; the last one signals */
		wait_begin(&s, 9, HAS_ITEM);
		for (uint32_t tid = 1; tid <= 4; tid++) {
			lock(&s, tid, PUT_SITE);
			if (tid == 4)
				signal_one(&s, tid, HAS_ITEM);
			unlock(&s, tid);
		}
		wait_end(&s, 9, HAS_ITEM, 0);
		unlock(&s, 9);
	}
	const struct meaning_cond *latch = finish(&s, HAS_ITEM);
	assert_int_equal(latch->kind, MEANING_QUEUE);
	assert_int_equal(latch->get_items, 4);
	assert_int_equal(latch->put_items, 1);
	meaning_free(s.meaning);
}

/*
 * Main hands out a batch of tasks and waits in the same section until they are done; who has done a task says so and
 * takes the next, or waits for it, in one section.
 */
static void hand_out_batch(struct script *s, int tasks)
{
	lock(s, 9, PUT_SITE);
	broadcast(s, 9, HAS_ITEM);
	wait_begin(s, 9, HAS_ROOM);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		wait_end(s, tid, HAS_ITEM, 0);
		unlock(s, tid); /* each takes one */
	}
	for (int done = 1; done <= tasks; done++) {
		uint32_t tid = done % 2 ? 1 : 2;
		lock(s, tid, GET_SITE);
		if (done == tasks)
			signal_one(s, tid, HAS_ROOM);
		if (done + 1 < tasks)
			unlock(s, tid);
		else
			wait_begin(s, tid, HAS_ITEM);
	}
	wait_end(s, 9, HAS_ROOM, 0);
	unlock(s, 9);
}

static void a_section_may_give_before_it_waits(void **state)
{
	(void)state;
	enum { TASKS = 6 };
	struct script s = begin();
	for (uint32_t tid = 1; tid <= 2; tid++) {
		lock(&s, tid, GET_SITE + 10);
		wait_begin(&s, tid, HAS_ITEM);
	}
	hand_out_batch(&s, TASKS);
	lock_and_broadcast(&s, 9, CLOSE_SITE, HAS_ITEM);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		wait_end(&s, tid, HAS_ITEM, 0);
		unlock(&s, tid);
	}
	const struct meaning_cond *tasks = finish(&s, HAS_ITEM);
	assert_int_equal(tasks->kind, MEANING_QUEUE);
	assert_int_equal(tasks->put_items, TASKS);
	assert_int_equal(tasks->get_items, 1);
	assert_true(tasks->is_closed);
	size_t count;
	const struct meaning_cond *done =
		&meaning_conds(s.meaning, &count)[meaning_find_cond(s.meaning, 1, HAS_ROOM)];
	assert_int_equal(done->kind, MEANING_QUEUE);
	assert_int_equal(done->get_items, TASKS);
	assert_int_equal(role_of(&s, PUT_SITE, HAS_ITEM), MEANING_PUTS);
	assert_true(part_of(&s, PUT_SITE, HAS_ITEM)->is_first);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ROOM), MEANING_PUTS);
	assert_true(part_of(&s, GET_SITE, HAS_ROOM)->is_first);
	meaning_free(s.meaning);
}

static void the_last_to_come_makes_a_barrier(void **state)
{
	(void)state;
	struct script s = begin();
	for (int round = 0; round < 4; round++) {
		for (uint32_t tid = 1; tid <= 3; tid++) {
			lock(&s, tid, PUT_SITE);
			if (tid < 3) {
				wait_begin(&s, tid, HAS_ITEM);
			} else {
				broadcast(&s, tid, HAS_ITEM);
				unlock(&s, tid);
			}
		}
		for (uint32_t tid = 1; tid < 3; tid++) {
			wait_end(&s, tid, HAS_ITEM, 0);
			unlock(&s, tid);
		}
	}
	const struct meaning_cond *barrier = finish(&s, HAS_ITEM);
	assert_int_equal(barrier->kind, MEANING_BARRIER);
	assert_int_equal(barrier->participants, 3);
	meaning_free(s.meaning);
}

/* Of two, `last` of each round, after which some sections just pass. */
static enum meaning_kind kind_of_meetings(const uint32_t *last, int rounds, int passing)
{
	struct script s = begin();
	for (int round = 0; round < rounds; round++) {
		uint32_t first = 3 - last[round];
		lock(&s, first, PUT_SITE);
		wait_begin(&s, first, HAS_ITEM);
		lock_and_broadcast(&s, last[round], PUT_SITE, HAS_ITEM);
		wait_end(&s, first, HAS_ITEM, 0);
		unlock(&s, first);
		for (int i = 0; i < passing; i++) {
			lock(&s, first, PUT_SITE);
			unlock(&s, first);
		}
	}
	enum meaning_kind kind = finish(&s, HAS_ITEM)->kind;
	meaning_free(s.meaning);
	return kind;
}

static void two_of_which_one_always_waits_do_not_meet(void **state)
{
	(void)state;
	assert_int_equal(kind_of_meetings((uint32_t[]){ 2, 2, 2, 2 }, 4, 0), MEANING_PROGRESS);
	assert_int_equal(kind_of_meetings((uint32_t[]){ 2, 2, 1, 2 }, 4, 0), MEANING_BARRIER);
}

static void who_passes_a_barrier_has_met_somebody(void **state)
{
	(void)state;
	assert_int_not_equal(kind_of_meetings((uint32_t[]){ 2, 2, 1, 2 }, 4, 3), MEANING_BARRIER);
}

static void a_gate_opens_once(void **state)
{
	(void)state;
	struct script s = begin();
	for (uint32_t tid = 1; tid <= 3; tid++) {
		lock(&s, tid, GET_SITE);
		wait_begin(&s, tid, HAS_ITEM);
	}
	lock_and_broadcast(&s, 9, PUT_SITE, HAS_ITEM);
	for (uint32_t tid = 1; tid <= 3; tid++) {
		wait_end(&s, tid, HAS_ITEM, 0);
		unlock(&s, tid);
	}
	lock(&s, 4, GET_SITE); /* too late to wait */
	unlock(&s, 4);
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_GATE);
	meaning_free(s.meaning);
}

/* One thread waits at two in three of its sections, whatever was signalled. */
static void what_nothing_explains_stays_unknown(void **state)
{
	(void)state;
	struct script s = begin();
	for (int i = 0; i < 30; i++) {
		lock(&s, 1, GET_SITE);
		if (i * 7 % 5 < 3) {
			wait_begin(&s, 1, HAS_ITEM);
			for (int j = 0; j < i * 3 % 4 + 1; j++) {
				lock_and_signal(&s, 2, PUT_SITE, HAS_ITEM);
			}
			wait_end(&s, 1, HAS_ITEM, 0);
		}
		unlock(&s, 1);
	}
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_UNKNOWN);
	meaning_free(s.meaning);
}

/* Also where it is waited for with two mutexes. */
static void a_condition_may_have_two_mutexes(void **state)
{
	(void)state;
	struct script s = begin();
	for (int i = 0; i < 12; i++) {
		event(&s, 3, EVENT_PASS, WHAT_MUTEX, OTHER_LOCK, GET_SITE, 0);
		event(&s, 3, EVENT_RELEASE, WHAT_MUTEX, OTHER_LOCK, 0, EVENT_IMPLICIT);
		struct event wait = { .time_ns = s.now_ns += 1000,
			.pid = 1,
			.tid = 3,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = HAS_ITEM,
			.value = OTHER_LOCK };
		assert_int_equal(sink_event(&s.sink, &wait, NULL), 0);
		lock(&s, 2, GET_SITE);
		wait_begin(&s, 2, HAS_ITEM); /* for an item */
		lock_and_broadcast(&s, 1, PUT_SITE, HAS_ITEM);
		lock(&s, 1, PUT_SITE);
		wait_begin(&s, 1, HAS_ITEM); /* for room */
		wait_end(&s, 2, HAS_ITEM, 0);
		broadcast(&s, 2, HAS_ITEM);
		unlock(&s, 2);
		wait_end(&s, 1, HAS_ITEM, 0);
		broadcast(&s, 1, HAS_ITEM);
		unlock(&s, 1);
		lock_and_broadcast(&s, 2, GET_SITE, HAS_ITEM);
		event(&s, 3, EVENT_PASS, WHAT_COND, HAS_ITEM, 0, EVENT_WAITED);
		event(&s, 3, EVENT_PASS, WHAT_MUTEX, OTHER_LOCK, 0, EVENT_IMPLICIT);
		event(&s, 3, EVENT_RELEASE, WHAT_MUTEX, OTHER_LOCK, 0, 0);
	}
	const struct meaning_cond *cond = finish(&s, HAS_ITEM);
	assert_int_equal(cond->waits, 36);
	assert_int_equal(cond->kind, MEANING_PROGRESS);
	assert_true(cond->is_partial);
	meaning_free(s.meaning);
}

static void a_wait_that_timed_out_is_no_evidence(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 99 };
	for (int i = 0; i < 5; i++) {
		lock(&s, 2, GET_SITE);
		wait_begin(&s, 2, HAS_ITEM);
		wait_end(&s, 2, HAS_ITEM, EVENT_TIMED_OUT);
		unlock(&s, 2);
		lock(&s, 2, GET_SITE);
		wait_begin(&s, 2, HAS_ITEM);
		put(&s, &q);
		wait_end(&s, 2, HAS_ITEM, 0);
		q.items--;
		unlock(&s, 2);
	}
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_int_equal(items->waits, 5);
	assert_true(meaning_is_refused(s.meaning, 0));
	assert_false(meaning_is_refused(s.meaning, 1));
	meaning_free(s.meaning);
}

/*
 * A state that is looked at again and again: of a hundred sections that might have waited one did, when
 * nothing had changed, and nothing is taken. Twice as many sections changed it. That each takes two of
 * what those put would explain all but the one that waited.
 */
static void what_explains_no_wait_explains_nothing(void **state)
{
	(void)state;
	struct script s = begin();
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 2; k++) {
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
		}
		lock(&s, 2, GET_SITE);
		if (i == 60) {
			wait_begin(&s, 2, HAS_ITEM);
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
			wait_end(&s, 2, HAS_ITEM, 0);
		}
		unlock(&s, 2);
	}
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_UNKNOWN);
	meaning_free(s.meaning);
}

/*
 * Two take items, each of which wakes one; one takes what the other was woken for, which does not look again in the same
 * section, but comes back. Returns the number of the section that waited in vain.
 */
static uint64_t take_what_another_was_woken_for(struct script *s, uint64_t *sections)
{
	lock(s, 2, GET_SITE);
	uint64_t vain = (*sections)++;
	wait_begin(s, 2, HAS_ITEM);
	lock_and_signal(s, 1, PUT_SITE, HAS_ITEM);
	lock(s, 3, GET_SITE);
	unlock(s, 3);
	*sections += 2;
	wait_end(s, 2, HAS_ITEM, 0);
	unlock(s, 2);
	return vain;
}

static void take_after_waiting(struct script *s, uint32_t tid, uint64_t *sections)
{
	lock(s, tid, GET_SITE);
	wait_begin(s, tid, HAS_ITEM);
	lock_and_signal(s, 1, PUT_SITE, HAS_ITEM);
	wait_end(s, tid, HAS_ITEM, 0);
	unlock(s, tid);
	*sections += 2;
}

static void check_in_vain(uint32_t others)
{
	struct script s = begin();
	uint64_t sections = 0, vain[3];
	for (int i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < others; k++)
			take_after_waiting(&s, 2 + k % 2, &sections);
		vain[i] = take_what_another_was_woken_for(&s, &sections);
	}
	take_after_waiting(&s, 2, &sections);
	const struct meaning_cond *cond = finish(&s, HAS_ITEM);
	assert_int_equal(cond->kind, MEANING_QUEUE);
	assert_int_equal(cond->initial, 0);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), MEANING_GETS);
	for (uint64_t i = 0; i < sections; i++)
		assert_int_equal(meaning_is_vain(s.meaning, i),
			i == vain[0] || i == vain[1] || i == vain[2]);
	meaning_free(s.meaning);
}

static void who_waits_once_may_have_waited_in_vain(void **state)
{
	(void)state;
	check_in_vain(40);
	check_in_vain(4);
}

/* It works on what it got, which the recorder sees. */
static void work_on_it(struct script *s, uint32_t tid)
{
	enum { BESIDE_LOCK = 77, BESIDE_SITE = 7 };
	event(s, tid, EVENT_PASS, WHAT_MUTEX, BESIDE_LOCK, BESIDE_SITE, 0);
	event(s, tid, EVENT_RELEASE, WHAT_MUTEX, BESIDE_LOCK, BESIDE_SITE, 0);
}

/* All who are woken come too late: that nothing else is to be had shows in what they do next. */
static void check_mostly_in_vain(bool is_shown)
{
	struct script s = begin();
	uint64_t sections = 0;
	for (int i = 0; i < 40; i++) {
		lock(&s, 2, GET_SITE);
		wait_begin(&s, 2, HAS_ITEM);
		lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
		lock(&s, 3, GET_SITE);
		unlock(&s, 3);
		if (is_shown)
			work_on_it(&s, 3);
		wait_end(&s, 2, HAS_ITEM, 0);
		unlock(&s, 2);
		for (int k = 0; k < 1 + i % 2; k++) {
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
			lock(&s, 3, GET_SITE);
			unlock(&s, 3);
			if (is_shown)
				work_on_it(&s, 3);
		}
	}
	take_after_waiting(&s, 2, &sections);
	assert_int_equal(finish(&s, HAS_ITEM)->kind, is_shown ? MEANING_QUEUE : MEANING_UNKNOWN);
	meaning_free(s.meaning);
}

static void who_mostly_waits_in_vain_shows_it(void **state)
{
	(void)state;
	check_mostly_in_vain(true);
	check_mostly_in_vain(false);
}

/* Two take turns, each in one section that lasts: they wait, tell the other one, and wait again. */
static void sections_of_several_turns_have_no_meaning(void **state)
{
	(void)state;
	struct script s = begin();
	lock(&s, 1, GET_SITE);
	wait_begin(&s, 1, HAS_ITEM);
	lock(&s, 2, GET_SITE);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t mine = 2 - i % 2, other = 3 - mine;
		signal_one(&s, mine, HAS_ITEM);
		wait_begin(&s, mine, HAS_ITEM);
		wait_end(&s, other, HAS_ITEM, 0);
	}
	signal_one(&s, 2, HAS_ITEM);
	unlock(&s, 2);
	wait_end(&s, 1, HAS_ITEM, 0);
	unlock(&s, 1);
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_UNKNOWN);
	meaning_free(s.meaning);
}

static void a_meaning_can_be_forgotten(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { .room = 4 };
	lock(&s, 2, GET_SITE);
	wait_begin(&s, 2, HAS_ITEM);
	put(&s, &q);
	wait_end(&s, 2, HAS_ITEM, 0);
	q.items--;
	unlock(&s, 2);
	put(&s, &q);
	get(&s, &q);
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_QUEUE);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), MEANING_GETS);
	meaning_forget(s.meaning, meaning_find_cond(s.meaning, 1, HAS_ITEM));
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), -1);
	assert_int_equal(role_of(&s, PUT_SITE, HAS_ITEM), -1);
	meaning_free(s.meaning);
}

/* Thread 1 puts, thread 2 takes up to `most` at once, thread 3 closes; who finds too much, or nothing, waits. */
static void batches(struct script *s, uint64_t most, uint64_t capacity, uint64_t *ret_taken)
{
	uint64_t items = 0, seed = 12345;
	for (int i = 0; i < 1000; i++) {
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		uint64_t puts = (seed >> 33) % (2 * most);
		for (uint64_t k = 0; k < puts && items < capacity; k++, items++)
			lock_and_signal(s, 1, PUT_SITE, HAS_ITEM);
		bool was_full = items == capacity;
		if (was_full) {
			lock(s, 1, PUT_SITE);
			wait_begin(s, 1, HAS_ROOM);
		}
		lock(s, 2, GET_SITE);
		if (items == 0) {
			wait_begin(s, 2, HAS_ITEM);
			lock_and_signal(s, 1, PUT_SITE, HAS_ITEM);
			wait_end(s, 2, HAS_ITEM, 0);
			items++;
		}
		uint64_t taken = items < most ? items : most;
		items -= taken;
		*ret_taken += taken;
		broadcast(s, 2, HAS_ROOM);
		unlock(s, 2);
		if (!was_full)
			continue;
		wait_end(s, 1, HAS_ROOM, 0);
		signal_one(s, 1, HAS_ITEM);
		unlock(s, 1);
		items++;
	}
	lock_and_broadcast(s, 3, CLOSE_SITE, HAS_ITEM);
	*ret_taken += items;
	for (; items > 0; items -= items < most ? items : most) {
		lock(s, 2, GET_SITE);
		broadcast(s, 2, HAS_ROOM);
		unlock(s, 2);
	}
	lock(s, 2, GET_SITE); /* finds nothing */
	unlock(s, 2);
}

static uint64_t sum_taken(const struct meaning *m, uint32_t cond)
{
	uint64_t sum = 0;
	for (uint64_t section = 0; section < m->section_count; section++)
		sum += meaning_taken(m, cond, section);
	return sum;
}

static void a_get_may_take_several_up_to_a_limit(void **state)
{
	(void)state;
	static const uint64_t limits[] = { 2, 5, 20 };
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct script s = begin();
		uint64_t taken = 0;
		batches(&s, limits[i], 1000000, &taken);
		const struct meaning_cond *items = finish(&s, HAS_ITEM);
		assert_int_equal(items->kind, MEANING_DRAIN);
		assert_int_equal(items->most, limits[i]);
		assert_true(items->is_closed);
		assert_int_equal(role_of(&s, CLOSE_SITE, HAS_ITEM), MEANING_CLOSES);
		assert_true(meaning_is_refused(s.meaning, s.meaning->section_count - 1));
		assert_int_equal(
			sum_taken(s.meaning, meaning_find_cond(s.meaning, 1, HAS_ITEM)), taken);
		meaning_free(s.meaning);
	}
}

static void a_get_may_take_all(void **state)
{
	(void)state;
	struct script s = begin();
	uint64_t taken = 0;
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < i % 4; k++)
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
		taken += (uint64_t)(i % 4);
		lock(&s, 2, GET_SITE);
		if (i % 4 == 0) {
			wait_begin(&s, 2, HAS_ITEM);
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
			wait_end(&s, 2, HAS_ITEM, 0);
			taken++;
		}
		unlock(&s, 2);
	}
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_DRAIN);
	assert_int_equal(items->most, 0);
	assert_int_equal(sum_taken(s.meaning, meaning_find_cond(s.meaning, 1, HAS_ITEM)), taken);
	meaning_free(s.meaning);
}

static void the_room_of_batches_is_what_they_took(void **state)
{
	(void)state;
	struct script s = begin();
	uint64_t taken = 0;
	batches(&s, 5, 12, &taken);
	assert_int_equal(finish(&s, HAS_ITEM)->kind, MEANING_DRAIN);
	size_t count;
	const struct meaning_cond *room =
		&meaning_conds(s.meaning, &count)[meaning_find_cond(s.meaning, 1, HAS_ROOM)];
	assert_int_equal(room->kind, MEANING_QUEUE);
	assert_int_equal(room->initial, 12);
	assert_int_equal(sum_taken(s.meaning, meaning_find_cond(s.meaning, 1, HAS_ROOM)), taken);
	meaning_free(s.meaning);
}

/* Each task that is done makes none, one or two more, and signals each: sections of one type. */
static void sections_may_put_as_many_as_they_signal(void **state)
{
	(void)state;
	struct script s = begin();
	uint64_t items = 0, seed = 5;
	for (int i = 0; i < 200; i++) {
		lock(&s, 2, GET_SITE);
		if (items == 0) {
			wait_begin(&s, 2, HAS_ITEM);
			lock_and_signal(&s, 1, PUT_SITE, HAS_ITEM);
			items++;
			wait_end(&s, 2, HAS_ITEM, 0);
		}
		items--;
		unlock(&s, 2);
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		lock(&s, 1, PUT_SITE);
		for (uint64_t k = (seed >> 33) % 3; k > 0; k--, items++)
			signal_one(&s, 1, HAS_ITEM);
		unlock(&s, 1);
	}
	const struct meaning_cond *cond = finish(&s, HAS_ITEM);
	assert_int_equal(cond->kind, MEANING_QUEUE);
	assert_int_equal(cond->initial, 0);
	assert_true(cond->consistency == 1);
	assert_int_equal(
		sum_taken(s.meaning, meaning_find_cond(s.meaning, 1, HAS_ITEM)), 200 + items);
	meaning_free(s.meaning);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bounded_queue_has_its_capacity),
		cmocka_unit_test(a_latch_takes_as_many_as_come),
		cmocka_unit_test(a_section_may_give_before_it_waits),
		cmocka_unit_test(the_last_to_come_makes_a_barrier),
		cmocka_unit_test(two_of_which_one_always_waits_do_not_meet),
		cmocka_unit_test(who_passes_a_barrier_has_met_somebody),
		cmocka_unit_test(a_gate_opens_once),
		cmocka_unit_test(what_nothing_explains_stays_unknown),
		cmocka_unit_test(a_condition_may_have_two_mutexes),
		cmocka_unit_test(a_wait_that_timed_out_is_no_evidence),
		cmocka_unit_test(what_explains_no_wait_explains_nothing),
		cmocka_unit_test(who_waits_once_may_have_waited_in_vain),
		cmocka_unit_test(who_mostly_waits_in_vain_shows_it),
		cmocka_unit_test(sections_of_several_turns_have_no_meaning),
		cmocka_unit_test(a_meaning_can_be_forgotten),
		cmocka_unit_test(a_get_may_take_several_up_to_a_limit),
		cmocka_unit_test(a_get_may_take_all),
		cmocka_unit_test(sections_may_put_as_many_as_they_signal),
		cmocka_unit_test(the_room_of_batches_is_what_they_took),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
