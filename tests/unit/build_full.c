/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues that refuse what comes when they are full: who brings it sleeps, and tries again. */
#include "build_script.h"

enum {
	TAKER = 1,
	BRINGER = 2,
	ROOM = 3,
	ITEMS = 40,
	CONDITION = 50,
	GET = 21,
	PUT = 25,
	REST = 30,
	SERVE = 31,
	END = 35
};

static void nap(struct script *s, uint32_t tid, uint64_t site, uint64_t ns)
{
	op(s, tid, EVENT_WAIT, WHAT_SLEEP, 0, site);
	s->now_ns += ns;
	op(s, tid, EVENT_PASS, WHAT_SLEEP, 0, site);
}

static void waits(struct script *s, enum event_kind kind)
{
	struct event mutex = { .tid = TAKER,
		.kind = kind == EVENT_WAIT ? EVENT_RELEASE : EVENT_PASS,
		.what = WHAT_MUTEX,
		.object = LOCK,
		.site = GET,
		.flags = EVENT_IMPLICIT };
	struct event wait = { .tid = TAKER,
		.kind = (uint8_t)kind,
		.what = WHAT_COND,
		.object = CONDITION,
		.site = GET,
		.value = LOCK,
		.flags = kind == EVENT_PASS ? EVENT_WAITED : 0 };
	send(s, kind == EVENT_WAIT ? mutex : wait);
	send(s, kind == EVENT_WAIT ? wait : mutex);
}

static void tells(struct script *s, uint32_t tid, uint64_t site, uint8_t flags)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_RELEASE,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = site,
			.flags = flags });
}

/* Whether there was room. */
static bool brings(struct script *s, int *items)
{
	op(s, BRINGER, EVENT_PASS, WHAT_MUTEX, LOCK, PUT);
	bool has_room = *items < ROOM;
	*items += has_room;
	if (has_room)
		tells(s, BRINGER, PUT, 0);
	op(s, BRINGER, EVENT_RELEASE, WHAT_MUTEX, LOCK, PUT);
	if (!has_room)
		nap(s, BRINGER, REST, 20000);
	return has_room;
}

static void takes(struct script *s, int *items)
{
	op(s, TAKER, EVENT_PASS, WHAT_MUTEX, LOCK, GET);
	*items -= *items > 0;
	op(s, TAKER, EVENT_RELEASE, WHAT_MUTEX, LOCK, GET);
}

static void who_finds_a_queue_full_waits_for_room(void **state)
{
	(void)state;
	struct script s = begin(2);
	int items = 0;
	op(&s, TAKER, EVENT_PASS, WHAT_MUTEX, LOCK, GET);
	waits(&s, EVENT_WAIT);
	assert_true(brings(&s, &items));
	waits(&s, EVENT_PASS);
	op(&s, TAKER, EVENT_RELEASE, WHAT_MUTEX, LOCK, GET);
	items--;
	for (int brought = 1; brought < ITEMS;) {
		for (int tries = 0; tries < 5; tries++)
			if (brought < ITEMS)
				brought += brings(&s, &items);
		nap(&s, TAKER, SERVE, 30000);
		takes(&s, &items);
	}
	op(&s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, END);
	tells(&s, MAIN, END, EVENT_ALL);
	op(&s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, END);
	while (items > 0) {
		nap(&s, TAKER, SERVE, 30000);
		takes(&s, &items);
	}
	takes(&s, &items); /* finds nothing */
	AUTO(model) struct model *model = finish(&s, 2);
	uint32_t rooms = model_find_parameter(model, "queue_capacity");
	assert_true(rooms != MODEL_NONE);
	assert_true(model->parameters[rooms].value == ROOM);
	size_t sleepers = 0;
	for (size_t i = 0; i < model->group_count; i++)
		sleepers += fragment_of(model, i, MODEL_SLEEP) != NULL;
	assert_int_equal(sleepers, 1); /* who takes */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_a_queue_full_waits_for_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
