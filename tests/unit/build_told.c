/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits that no meaning explains: threads stay in step by the signals that ended them. */
#include "build_script.h"

enum { CONDITION = 300, TELLER = 1, ROUNDS = 60 };

static uint32_t next(uint32_t *random)
{
	return (*random = *random * 1103515245 + 12345) >> 16;
}

static void turn(struct script *s, uint32_t tid, uint64_t site)
{
	work(s, tid, 20000);
	locked(s, tid, LOCK, site);
}

/* Main waits in one section, after any number in which it does not; is told in one, after any number that tell nothing. */
static void round_with_wait(struct script *s, uint32_t *random, uint64_t woken_after_ns)
{
	for (uint32_t i = next(random) % 4; i > 0; i--)
		turn(s, MAIN, 20);
	op(s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, 20);
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_RELEASE,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.flags = EVENT_IMPLICIT });
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = 22,
			.value = LOCK });
	for (uint32_t i = next(random) % 3; i > 0; i--)
		turn(s, TELLER, 30);
	op(s, TELLER, EVENT_PASS, WHAT_MUTEX, LOCK, 30);
	op(s, TELLER, EVENT_RELEASE, WHAT_COND, CONDITION, 31);
	uint64_t told_ns = s->now_ns + woken_after_ns;
	op(s, TELLER, EVENT_RELEASE, WHAT_MUTEX, LOCK, 32);
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_PASS,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = 22,
			.flags = EVENT_WAITED,
			.woken_ns = told_ns });
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = 22,
			.flags = EVENT_IMPLICIT });
	op(s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, 21);
	for (uint32_t i = next(random) % 3; i > 0; i--)
		turn(s, TELLER, 30);
}

static struct model *told(uint64_t woken_after_ns)
{
	struct script s = begin(1);
	uint32_t random = 1;
	for (int i = 0; i < ROUNDS; i++)
		round_with_wait(&s, &random, woken_after_ns);
	return finish(&s, 1);
}

static void who_is_told_waits_for_that(void **state)
{
	(void)state;
	AUTO(model) struct model *model = told(0);
	const struct model_fragment *wait = fragment_of(model, 0, MODEL_GET);
	const struct model_fragment *signal = fragment_of(model, 1, MODEL_PUT);
	assert_non_null(wait);
	assert_non_null(signal);
	assert_int_equal(wait->object, signal->object);
	assert_true(model->objects[wait->object].are_signals);
	assert_null(fragment_of(model, 0, MODEL_SLEEP));
	assert_true(has_note(model, "wait for the signals"));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

/* As when what ended them was not seen. */
static void other_waits_sleep(void **state)
{
	(void)state;
	AUTO(model) struct model *model = told(1);
	assert_null(fragment_of(model, 0, MODEL_GET));
	assert_non_null(fragment_of(model, 0, MODEL_SLEEP));
	assert_true(has_note(model, "sleep as long as recorded"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_told_waits_for_that),
		cmocka_unit_test(other_waits_sleep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
