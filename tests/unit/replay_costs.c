/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording says of its machine: what waiting costs, and what others had of the cores. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "replay_fixture.h"

#include "replay/player.h"

/* x sleeps for the condition, and then for its mutex, which y still has: 6 us of CPU time, of which the last event tells. */
static void what_a_sleep_costs_is_the_mean_of_all(void **state)
{
	(void)state;
	enum { ROUNDS = 8, ROUND_US = 100 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "time_ns,tid,event,what,object,value,woken_ns,cpu_ns,flags\n"
			  "0,x,start,,,,,1,\n"
			  "0,y,start,,,,,1,\n");
	for (int i = 0; i < ROUNDS; i++) {
		int us = i * ROUND_US, x = 1 + i * 8, y = 1 + i * 2;
		strbuf_addf(&text, "%d000,x,pass,mutex,m,,,%d000,\n", us + 1, x);
		strbuf_addf(&text, "%d000,x,release,mutex,m,,,%d000,implicit\n", us + 2, x + 1);
		strbuf_addf(&text, "%d000,x,wait,cond,c,m,,%d000,\n", us + 2, x + 1);
		strbuf_addf(&text, "%d000,y,pass,mutex,m,,,%d000,\n", us + 50, y);
		strbuf_addf(&text, "%d000,y,release,cond,c,,,%d000,\n", us + 51, y + 1);
		strbuf_addf(&text, "%d000,x,woken,cond,c,y,,,\n", us + 51);
		strbuf_addf(&text, "%d000,x,pass,cond,c,y,,%d000,waited\n", us + 51, x + 1);
		strbuf_addf(&text, "%d000,x,wait,mutex,m,,,%d000,implicit\n", us + 51, x + 1);
		strbuf_addf(&text, "%d000,y,release,mutex,m,,,%d000,\n", us + 52, y + 2);
		strbuf_addf(&text, "%d000,x,woken,mutex,m,y,,,\n", us + 52);
		strbuf_addf(
			&text, "%d000,x,pass,mutex,m,y,,%d000,waited|implicit\n", us + 80, x + 7);
		strbuf_addf(&text, "%d000,x,release,mutex,m,,,%d000,\n", us + 81, x + 8);
	}
	strbuf_add(&text, "900000,x,exit,,,,,90000,\n900000,y,exit,,,,,90000,\n");
	struct fixture f = load(text.text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_int_equal(facts.block_ns, 3000);
	release(&f);
}

/* Eight sleeps of 8 us are seen; a and b share the core with those, for a slice at a time. */
static void more_switches_cost_no_more_in_all(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "time_ns,tid,event,what,object,value,woken_ns,cpu_ns,flags\n"
			  "0,a,start,,,,,1,\n0,b,start,,,,,1,\n0,x,start,,,,,1,\n");
	for (int i = 0; i < 8; i++) {
		int us = i * 20000;
		strbuf_addf(&text, "%d000,x,wait,sem,s,,,%d000,\n", us + 1, 1 + i * 9);
		strbuf_addf(&text, "%d000,a,release,sem,s,,,%d000,\n", us + 10000, us / 2 + 5000);
		strbuf_addf(&text, "%d000,x,woken,sem,s,a,,,\n", us + 10000);
		strbuf_addf(&text, "%d000,x,pass,sem,s,a,,%d000,waited\n", us + 11000, 9 + i * 9);
	}
	strbuf_add(&text, "160000000,a,exit,,,,,80000000,\n160000000,b,exit,,,,,80000000,\n"
			  "160000000,x,exit,,,,,73000,\n");
	struct fixture f = load(text.text, 1);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_in_range(facts.block_ns, 8000 / 20, 8000 / 2);
	release(&f);
}

/*
 * x is woken on the core that it had, where z goes on: the two share it, beside one that idles, until the tick at
 * 8 ms. That is no other program's doing.
 */
static void what_threads_lose_to_one_another_is_not_lost_to_others(void **state)
{
	(void)state;
	static const char text[] = "time_ns,tid,event,what,object,value,woken_ns,cpu_ns,flags\n"
				   "0,x,start,,,,,1,\n"
				   "0,y,start,,,,,1,\n"
				   "1000000,x,wait,sem,s,,,1000000,\n"
				   "2000000,z,start,,,y,,1,\n"
				   "4000000,y,exit,,,,,4000000,\n"
				   "6000000,z,release,sem,s,,,4000000,\n"
				   "6000000,x,woken,sem,s,,,,\n"
				   "8000000,x,pass,sem,s,,6000000,1000000,waited\n"
				   "14000000,z,exit,,,,,12000000,\n"
				   "16000000,x,exit,,,,,9000000,\n";
	struct fixture f = load(text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_true(facts.wakes_in_place);
	assert_true(facts.available < 0.95);
	assert_true(facts.available_full > 0.99);
	assert_in_range(play(&f, 2, NULL, 0), 15900000, 16100000);
	/* Among more cores x looks for one that idles, though z is kept where x was. */
	struct replay_change kept = speed_of(2, 1);
	kept.cores[0] = 1;
	assert_in_range(play(&f, 2, &kept, 1), 15900000, 16100000);
	assert_in_range(play(&f, 3, &kept, 1), 13900000, 14100000);
	release(&f);
}

/* b keeps its core while it waits, and needs 0.4 ms from a's release to having the lock: it will again. */
static void taking_a_lock_over_is_work(void **state)
{
	(void)state;
	static const char text[] = "time_ns,tid,event,what,object,value,woken_ns,cpu_ns,flags\n"
				   "0,a,start,,,,,1,\n"
				   "0,b,start,,,,,1,\n"
				   "0,a,pass,mutex,m,,,1,\n"
				   "900000,b,wait,mutex,m,,,900000,\n"
				   "1000000,a,release,mutex,m,,,1000000,\n"
				   "1000000,b,woken,mutex,m,a,,,\n"
				   "1000000,a,exit,,,,,1000000,\n"
				   "1400000,b,pass,mutex,m,a,1000000,1400000,waited\n"
				   "2400000,b,release,mutex,m,,,2400000,\n"
				   "2400000,b,exit,,,,,2400000,\n";
	struct fixture f = load(text, 2);
	assert_in_range(play(&f, 2, NULL, 0), 2299900, 2300100);
	release(&f);
}

/*
 * b waits for a's lock in each of the rounds, sleeps in the first ones, and runs 20 us after it was woken; in the later ones it
 * keeps its core and goes on at once. So it does in the last one, which says how long all takes.
 */
static void who_kept_its_core_has_not_slept(void **state)
{
	(void)state;
	enum { ROUNDS = 16, SLEPT = 10, ROUND_US = 150 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "time_ns,tid,event,what,object,value,woken_ns,cpu_ns,flags\n"
			  "0,a,start,,,,,1,\n0,b,start,,,,,1,\n");
	int b = 1; /* us that b had of its core */
	for (int i = 0; i < ROUNDS; i++) {
		int us = i * ROUND_US, slept = i < SLEPT ? 20 : 0;
		strbuf_addf(&text, "%d000,a,pass,mutex,m,,,%d001,\n", us, us);
		b += i == 0 ? 9 : ROUND_US - 95 - (i <= SLEPT ? 20 : 0);
		strbuf_addf(&text, "%d000,b,wait,mutex,m,,,%d000,\n", us + 10, b);
		strbuf_addf(&text, "%d000,a,release,mutex,m,,,%d001,\n", us + 100, us + 100);
		strbuf_addf(&text, "%d000,b,woken,mutex,m,a,,,\n", us + 100);
		b += slept ? 0 : 90;
		strbuf_addf(&text, "%d000,b,pass,mutex,m,a,%d000,%d000,waited\n", us + 100 + slept,
			us + 100, b);
		b += 5;
		strbuf_addf(&text, "%d000,b,release,mutex,m,,,%d000,\n", us + 105 + slept, b);
	}
	int end_us = (ROUNDS - 1) * ROUND_US + 505;
	strbuf_addf(&text, "%d000,a,exit,,,,,%d001,\n", end_us - 100, end_us - 100);
	strbuf_addf(&text, "%d000,b,exit,,,,,%d000,\n", end_us, b + 400);
	struct fixture f = load(text.text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_in_range(facts.wake_ns, 19000, 21000);
	assert_in_range(play(&f, 2, NULL, 0), end_us * 1000 - 1000, end_us * 1000 + 1000);
	release(&f);
}

/*
 * Two threads had half of a core each, and others one core's time. On one core others have the one that is left to them, on
 * four they want a quarter of each; or, as is guessed, what was lost is lost to half of the threads' time on any.
 */
static void others_want_as_much_of_other_cores(void **state)
{
	(void)state;
	static const char text[] = WORK_HEAD "0,a,1,start,,,,,\n"
					     "0,b,1,start,,,,,\n"
					     "40000000,a,20000000,exit,,,,,\n"
					     "40000000,b,20000000,exit,,,,,\n";
	static const struct {
		uint32_t cores;
		uint64_t ns, guessed_ns;
	} expected[] = { { 1, 40000000, 80000000 }, { 2, 40000000, 40000000 },
		{ 4, 26666667, 40000000 } };
	struct fixture f = load(text, 2);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(expected); i++) {
		struct replay_run run = { .cores = expected[i / 4].cores, .seed = i % 4 };
		uint64_t expected_ns =
			run.seed & 2 ? expected[i / 4].guessed_ns : expected[i / 4].ns;
		uint64_t ns;
		assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
		assert_in_range(ns, expected_ns / 100 * 97, expected_ns / 100 * 103);
	}
	release(&f);
}

/*
 * As above: half of the two cores was lost. Where others are known to have had none of them, it is lost to what nobody sees, which
 * is not known to be lost again; where they had all of that time, they want it of other cores, too, and nothing is guessed.
 */
static void what_others_had_is_not_guessed_where_it_is_known(void **state)
{
	(void)state;
	static const char text[] = WORK_HEAD "0,a,1,start,,,,,\n"
					     "0,b,1,start,,,,,\n"
					     "400000000,a,200000000,exit,,,,,\n"
					     "400000000,b,200000000,exit,,,,,\n";
	static const struct {
		uint64_t others_ns;
		uint32_t cores;
		uint64_t ns;
	} expected[] = { { 400000000, 1, 400000000 }, { 400000000, 2, 400000000 },
		{ 400000000, 4, 266666667 }, { 0, 1, 400000000 }, { 0, 2, 205000000 },
		{ 0, 4, 202500000 } };
	for (size_t i = 0; i < 4 * ARRAY_SIZE(expected); i++) {
		struct replay_opts opts = { .cores = 2,
			.others = { expected[i / 4].others_ns, 400000000 } };
		AUTO(replay) struct replay *replay = NULL;
		assert_int_equal(replay_new(&opts, &replay, NULL), 0);
		struct event_sink sink = replay_sink(replay);
		feed(text, &sink);
		struct replay_run run = { .cores = expected[i / 4].cores, .seed = i % 4 };
		uint64_t ns;
		assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
		assert_in_range(ns, expected[i / 4].ns / 100 * 94, expected[i / 4].ns / 100 * 106);
	}
}

/* b gets what a writes 100 ms later, which nothing tells the reason of: others had the core, if they had it so long. */
static void who_comes_late_waited_for_others_where_they_were_seen(void **state)
{
	(void)state;
	static const char text[] = WORK_HEAD "0,a,1,start,,,,,\n"
					     "0,b,1,start,,,,,\n"
					     "0,b,1,wait,io,3,1,4,\n"
					     "100000000,a,100000000,release,queue,77,2,8,\n"
					     "100000000,a,100000000,exit,,,,,\n"
					     "200000000,b,1,pass,io,3,1,,waited\n"
					     "200000000,b,1,pass,queue,77,3,8,\n"
					     "300000000,b,100000001,exit,,,,,\n";
	static const uint64_t others_ns[] = { 0, 60000000, 100000000 };
	static const uint64_t expected_ns[] = { 200000000, 250000000, 300000000 };
	for (size_t i = 0; i < ARRAY_SIZE(others_ns); i++) {
		struct replay_opts opts = { .cores = 1, .others = { others_ns[i], 300000000 } };
		AUTO(replay) struct replay *replay = NULL;
		assert_int_equal(replay_new(&opts, &replay, NULL), 0);
		struct event_sink sink = replay_sink(replay);
		feed(text, &sink);
		uint64_t ns;
		assert_int_equal(replay_run(replay, &(struct replay_run){ 0 }, &ns, NULL), 0);
		assert_in_range(ns, expected_ns[i] / 100 * 98, expected_ns[i] / 100 * 102);
	}
}

/* One core, of which the recorder tells who has it: b waits for 10 ms until it first does. */
static const char crowded_start[] = WORK_HEAD "0,main,,start,,,,,\n"
					      "0,main,,run,,,,,\n"
					      "1000000,a,,start,,,,main,\n"
					      "1000000,b,,start,,,,main,\n"
					      "1000000,main,1000000,wait,join,a,,a,\n"
					      "1000000,a,,run,,,,,\n"
					      "11000000,a,10000000,exit,,,,,\n"
					      "11000000,b,,run,,,,,\n"
					      "11000000,main,,woken,join,a,,a,\n"
					      "21000000,b,10000000,exit,,,,,\n"
					      "21000000,main,,run,,,,,\n"
					      "21000000,main,1000000,pass,join,a,,a,waited\n"
					      "21000000,main,1000000,exit,,,,,\n";

static void waiting_for_the_first_core_is_no_work(void **state)
{
	(void)state;
	struct fixture f = load(crowded_start, 1);
	assert_in_range(play(&f, 1, NULL, 0), 21000000, 21010000);
	assert_in_range(play(&f, 2, NULL, 0), 11000000, 11010000);
	release(&f);
}

/* The recorded run left one of two cores free, which others had all the time; half of the wake-ups were in time. */
static void who_was_late_behind_others_is_less_so_on_more_cores(void **state)
{
	(void)state;
	struct replay replay = { .facts = { .cores = 2 },
		.opts = { .wakes = { .latency_ns = 10 } },
		.woken = { .others_of_free = 1 } };
	double parts[WAKES_PARTS];
	for (size_t i = 0; i < WAKES_PARTS; i++)
		replay.woken.parts_ns[i] = i < WAKES_PARTS / 2 ? 10 : 1000;
	late_wakes(&replay, 2, parts);
	assert_memory_equal(parts, replay.woken.parts_ns, sizeof parts);
	late_wakes(&replay, 8, parts); /* an eighth */
	assert_true(parts[15] < 20);
	assert_true(parts[18] > 990);
	replay.woken.others_of_free = 0; /* it was not because of others */
	late_wakes(&replay, 8, parts);
	assert_memory_equal(parts, replay.woken.parts_ns, sizeof parts);
}

static int count_woken(void *context, const struct event *event, struct err *err)
{
	uint32_t *woken = context;
	(void)err;
	*woken += event->kind == EVENT_WOKEN && event->what == WHAT_COND;
	return 0;
}

/* main waits until a has come four times; who is told each time is woken each time, else when it is enough. */
static uint32_t wakes_of_a_latch(bool tells_in_vain)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, HEAD "0,main,start,,,,,\n0,a,start,,,,,\n");
	for (int i = 0; i < 4; i++) {
		int us = i * 100;
		strbuf_addf(&text, "%d000,main,pass,mutex,m,7,,\n", us + 1);
		for (int k = 1; k <= 4; k++) {
			bool tells = tells_in_vain || k == 4;
			int at = us + 10 * k;
			if (k == 1 || tells_in_vain)
				strbuf_addf(&text,
					"%d000,main,release,mutex,m,7,,implicit\n"
					"%d000,main,wait,cond,c,7,m,\n",
					at, at);
			strbuf_addf(&text, "%d000,a,pass,mutex,m,9,,\n", at + 1);
			if (tells)
				strbuf_addf(&text, "%d000,a,release,cond,c,9,,\n", at + 2);
			strbuf_addf(&text, "%d000,a,release,mutex,m,9,,\n", at + 3);
			if (tells)
				strbuf_addf(&text,
					"%d000,main,pass,cond,c,7,a,waited\n"
					"%d000,main,pass,mutex,m,7,,implicit\n",
					at + 4, at + 4);
		}
		strbuf_addf(&text, "%d000,main,release,mutex,m,7,,\n", us + 50);
	}
	strbuf_add(&text, "900000,a,exit,,,,,\n900000,main,exit,,,,,\n");
	struct fixture f = load(text.text, 2);
	uint32_t woken = 0;
	uint64_t ns = 0;
	struct event_sink sink = { .context = &woken, .event = count_woken };
	struct replay_run run = { .cores = 2, .sink = &sink };
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	release(&f);
	return woken;
}

static void who_waits_for_four_is_woken_as_often_as_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(wakes_of_a_latch(false), 4);
	assert_int_equal(wakes_of_a_latch(true), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_sleep_costs_is_the_mean_of_all),
		cmocka_unit_test(more_switches_cost_no_more_in_all),
		cmocka_unit_test(what_threads_lose_to_one_another_is_not_lost_to_others),
		cmocka_unit_test(taking_a_lock_over_is_work),
		cmocka_unit_test(who_kept_its_core_has_not_slept),
		cmocka_unit_test(others_want_as_much_of_other_cores),
		cmocka_unit_test(what_others_had_is_not_guessed_where_it_is_known),
		cmocka_unit_test(who_comes_late_waited_for_others_where_they_were_seen),
		cmocka_unit_test(waiting_for_the_first_core_is_no_work),
		cmocka_unit_test(who_was_late_behind_others_is_less_so_on_more_cores),
		cmocka_unit_test(who_waits_for_four_is_woken_as_often_as_it_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
