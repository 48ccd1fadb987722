/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues that come to an end: by who puts, with the last item, or by who gets and finds nothing. */
#include "meaning_script.h"

enum { BACK_SITE = 14 };

static void who_finds_a_closed_queue_empty_is_refused(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 99 };
	wait_for_items(&s, &q);
	put(&s, &q);
	get(&s, &q); /* the 14th section, number 13; without waiting */
	lock_and_broadcast(&s, 1, CLOSE_SITE, HAS_ITEM);
	lock(&s, 2, GET_SITE); /* number 15: goes on without an item */
	unlock(&s, 2);
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_true(items->is_closed);
	assert_int_equal(role_of(&s, CLOSE_SITE, HAS_ITEM), MEANING_CLOSES);
	assert_false(meaning_is_refused(s.meaning, 13));
	assert_true(meaning_is_refused(s.meaning, 15));
	meaning_free(s.meaning);
}

/* Who gets counts, and knows when all is taken. */
static void a_queue_may_end_with_its_last_item(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 99 };
	wait_for_items(&s, &q);
	lock(&s, 3, GET_SITE); /* number 12 */
	unlock(&s, 3);
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_int_equal(items->closing_put, 6);
	assert_true(meaning_is_refused(s.meaning, 12));
	meaning_free(s.meaning);
}

/* Nobody waited, for there always was something until the end. */
static void a_queue_that_was_never_empty_is_closed(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 99 };
	for (int i = 0; i < 6; i++)
		put(&s, &q);
	for (int i = 0; i < 6; i++)
		get(&s, &q);
	lock_and_broadcast(&s, 1, CLOSE_SITE, HAS_ITEM);
	lock(&s, 2, GET_SITE); /* number 13 */
	unlock(&s, 2);
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_true(items->is_closed);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), MEANING_GETS);
	assert_int_equal(role_of(&s, CLOSE_SITE, HAS_ITEM), MEANING_CLOSES);
	assert_true(meaning_is_refused(s.meaning, 13));
	meaning_free(s.meaning);
}

/* By who fills it, and again by another thread for those who wait still. */
static void a_queue_may_be_closed_at_two_places(void **state)
{
	(void)state;
	struct script s = begin();
	struct bounded q = { 0, 99 };
	wait_for_items(&s, &q);
	for (uint64_t i = 0; i < 2; i++) {
		lock_and_broadcast(&s, 1, CLOSE_SITE + i, HAS_ITEM);
	}
	for (uint32_t tid = 2; tid <= 3; tid++) { /* numbers 14 and 15 */
		lock(&s, tid, GET_SITE);
		unlock(&s, tid);
	}
	const struct meaning_cond *items = finish(&s, HAS_ITEM);
	assert_int_equal(items->kind, MEANING_QUEUE);
	assert_int_equal(role_of(&s, CLOSE_SITE, HAS_ITEM), MEANING_CLOSES);
	assert_int_equal(role_of(&s, CLOSE_SITE + 1, HAS_ITEM), MEANING_CLOSES);
	assert_true(meaning_is_refused(s.meaning, 14));
	assert_true(meaning_is_refused(s.meaning, 15));
	meaning_free(s.meaning);
}

/*
 * Tasks that make tasks, in two rounds: main puts two; the first makes another one, the second two; who comes back and finds none while another one is at
 * work waits, and the last to come back tells all that there are no more. A thread's first look is a section of another kind, which finds one.
 */
static void round_of_tasks(struct script *s)
{
	for (int i = 0; i < 2; i++)
		lock_and_signal(s, 9, PUT_SITE, HAS_ITEM);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		lock(s, tid, GET_SITE);
		unlock(s, tid);
	}
	lock_and_signal(s, 1, PUT_SITE, HAS_ITEM);
	lock(s, 1, BACK_SITE); /* takes its own */
	unlock(s, 1);
	for (int i = 0; i < 6;
		i++) { /* the other one makes tasks, each time when the first one waits */
		lock(s, 1, BACK_SITE);
		wait_begin(s, 1, HAS_ITEM);
		lock_and_signal(s, 2, PUT_SITE, HAS_ITEM);
		wait_end(s, 1, HAS_ITEM, 0);
		unlock(s, 1);
	}
	lock(s, 1, BACK_SITE);
	wait_begin(s, 1, HAS_ITEM);
	lock(s, 2, BACK_SITE);
	broadcast(s, 2, HAS_ITEM);
	unlock(s, 2);
	wait_end(s, 1, HAS_ITEM, 0);
	unlock(s, 1);
}

static void who_comes_back_from_the_last_task_ends_it(void **state)
{
	(void)state;
	struct script s = begin();
	for (int i = 0; i < 4; i++)
		round_of_tasks(&s);
	const struct meaning_cond *tasks = finish(&s, HAS_ITEM);
	assert_int_equal(tasks->kind, MEANING_QUEUE);
	assert_true(tasks->ends_itself);
	assert_true(tasks->consistency == 1);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), MEANING_GETS);
	assert_int_equal(role_of(&s, BACK_SITE, HAS_ITEM), MEANING_GETS);
	/* Of each round's 20 sections those of the two that end it. */
	for (uint64_t i = 0; i < s.meaning->section_count; i++)
		assert_int_equal(meaning_is_refused(s.meaning, i), i % 20 >= 18);
	meaning_forget_ends(s.meaning);
	assert_int_equal(tasks->kind, MEANING_UNKNOWN);
	assert_int_equal(role_of(&s, GET_SITE, HAS_ITEM), -1);
	meaning_free(s.meaning);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_a_closed_queue_empty_is_refused),
		cmocka_unit_test(a_queue_may_end_with_its_last_item),
		cmocka_unit_test(a_queue_that_was_never_empty_is_closed),
		cmocka_unit_test(a_queue_may_be_closed_at_two_places),
		cmocka_unit_test(who_comes_back_from_the_last_task_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
