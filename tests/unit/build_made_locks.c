/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locks that programs make of a mutex and a condition. */
#include "build_script.h"

enum { ROUNDS = 40, CONDITION = 300, READ = 11, READ_END = 13, WRITE = 21, WRITE_END = 23 };

static void implied(struct script *s, uint32_t tid, enum event_kind kind, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.site = site,
			.flags = EVENT_IMPLICIT });
}

static void on_condition(struct script *s, uint32_t tid, enum event_kind kind, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = site,
			.value = LOCK,
			.flags = kind == EVENT_PASS      ? EVENT_WAITED
				 : kind == EVENT_RELEASE ? EVENT_ALL
							 : 0 });
}

static void begins_to_wait(struct script *s, uint32_t tid, uint64_t site)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, site);
	implied(s, tid, EVENT_RELEASE, site + 1);
	on_condition(s, tid, EVENT_WAIT, site + 1);
}

static void goes_on(struct script *s, uint32_t tid, uint64_t site)
{
	on_condition(s, tid, EVENT_PASS, site + 1);
	implied(s, tid, EVENT_PASS, site + 1);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, site);
}

static void leaves(struct script *s, uint32_t tid, uint64_t site, bool tells)
{
	work(s, tid, 50000);
	op(s, tid, EVENT_PASS, WHAT_MUTEX, LOCK, site);
	if (tells)
		on_condition(s, tid, EVENT_RELEASE, site + 1);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, LOCK, site);
}

/* Two read, a third one waits to write, and one of the two then to read again. */
static struct model *readers_and_writers(bool are_alone)
{
	struct script s = begin(3);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a = 1 + (uint32_t)i % 3, b = 1 + (uint32_t)(i + 1) % 3;
		uint32_t writer = 1 + (uint32_t)(i + 2) % 3;
		locked(&s, a, LOCK, READ);
		locked(&s, b, LOCK, READ);
		begins_to_wait(&s, writer, WRITE);
		leaves(&s, a, READ_END, false);
		if (are_alone)
			leaves(&s, b, READ_END, true);
		goes_on(&s, writer, WRITE);
		if (!are_alone) /* who writes does not mind the other one */
			leaves(&s, b, READ_END, true);
		begins_to_wait(&s, a, READ);
		leaves(&s, writer, WRITE_END, true);
		goes_on(&s, a, READ);
		leaves(&s, a, READ_END, true);
	}
	return finish(&s, 3);
}

static void who_holds_alone_writes_and_the_others_read(void **state)
{
	(void)state;
	AUTO(model) struct model *model = readers_and_writers(true);
	const struct model_fragment *read = fragment_of(model, 1, MODEL_READ_LOCK);
	const struct model_fragment *write = fragment_of(model, 1, MODEL_LOCK);
	const struct model_fragment *unlock = fragment_of(model, 1, MODEL_UNLOCK);
	assert_true(read && write && unlock);
	assert_int_equal(read->object, write->object);
	assert_int_equal(read->object, unlock->object);
	assert_int_equal(model->objects[read->object].kind, MODEL_RWLOCK);
	assert_null(fragment_of(model, 1, MODEL_GET));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void where_nobody_is_alone_there_is_no_lock(void **state)
{
	(void)state;
	AUTO(model) struct model *model = readers_and_writers(false);
	assert_null(fragment_of(model, 1, MODEL_READ_LOCK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_holds_alone_writes_and_the_others_read),
		cmocka_unit_test(where_nobody_is_alone_there_is_no_lock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
