/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waking a thread costs the one who does: found in a recording, or told of the machine. */
#include "replay_fixture.h"

#include "base/strbuf.h"

#include <inttypes.h>

#define WAKES_HEAD "time_ns,tid,event,what,object,site,value,woken_ns,cpu_ns,flags\n"

enum { PAIRS = 100, US = 1000, MS = 1000 * US };

/*
 * a: 20 us of work, then the lock for 10 us, PAIRS times; after each second of them b, which waits for it, is woken: cost_ns
 * of a's CPU time. b gets the lock 15 us later, when a is far from it.
 */
static void add_pairs(struct strbuf *text, bool wakes, uint64_t cost_ns)
{
	uint64_t t = 0, b_cpu = 1, a_cpu = 1;
	strbuf_add(text, WAKES_HEAD "0,a,start,,,,,,1,\n0,b,start,,,,,,1,\n");
	for (int i = 0; i < PAIRS; i++) {
		bool is_waited_for = wakes && i % 2;
		uint64_t before = wakes && i > 0 && i % 2 == 0 ? 20 * US + cost_ns : 20 * US;
		t += before;
		a_cpu += before;
		strbuf_addf(text, "%" PRIu64 ",a,pass,mutex,m,1,,,%" PRIu64 ",\n", t, a_cpu);
		if (is_waited_for) {
			b_cpu += 100;
			strbuf_addf(text, "%" PRIu64 ",b,wait,mutex,m,2,,,%" PRIu64 ",\n",
				t + 2 * US, b_cpu);
		}
		t += 10 * US;
		a_cpu += 10 * US;
		strbuf_addf(text, "%" PRIu64 ",a,release,mutex,m,,,,%" PRIu64 ",\n", t, a_cpu);
		if (is_waited_for) {
			b_cpu += 2 * US;
			strbuf_addf(text, "%" PRIu64 ",b,woken,mutex,m,,a,,,\n", t);
			strbuf_addf(text,
				"%" PRIu64 ",b,pass,mutex,m,2,a,%" PRIu64 ",%" PRIu64 ",waited\n",
				t + 15 * US, t, b_cpu);
			b_cpu += 100;
			strbuf_addf(text, "%" PRIu64 ",b,release,mutex,m,,,,%" PRIu64 ",\n",
				t + 15 * US + 100, b_cpu);
		}
	}
	t += 50 * US;
	strbuf_addf(text, "%" PRIu64 ",a,exit,,,,,,%" PRIu64 ",\n", t, a_cpu + 50 * US);
	strbuf_addf(text, "%" PRIu64 ",b,exit,,,,,,%" PRIu64 ",\n", t, b_cpu + US);
	assert_int_equal(strbuf_failed(text), 0);
}

static uint64_t cost_found(bool wakes, uint64_t cost_ns, const struct trace_wakes *machine)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_pairs(&text, wakes, cost_ns);
	struct replay_opts opts = { .cores = 2, .wakes = *machine };
	struct fixture f = { 0 };
	struct replay_facts facts;
	assert_int_equal(replay_new(&opts, &f.replay, NULL), 0);
	struct event_sink sink = replay_sink(f.replay);
	feed(text.text, &sink);
	replay_facts(f.replay, &facts);
	release(&f);
	return facts.wake_cost_ns;
}

static void the_cost_of_waking_is_found(void **state)
{
	(void)state;
	static const struct trace_wakes machine = { .cost_ns = 9000 };
	assert_int_equal(cost_found(true, 6000, &machine), 6000);
	assert_int_equal(
		cost_found(true, 0, &machine), 0); /* a waiter that had not fallen asleep */
}

static void without_two_kinds_it_is_the_machines(void **state)
{
	(void)state;
	static const struct trace_wakes machine = { .cost_ns = 9000 };
	assert_int_equal(cost_found(false, 0, &machine), 9000);
	assert_int_equal(cost_found(false, 0, &(struct trace_wakes){ 0 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cost_of_waking_is_found),
		cmocka_unit_test(without_two_kinds_it_is_the_machines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
