/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What semaphores are used for, and threads that the end of their process cuts off. */
#include "build_script.h"

enum { SEM = 300, TAKE_SITE = 21, WAIT_SITE = 22, POST_SITE = 23 };

static size_t count_objects(const struct model *model, enum model_object_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < model->object_count; i++)
		count += model->objects[i].kind == kind;
	return count;
}

static bool can_be_played(const struct model *model)
{
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	return fit.is_known;
}

static void a_semaphore_that_its_taker_gives_back_is_a_lock(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 20; i++)
		for (uint32_t tid = 1; tid <= 2; tid++) {
			op(&s, tid, EVENT_PASS, WHAT_SEM, SEM, TAKE_SITE);
			work(&s, tid, 5000);
			op(&s, tid, EVENT_RELEASE, WHAT_SEM, SEM, POST_SITE);
		}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(count_objects(model, MODEL_SEMAPHORE), 0);
	assert_int_equal(count_objects(model, MODEL_MUTEX), 1);
	assert_true(can_be_played(model));
}

/* Thread 1 makes one, takes what it has at first, and waits; thread 2 tells it. Python's gives it back before it throws it away. */
static void tell_by_signals(bool gives_back)
{
	struct script s = begin(2);
	for (int i = 0; i < 20; i++) {
		op(&s, 1, EVENT_INIT, WHAT_SEM, SEM, 20);
		op(&s, 1, EVENT_PASS, WHAT_SEM, SEM, TAKE_SITE);
		op(&s, 1, EVENT_WAIT, WHAT_SEM, SEM, WAIT_SITE);
		work(&s, 2, 5000);
		op(&s, 2, EVENT_RELEASE, WHAT_SEM, SEM, POST_SITE);
		op(&s, 1, EVENT_PASS, WHAT_SEM, SEM, WAIT_SITE);
		if (gives_back)
			op(&s, 1, EVENT_RELEASE, WHAT_SEM, SEM, POST_SITE);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_null(fragment_of(model, 1, MODEL_PUT));
	assert_int_equal(count_objects(model, MODEL_SEMAPHORE), 0);
	assert_int_equal(count_objects(model, MODEL_QUEUE), 1);
	assert_true(model->objects[0].are_signals);
	assert_true(model->objects[0].initial.value == 0);
	assert_true(can_be_played(model));
}

static void one_that_is_made_for_each_wait_is_a_signal(void **state)
{
	(void)state;
	tell_by_signals(false);
	tell_by_signals(true);
}

/* Python's threads each have one, which others may wait for: here nobody does. */
static void one_that_a_thread_alone_uses_is_nothing(void **state)
{
	(void)state;
	struct script s = begin(3);
	for (uint32_t tid = 1; tid <= 3; tid++) {
		op(&s, tid, EVENT_INIT, WHAT_SEM, SEM + tid, 20);
		op(&s, tid, EVENT_PASS, WHAT_SEM, SEM + tid, TAKE_SITE);
		work(&s, tid, 5000);
		op(&s, tid, EVENT_RELEASE, WHAT_SEM, SEM + tid, POST_SITE);
	}
	AUTO(model) struct model *model = finish(&s, 3);
	assert_int_equal(model->object_count, 0);
	assert_true(can_be_played(model));
}

/* A pool whose tasks and ends are counted by a semaphore: each thread more takes one more. */
static void other_semaphores_lend(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 22; i++) {
		op(&s, MAIN, EVENT_RELEASE, WHAT_SEM, SEM, POST_SITE);
		op(&s, 1 + (uint32_t)i % 2, EVENT_PASS, WHAT_SEM, SEM, TAKE_SITE);
		work(&s, 1 + (uint32_t)i % 2, 5000);
	}
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(count_objects(model, MODEL_SEMAPHORE), 1);
	assert_true(model->objects[0].lends);
	model->parameters[model_find_parameter(model, "workers")].value = 8;
	assert_true(can_be_played(model));
}

static void who_waited_in_vain_slept(void **state)
{
	(void)state;
	struct script s = begin(1);
	op(&s, 1, EVENT_WAIT, WHAT_SEM, SEM, WAIT_SITE);
	send(&s, (struct event){ .tid = 1,
			 .kind = EVENT_PASS,
			 .what = WHAT_SEM,
			 .object = SEM,
			 .site = WAIT_SITE,
			 .flags = EVENT_TIMED_OUT });
	AUTO(model) struct model *model = finish(&s, 1);
	assert_non_null(fragment_of(model, 1, MODEL_SLEEP));
	assert_true(can_be_played(model));
}

/* The recorder does not know the clocks of those that are still there when the process ends. */
static void who_is_cut_off_gives_back_and_has_no_end(void **state)
{
	(void)state;
	struct script s = begin(2);
	for (int i = 0; i < 20; i++)
		for (uint32_t tid = 1; tid <= 2; tid++)
			locked(&s, tid, LOCK, 4);
	op(&s, 1, EVENT_PASS, WHAT_MUTEX, LOCK, 4);
	work(&s, 1, 5000);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		struct event end = {
			.time_ns = s.now_ns, .pid = MAIN, .tid = tid, .kind = EVENT_THREAD_EXIT
		};
		assert_int_equal(sink_event(&s.sink, &end, NULL), 0);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	assert_int_equal(model_find_fragment(&model->groups[1], "end"), MODEL_NONE);
	assert_true(can_be_played(model));
}

enum { ASK = 70, GIVE = 80, FREE_ONE = 300, CONNECTIONS = 2, BORROWERS = 3 };

static void borrow(struct script *s, uint32_t tid, bool waits)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, ASK);
	if (!waits) {
		op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, ASK + 1);
		return;
	}
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_RELEASE,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.flags = EVENT_IMPLICIT });
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = FREE_ONE,
			.site = ASK + 2,
			.value = LOCK });
}

static void give_back(struct script *s, uint32_t tid)
{
	work(s, tid, 20000);
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, GIVE);
	op(s, tid, EVENT_RELEASE, WHAT_COND, FREE_ONE, GIVE + 1);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, GIVE + 2);
}

static void go_on(struct script *s, uint32_t tid)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_COND,
			.object = FREE_ONE,
			.site = ASK + 2,
			.flags = EVENT_WAITED });
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = ASK + 2,
			.flags = EVENT_IMPLICIT });
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, ASK + 1);
}

/* Three threads take turns with two connections, counted under a mutex. */
static void what_may_be_borrowed_can_be_set(void **state)
{
	(void)state;
	struct script s = begin(BORROWERS);
	for (uint32_t tid = 1; tid <= BORROWERS; tid++)
		borrow(&s, tid, tid > CONNECTIONS);
	for (uint32_t turn = 0; turn < 100; turn++) {
		uint32_t holder = turn % BORROWERS + 1;
		give_back(&s, holder);
		go_on(&s, (turn + CONNECTIONS) % BORROWERS + 1);
		borrow(&s, holder, true);
	}
	give_back(&s, 100 % BORROWERS + 1);
	go_on(&s, (100 + CONNECTIONS) % BORROWERS + 1);
	give_back(&s, 101 % BORROWERS + 1);
	give_back(&s, 102 % BORROWERS + 1);
	AUTO(model) struct model *model = finish(&s, BORROWERS);
	const struct model_fragment *get = fragment_of(model, 1, MODEL_GET);
	assert_non_null(get);
	const struct model_object *pool = &model->objects[get->object];
	assert_true(value_with(model, &pool->initial, BORROWERS) == CONNECTIONS);
	assert_non_null(pool->initial.formula);
	assert_true(strstr(pool->initial.formula, "_initial") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_semaphore_that_its_taker_gives_back_is_a_lock),
		cmocka_unit_test(one_that_is_made_for_each_wait_is_a_signal),
		cmocka_unit_test(one_that_a_thread_alone_uses_is_nothing),
		cmocka_unit_test(other_semaphores_lend),
		cmocka_unit_test(who_waited_in_vain_slept),
		cmocka_unit_test(who_is_cut_off_gives_back_and_has_no_end),
		cmocka_unit_test(what_may_be_borrowed_can_be_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
