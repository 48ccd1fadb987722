/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criticality: threads that take turns beside others that wait; timelines made by hand. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "criticality_fixture.h"

enum { TURNS = 20, BOSSES = 3 };

static void futex(struct analysis *a, uint64_t time_ns, uint32_t tid, enum event_kind kind,
	uint64_t object, uint32_t waker)
{
	send(a, (struct event){ .time_ns = time_ns,
			.tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_FUTEX,
			.object = object,
			.value = waker });
}

/* What a runtime's threads do: each sleeps at a word of its own. */
static void wait_turn(struct analysis *a, uint32_t turn)
{
	uint32_t waiter = turn % 2;
	futex(a, turn * 10 * MS + MS, MAIN + waiter, EVENT_WAIT, 0x40 + 8 * waiter, 0);
	futex(a, (turn + 1) * 10 * MS, MAIN + waiter, EVENT_WOKEN, 0x40 + 8 * waiter,
		MAIN + 1 - waiter);
}

/* Those who wait until it is over have worked before, so that nothing tells that they would do no more. */
static void who_waits_for_the_end_does_not_hide_turns(void **state)
{
	(void)state;
	AUTO(analysis)
	struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2, .served_cores = 2 });
	uint64_t end = TURNS * 10 * MS;
	for (uint32_t i = 0; i < 2 + BOSSES; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
	wait_turn(a, 0);
	for (uint32_t i = 2; i < 2 + BOSSES; i++)
		futex(a, 10 * MS, MAIN + i, EVENT_WAIT, 0x80 + 8 * i, 0);
	for (uint32_t turn = 1; turn < TURNS; turn++)
		wait_turn(a, turn);
	for (uint32_t i = 2; i < 2 + BOSSES; i++)
		futex(a, end, MAIN + i, EVENT_WOKEN, 0x80 + 8 * i, MAIN);
	AUTO(results) struct results *r = finish(a, end);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_true(r->locks[r->findings[0].lock].turns_ns > 0);
	/* That one thread is active is no news. */
	assert_int_equal(r->finding_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_the_end_does_not_hide_turns),
	};
	return cmocka_run_group_tests_name("criticality_turns", tests, NULL, NULL);
}
