/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of which each has a queue of its own: rounds that another thread begins, and items that are dealt out. */
#include "build_script.h"

enum { THREADS = 4, ROUNDS = 30, NAPS = 6, CONDITION = 50, READY = 300 };
enum { GET = 21, PUT = 25, NAP = 30, POST = 31, AWAIT = 32, PREPARE = 33 };

static void nap(struct script *s, uint32_t tid, uint64_t site, uint64_t ns)
{
	op(s, tid, EVENT_WAIT, WHAT_SLEEP, 0, site);
	s->now_ns += ns;
	op(s, tid, EVENT_PASS, WHAT_SLEEP, 0, site);
}

static void implied(struct script *s, uint32_t tid, enum event_kind kind)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_MUTEX,
			.object = LOCK + tid,
			.site = GET,
			.flags = EVENT_IMPLICIT });
}

static void at_own(struct script *s, uint32_t tid, enum event_kind kind, uint32_t owner)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_COND,
			.object = LOCK + owner + CONDITION,
			.site = GET,
			.value = LOCK + owner,
			.flags = kind == EVENT_PASS ? EVENT_WAITED : 0 });
}

static void waits_for_own(struct script *s, uint32_t tid)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK + tid, GET);
	implied(s, tid, EVENT_RELEASE);
	at_own(s, tid, EVENT_WAIT, tid);
}

static void puts_into(struct script *s, uint32_t owner)
{
	op(s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK + owner, PUT);
	at_own(s, MAIN, EVENT_RELEASE, owner);
	op(s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK + owner, PUT);
	at_own(s, owner, EVENT_PASS, owner);
	implied(s, owner, EVENT_PASS);
	op(s, owner, EVENT_RELEASE, WHAT_MUTEX, LOCK + owner, GET);
}

static void does_its_part(struct script *s, uint32_t tid)
{
	for (int i = 0; i < NAPS; i++)
		nap(s, tid, NAP, 50000);
	op(s, tid, EVENT_RELEASE, WHAT_SEM, READY, POST);
	waits_for_own(s, tid);
}

/* The fragment that makes the turns of the loop around an operation; NULL: none, or they are not made in a loop. */
static const struct model_fragment *loop_around(
	const struct model *model, uint32_t group, enum model_op wanted)
{
	const struct model_group *found = &model->groups[group];
	for (size_t i = 0; i < found->fragment_count; i++)
		if (found->fragments[i].op == MODEL_LOOP &&
			found->fragments[found->fragments[i].body].op == wanted)
			return &found->fragments[i];
	return NULL;
}

static void rounds_are_as_many_with_more_threads_and_their_work_is_shared(void **state)
{
	(void)state;
	struct script s = begin(THREADS);
	for (uint32_t i = 1; i <= THREADS; i++)
		waits_for_own(&s, i);
	for (int round = 0; round < ROUNDS; round++) {
		nap(&s, MAIN, PREPARE, 100000);
		for (uint32_t i = 1; i <= THREADS; i++)
			puts_into(&s, i);
		for (uint32_t i = 1; i <= THREADS; i++)
			does_its_part(&s, i);
		for (uint32_t i = 1; i <= THREADS; i++)
			op(&s, MAIN, EVENT_PASS, WHAT_SEM, READY, AWAIT);
	}
	AUTO(model) struct model *model = finish(&s, THREADS);
	const struct model_fragment *puts = loop_around(model, 0, MODEL_PUT);
	const struct model_fragment *naps = loop_around(model, 1, MODEL_SLEEP);
	assert_non_null(puts);
	assert_true(value_with(model, &puts->count.value, THREADS) == THREADS - 1);
	assert_true(value_with(model, &puts->count.value, 8) == 7);
	assert_non_null(naps);
	assert_true(value_with(model, &naps->count.value, THREADS) == NAPS - 1);
	assert_true(value_with(model, &naps->count.value, 2) == 2 * NAPS - 1);
	assert_null(fragment_of(model, 1, MODEL_TRY_GET)); /* no tickets */
}

static void items_that_are_dealt_out_are_shared(void **state)
{
	(void)state;
	struct script s = begin(THREADS);
	for (uint32_t i = 1; i <= THREADS; i++)
		waits_for_own(&s, i);
	for (uint32_t i = 0; i < ROUNDS * THREADS; i++) {
		uint32_t owner = 1 + i % THREADS;
		nap(&s, MAIN, PREPARE, 10000);
		puts_into(&s, owner);
		nap(&s, owner, NAP, 50000);
		waits_for_own(&s, owner);
	}
	for (uint32_t i = 1; i <= THREADS; i++)
		puts_into(&s, i); /* the end */
	AUTO(model) struct model *model = finish(&s, THREADS);
	const struct model_fragment *ticket = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(ticket);
	const struct model_object *left = &model->objects[ticket->object];
	assert_true(value_with(model, &left->initial, 8) >= ROUNDS * THREADS - 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_as_many_with_more_threads_and_their_work_is_shared),
		cmocka_unit_test(items_that_are_dealt_out_are_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
