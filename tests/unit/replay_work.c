/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays of timelines whose CPU times count work, and of threads that met without being told so rightly. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "replay_fixture.h"

#include <errno.h>

/*
 * Work that is no time: main does 2,000 units alone, then two threads 1,000 and 3,000 units, of which
 * each begins with `a` a stretch of another kind.
 */
static const char work[] = WORK_HEAD "0,main,0,start,,,,,\n"
				     "5000,a,0,start,,,,main,\n"
				     "5000,b,0,start,,,,main,\n"
				     "5000,main,2000,wait,join,a,,a,\n"
				     "6000,a,500,release,sem,s,7,,\n"
				     "9000,a,1000,exit,,,,,\n"
				     "9500,b,3000,exit,,,,,\n"
				     "9500,main,2000,pass,join,a,,a,waited\n"
				     "9500,main,2000,wait,join,b,,b,\n"
				     "9600,main,2000,pass,join,b,,b,waited\n"
				     "9600,main,2000,exit,,,,,\n";

static uint16_t stretch_of(void *context, const struct event *event)
{
	(void)context;
	return event->kind == EVENT_RELEASE ? 1 : 0;
}

static struct replay *load_stretches(const char *text)
{
	const struct replay_opts opts = { .cores = 2, .stretch = stretch_of };
	struct replay *replay = NULL;
	assert_int_equal(replay_new(&opts, &replay, NULL), 0);
	struct event_sink sink = replay_sink(replay);
	feed(text, &sink);
	return replay;
}

struct clocked {
	uint64_t chunk, calls;
};

/* 2 ns a unit, 10 ns in stretches of kind 1; so much at a time. */
static uint64_t take_time(void *context, uint32_t thread, uint16_t stretch, uint64_t *left)
{
	struct clocked *clocked = context;
	(void)thread;
	uint64_t done = *left < clocked->chunk ? *left : clocked->chunk;
	clocked->calls++;
	*left -= done;
	return done * (stretch == 1 ? 10 : 2);
}

static void work_takes_the_time_that_it_is_told(void **state)
{
	(void)state;
	static const struct {
		uint64_t chunk, calls;
	} cases[] = { { UINT64_MAX, 4 }, { 100, 60 } };
	for (size_t i = 0; i < 2; i++) {
		AUTO(replay) struct replay *replay = load_stretches(work);
		struct clocked clocked = { .chunk = cases[i].chunk };
		uint64_t ns = 0;
		struct replay_run run = {
			.cores = 2, .duration = take_time, .duration_context = &clocked
		};
		assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
		/* main 2 * 2,000; a 2 * 500 + 10 * 500, b 2 * 3,000 */
		assert_int_equal(ns, 4000 + 6000);
		assert_int_equal(clocked.calls, cases[i].calls);
		run.cores = 1;
		assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
		assert_int_equal(ns, 4000 + 6000 + 6000);
	}
}

/* `a` lets main go after 500 units and does 3,000 more; then main waits for its end. */
static const char woken[] = WORK_HEAD "0,main,0,start,,,,,\n"
				      "100,a,0,start,,,,main,\n"
				      "200,main,0,wait,sem,s,7,,\n"
				      "6000,a,500,release,sem,s,7,,\n"
				      "6100,main,0,pass,sem,s,7,a,waited\n"
				      "6200,main,0,wait,join,a,,a,\n"
				      "9000,a,3500,exit,,,,,\n"
				      "9100,main,0,pass,join,a,,a,waited\n"
				      "9100,main,0,exit,,,,,\n";

static void waking_takes_its_time_from_both_unless_one_dozed(void **state)
{
	(void)state;
	enum { WAKE = 60, COST = 40, LONG = 1000000 };
	AUTO(replay) struct replay *replay = load_stretches(woken);
	struct clocked clocked = { .chunk = UINT64_MAX };
	struct replay_run run = { .cores = 2,
		.duration = take_time,
		.duration_context = &clocked,
		.kernel.wake.a = WAKE,
		.kernel.wake_cost_ns = COST };
	uint64_t ns = 0, work_ns = 500 * 2 + 3000 * 10;
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, work_ns + COST + WAKE);
	run.kernel.doze_ns = LONG;
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, work_ns);
}

/* a is first on the core when main waits, main when a has ended; let go, it runs beside a on a core that was its own. */
static void a_core_that_changes_its_thread_takes_the_time_of_a_switch(void **state)
{
	(void)state;
	enum { SWITCH = 70 };
	AUTO(replay) struct replay *replay = load_stretches(woken);
	struct clocked clocked = { .chunk = UINT64_MAX };
	uint64_t ns = 0, work_ns = 500 * 2 + 3000 * 10;
	struct replay_run run = { .cores = 1,
		.duration = take_time,
		.duration_context = &clocked,
		.kernel.switch_ns = SWITCH };
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, work_ns + 3 * SWITCH);
}

/* main yields before a is there; a three times, while main waits for its end, or has another core. */
static const char yielding[] = WORK_HEAD "0,main,0,start,,,,,\n"
					 "100,main,100,try_failed,spin,9,9,,\n"
					 "200,a,0,start,,,,main,\n"
					 "300,main,200,try_failed,spin,9,9,,\n"
					 "400,a,300,try_failed,spin,8,8,,\n"
					 "500,a,600,try_failed,spin,8,8,,\n"
					 "600,a,900,try_failed,spin,8,8,,\n"
					 "700,a,1000,exit,,,,,\n"
					 "800,main,2200,exit,,,,,\n";

static void who_yields_makes_room_for_others(void **state)
{
	(void)state;
	enum { YIELD = 30, SWITCH = 70, YIELD_SWITCH = 50 };
	AUTO(replay) struct replay *replay = load_stretches(yielding);
	struct clocked clocked = { .chunk = UINT64_MAX };
	uint64_t ns = 0;
	struct replay_run run = { .cores = 2,
		.duration = take_time,
		.duration_context = &clocked,
		.kernel.switch_ns = SWITCH,
		.yield_ns = YIELD,
		.kernel.yield_switch_ns = YIELD_SWITCH };
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, SWITCH + 2 * 2200 + 2 * YIELD);
	/* main's first yield finds nobody, its second a, whose first one finds main again, which goes on to its end. */
	run.cores = 1;
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 2 * 3200 + 5 * YIELD + 2 * SWITCH + 2 * YIELD_SWITCH);
}

/* Two regions of main and a, and a barrier in the first; a has 1,000 units until each meeting, main 100. more: a thread that meets nobody. */
#define THIRD                                                                                      \
	"0,b,0,start,,,,main,\n10,b,10,wait,barrier,x,1,,spins\n10,b,10,pass,barrier,x,1,,"        \
	"waited\n10,b,10,exit,,,,,\n"
#define OPENMP_TEXT(spins, more)                                                                   \
	WORK_HEAD "0,main,0,start,,,,,\n"                                                          \
		  "0,a,0,start,,,,main,\n" more "100,main,100,wait,barrier,r,1,," spins "\n"       \
		  "1000,a,1000,pass,barrier,r,1,,\n"                                               \
		  "1000,main,100,pass,barrier,r,1,a,waited\n"                                      \
		  "1100,main,200,wait,barrier,r,2,," spins "\n"                                    \
		  "2000,a,2000,wait,barrier,r,2,," spins "\n"                                      \
		  "2000,main,200,pass,barrier,r,2,a,waited\n"                                      \
		  "5000,main,3200,region_begin,,,,,\n"                                             \
		  "5000,a,2000,woken,barrier,r,,main,\n"                                           \
		  "5010,a,2000,pass,barrier,r,2,,waited\n"                                         \
		  "6010,a,3000,exit,,,,,\n"                                                        \
		  "6010,main,3300,exit,,,,,\n"

static void who_waits_in_a_runtime_that_spins_is_not_asleep(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t cores;
		bool sleeps;
	} cases[] = {
		{ OPENMP_TEXT("spins", ""), 2, false }, { OPENMP_TEXT("", ""), 2, true },
		{ OPENMP_TEXT("spins", THIRD), 3, false },
		{ OPENMP_TEXT("spins", THIRD), 2, true }, /* two of three have no time to spin */
	};
	enum { WAKE = 60 };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(replay) struct replay *replay = load_stretches(cases[i].text);
		struct clocked clocked = { .chunk = UINT64_MAX };
		uint64_t ns[2];
		struct replay_run run = {
			.cores = cases[i].cores, .duration = take_time, .duration_context = &clocked
		};
		assert_int_equal(replay_run(replay, &run, &ns[0], NULL), 0);
		run.kernel.wake.a = WAKE;
		run.kernel.wake_cost_ns = WAKE;
		assert_int_equal(replay_run(replay, &run, &ns[1], NULL), 0);
		assert_int_equal(ns[1] > ns[0], cases[i].sleeps);
	}
}

static void what_a_creator_had_done_is_what_its_clock_said(void **state)
{
	(void)state;
	/* By time, main would have done 40 of 2,000 units when it starts a thread; it had done 1,500. */
	static const char text[] = WORK_HEAD "0,main,0,start,,,,,\n"
					     "200,main,1500,frame,,,,,\n"
					     "200,a,0,start,,,,main,\n"
					     "10000,main,2000,wait,join,a,,a,\n"
					     "10000,a,3000,exit,,,,,\n"
					     "10000,main,2000,pass,join,a,,a,waited\n"
					     "10000,main,2000,exit,,,,,\n";
	AUTO(replay) struct replay *replay = load_stretches(text);
	struct clocked clocked = { .chunk = UINT64_MAX };
	uint64_t ns = 0;
	struct replay_run run = { .cores = 2, .duration = take_time, .duration_context = &clocked };
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 2 * 1500 + 2 * 3000);
}

static void work_between_what_others_tell_is_shared_by_time(void **state)
{
	(void)state;
	/* main: 4,000 units in 8,000 ns, after three quarters of which it starts a thread. */
	static const char text[] = WORK_HEAD "0,main,0,start,,,,,\n"
					     "6000,a,0,start,,,,main,\n"
					     "7000,a,3000,exit,,,,,\n"
					     "8000,main,4000,exit,,,,,\n";
	AUTO(replay) struct replay *replay = load_stretches(text);
	struct clocked clocked = { .chunk = UINT64_MAX };
	uint64_t ns = 0;
	struct replay_run run = { .cores = 2, .duration = take_time, .duration_context = &clocked };
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 2 * 3000 + 2 * 3000);
	run.duration = NULL;
	struct err err = { "" };
	assert_int_equal(replay_run(replay, &run, &ns, &err), -EINVAL);
}

/* Pieces of 10, 30, 10 and 10 units, taken under a lock: a had three, b one. */
static const char taken[] = WORK_HEAD "0,a,0,start,,,,,\n"
				      "0,b,0,start,,,,,\n"
				      "0,a,0,pass,mutex,l,1,,\n"
				      "0,a,0,release,mutex,l,2,,\n"
				      "0,b,0,pass,mutex,l,1,,\n"
				      "0,b,0,release,mutex,l,2,,\n"
				      "10,a,10,pass,mutex,l,1,,\n"
				      "10,a,10,release,mutex,l,2,,\n"
				      "20,a,20,pass,mutex,l,1,,\n"
				      "20,a,20,release,mutex,l,2,,\n"
				      "30,a,30,pass,mutex,l,1,,\n"
				      "30,a,30,release,mutex,l,2,,\n"
				      "30,a,30,exit,,,,,\n"
				      "30,b,30,pass,mutex,l,1,,\n"
				      "30,b,30,release,mutex,l,2,,\n"
				      "30,b,30,exit,,,,,\n";

struct move {
	uint32_t thread, list;
	uint64_t done;
};

struct moves {
	struct move seen[8];
	size_t count;
};

static uint64_t b_is_fast(void *context, uint32_t thread, uint16_t stretch, uint64_t *left)
{
	(void)context;
	(void)stretch;
	uint64_t done = *left;
	*left = 0;
	return done * (thread == 1 ? 2 : 12);
}

static void note_move(void *context, uint32_t thread, uint32_t list, uint64_t done)
{
	struct moves *moves = context;
	assert_true(moves->count < 8);
	moves->seen[moves->count++] = (struct move){ thread, list, done };
}

static void who_asks_is_told_whose_work_is_done(void **state)
{
	(void)state;
	static const struct move expected[] = { { 0, 0, 0 }, { 1, 1, 0 }, { 1, 0, 10 },
		{ 1, 0, 20 }, { 1, 1, 30 }, { 0, 0, 30 } };
	AUTO(replay) struct replay *replay = load_stretches(taken);
	struct moves moves = { .count = 0 };
	uint64_t ns = 0;
	struct replay_run run = {
		.cores = 2, .duration = b_is_fast, .moves = note_move, .duration_context = &moves
	};
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 10 * 12);
	assert_int_equal(moves.count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < moves.count; i++) {
		assert_int_equal(moves.seen[i].thread, expected[i].thread);
		assert_int_equal(moves.seen[i].list, expected[i].list);
		assert_int_equal(moves.seen[i].done, expected[i].done);
	}
}

/* b asks for the lock when a has had it, then again. */
static void a_lock_comes_from_the_thread_that_had_it(void **state)
{
	(void)state;
	static const char text[] = WORK_HEAD "0,a,0,start,,,,,\n"
					     "0,b,0,start,,,,,\n"
					     "10,a,10,pass,mutex,l,1,,\n"
					     "20,a,20,release,mutex,l,2,,\n"
					     "20,a,20,exit,,,,,\n"
					     "500,b,500,pass,mutex,l,1,,\n"
					     "510,b,510,release,mutex,l,2,,\n"
					     "520,b,520,pass,mutex,l,1,,\n"
					     "530,b,530,release,mutex,l,2,,\n"
					     "530,b,530,exit,,,,,\n";
	AUTO(replay) struct replay *replay = load_stretches(text);
	struct clocked clocked = { .chunk = UINT64_MAX };
	struct replay_time times[2];
	uint64_t ns = 0;
	struct replay_run run = { .cores = 2,
		.duration = take_time,
		.duration_context = &clocked,
		.operation_ns = 7,
		.transfer_ns = 300,
		.times = times };
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	/* b: from the start 500, 10 with the lock, 10 of kind 1, 10 */
	uint64_t cost_ns = 4 * 7 + 300;
	assert_int_equal(ns, 500 * 2 + 10 * 2 + 10 * 10 + 10 * 2 + cost_ns);
	assert_int_equal(times[1].ran_ns, ns);
	assert_int_equal(times[1].operation_ns, cost_ns);
	assert_int_equal(times[0].operation_ns, 2 * 7);
	assert_int_equal(times[0].waited_ns, 0);
	/* Beside the work only of what b takes again, and as far as there is any: 25.5 are 20 with the lock, 100 before it. */
	run.operation_ns = 25.5;
	run.locks_overlap = true;
	assert_int_equal(replay_run(replay, &run, &ns, NULL), 0);
	assert_int_equal(times[1].operation_ns, 25 + 300 + 26 + 0 + 5);
	assert_int_equal(times[0].operation_ns, 51);
}

/* Two rounds of three; c, late on its core, took a's coming to the second for what ended the first. */
static void rounds_are_told_apart_by_who_comes(void **state)
{
	(void)state;
	static const struct {
		const char *a_comes, *c_sees, *a_comes_late;
	} cases[] = {
		{ "40000,a,wait,barrier,x,,,\n", "40000", "" },
		/* It saw a time to come, which was cut to its own. */
		{ "", "41000", "41001,a,wait,barrier,x,,,\n" },
	};
	for (size_t i = 0; i < 2; i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		strbuf_addf(&text,
			"time_ns,tid,event,what,object,value,woken_ns,flags\n"
			"0,a,start,,,,,\n0,b,start,,,,,\n0,c,start,,,,,\n"
			"10000,a,wait,barrier,x,,,\n20000,b,wait,barrier,x,,,\n"
			"30000,c,wait,barrier,x,,,\n30000,a,pass,barrier,x,c,30000,waited\n"
			"30000,b,pass,barrier,x,c,30000,waited\n%s"
			"41000,c,pass,barrier,x,a,%s,waited\n%s45000,c,wait,barrier,x,,,\n"
			"50000,b,wait,barrier,x,,,\n50000,a,pass,barrier,x,b,50000,waited\n"
			"50000,b,pass,barrier,x,b,50000,waited\n"
			"50000,c,pass,barrier,x,b,50000,waited\n"
			"60000,a,exit,,,,,\n60000,b,exit,,,,,\n60000,c,exit,,,,,\n",
			cases[i].a_comes, cases[i].c_sees, cases[i].a_comes_late);
		struct fixture f = load(text.text, 3);
		uint64_t ns = play(&f, 3, NULL, 0);
		/* b comes last, 20,000 ns after the first round; had it not waited there for c, it would be 10,000 earlier. */
		assert_int_equal(ns, 60000);
		release(&f);
	}
}
/* a waits, its time runs out three times after 1,000 ns, then b, which has done 750 units, signals. */
static void time_outs_before_a_signal_are_not_waited_for(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, WORK_HEAD "0,a,0,start,,,,,\n0,b,0,start,,,,,\n10,a,1,pass,mutex,m,,,\n");
	for (int from = 20, i = 0; i < 3; i++, from += 1010)
		strbuf_addf(&text,
			"%d,a,1,release,mutex,m,,,implicit\n%d,a,1,wait,cond,c,,m,\n"
			"%d,a,1,pass,cond,c,,,waited|timed_out\n%d,a,1,pass,mutex,m,,,implicit\n",
			from, from, from + 1000, from + 1000);
	strbuf_add(&text,
		"4000,a,1,release,mutex,m,,,implicit\n4000,a,1,wait,cond,c,,m,\n"
		"5000,b,750,release,cond,c,,,\n"
		"5000,a,1,pass,cond,c,,b,waited\n5000,a,1,pass,mutex,m,,,implicit\n"
		"5010,a,1,release,mutex,m,,,\n5020,a,1,exit,,,,,\n5020,b,750,exit,,,,,\n");
	AUTO(replay) struct replay *replay = load_stretches(text.text);
	struct clocked clocked = { .chunk = UINT64_MAX };
	uint64_t ns = 0;
	struct err err = { "" };
	struct replay_run run = { .cores = 2, .duration = take_time, .duration_context = &clocked };
	if (replay_run(replay, &run, &ns, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(ns >= 1500 && ns < 1600); /* b works 1,500 ns; three time-outs took 3,000 */
}

/* b is still there when the process ends, and tells no CPU time: ten samples in 10 ms of main's, thirty of its own. */
static void who_is_left_at_the_end_did_what_samples_show(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, WORK_HEAD "0,main,100,start,,,,,\n"
				    "0,b,100,start,,,,main,\n");
	for (int i = 1; i <= 30; i++) {
		if (i <= 10)
			strbuf_addf(&text, "%d,main,,sample,,,7,,\n", i * 1000000 - 1);
		strbuf_addf(&text, "%d,b,,sample,,,7,,\n", i * 1000000 - 1);
	}
	strbuf_add(&text, "40000000,main,10000100,release,sem,s,,,\n"
			  "40000000,b,,exit,,,,,\n"
			  "40000000,main,10000100,exit,,,,,\n");
	struct fixture f = load(text.text, 1);
	assert_int_equal(play(&f, 1, NULL, 0) / 1000, 40000);
	release(&f);
}

/* 50 s of CPU time within 60 ms, which only a damaged file says. */
static void work_that_no_core_could_do_is_left_out(void **state)
{
	(void)state;
	struct fixture f = load(WORK_HEAD "0,a,1,start,,,,,\n"
					  "60000000,a,50000000000,exit,,,,,\n",
		2);
	assert_in_range(play(&f, 2, NULL, 0), 60000000, 70000000);
	release(&f);
}

/* b looks each 10 ms whether something is to be done, and is killed while it sleeps: the kernel wakes it to die. */
#define SLEEPER                                                                                    \
	WORK_HEAD "0,a,1,start,,,,,\n"                                                             \
		  "0,b,1,start,,,,,\n"                                                             \
		  "0,b,1,wait,sleep,,1,,\n"                                                        \
		  "10000000,b,1,pass,sleep,,1,,waited\n"                                           \
		  "10000000,b,1,wait,sleep,,1,,\n"                                                 \
		  "20000000,b,1,pass,sleep,,1,,waited\n"                                           \
		  "20000000,b,1,wait,sleep,,1,,\n"

/* When it ends if thread a is five times as fast. */
static uint64_t play_faster(const char *rows)
{
	struct fixture f = load(rows, 2);
	struct replay_change faster = speed_of(0, 5);
	uint64_t end_ns = play(&f, 2, &faster, 1);
	release(&f);
	return end_ns;
}

static void who_is_killed_while_it_sleeps_holds_nobody_up(void **state)
{
	(void)state;
	assert_in_range(play_faster(SLEEPER "24990000,b,,woken,sleep,,,,\n"
					    "25000000,a,25000000,exit,,,,,\n"
					    "25010000,b,1,pass,sleep,,1,,waited\n"
					    "25010000,b,1,exit,,,,,\n"),
		4990000, 5010000);
}

/* a goes on when b has ended: that was no death. */
static void who_ends_by_itself_slept_as_long_as_it_did(void **state)
{
	(void)state;
	assert_in_range(play_faster(SLEEPER "24990000,b,,woken,sleep,,,,\n"
					    "25010000,b,1,pass,sleep,,1,,waited\n"
					    "25010000,b,1,exit,,,,,\n"
					    "25020000,a,25000000,tick,,,,1,\n"
					    "25030000,a,25000000,exit,,,,,\n"),
		24980000, 25030000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_takes_the_time_that_it_is_told),
		cmocka_unit_test(waking_takes_its_time_from_both_unless_one_dozed),
		cmocka_unit_test(who_yields_makes_room_for_others),
		cmocka_unit_test(a_core_that_changes_its_thread_takes_the_time_of_a_switch),
		cmocka_unit_test(who_waits_in_a_runtime_that_spins_is_not_asleep),
		cmocka_unit_test(what_a_creator_had_done_is_what_its_clock_said),
		cmocka_unit_test(work_between_what_others_tell_is_shared_by_time),
		cmocka_unit_test(who_asks_is_told_whose_work_is_done),
		cmocka_unit_test(a_lock_comes_from_the_thread_that_had_it),
		cmocka_unit_test(rounds_are_told_apart_by_who_comes),
		cmocka_unit_test(time_outs_before_a_signal_are_not_waited_for),
		cmocka_unit_test(who_is_left_at_the_end_did_what_samples_show),
		cmocka_unit_test(work_that_no_core_could_do_is_left_out),
		cmocka_unit_test(who_is_killed_while_it_sleeps_holds_nobody_up),
		cmocka_unit_test(who_ends_by_itself_slept_as_long_as_it_did),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
