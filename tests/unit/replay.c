/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The replay on timelines written by hand, against what can be worked out on paper. */
#include "base/strbuf.h"
#include "base/mem.h"
#include "replay_fixture.h"
#include "sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t measured(const struct fixture *f)
{
	struct replay_facts facts;
	replay_facts(f->replay, &facts);
	return facts.measured_ns;
}

/* Amdahl: main computes 20 ms, four threads 20 ms each. */
static const char amdahl[] = HEAD "0,main,start,,,,,\n"
				  "20000000,a,start,,,,main,\n"
				  "20000000,b,start,,,,main,\n"
				  "20000000,c,start,,,,main,\n"
				  "20000000,d,start,,,,main,\n"
				  "20000000,main,wait,join,a,,a,\n"
				  "40000000,a,exit,,,,,\n"
				  "40000000,b,exit,,,,,\n"
				  "40000000,c,exit,,,,,\n"
				  "40000000,d,exit,,,,,\n"
				  "40000000,main,pass,join,a,,a,waited\n"
				  "40000000,main,wait,join,b,,b,\n"
				  "40000000,main,pass,join,b,,b,waited\n"
				  "40000000,main,wait,join,c,,c,\n"
				  "40000000,main,pass,join,c,,c,waited\n"
				  "40000000,main,wait,join,d,,d,\n"
				  "40000000,main,pass,join,d,,d,waited\n"
				  "40000000,main,exit,,,,,\n";

static void cores_divide_the_parallel_part(void **state)
{
	(void)state;
	struct fixture f = load(amdahl, 4);
	assert_int_equal(measured(&f), 40000000);
	assert_int_equal(play(&f, 4, NULL, 0), 40000000);
	assert_int_equal(play(&f, 2, NULL, 0), 60000000);
	assert_int_equal(play(&f, 1, NULL, 0), 100000000);
	assert_int_equal(play(&f, 1024, NULL, 0), 40000000);
	release(&f);
}

/* Samples of a program that is still being loaded. */
static void time_begins_with_the_first_thread(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "1000000,main,sample,,1,2,,\n"
				     "9000000,main,start,,,,,\n"
				     "9500000,main,exit,,,,,\n",
		1);
	assert_int_equal(measured(&f), 500000);
	assert_int_equal(play(&f, 1, NULL, 0), 500000);
	release(&f);
}

static void a_faster_thread_takes_its_part_of_the_time(void **state)
{
	(void)state;
	struct fixture f = load(amdahl, 4);
	struct replay_change main_faster = speed_of(0, 2);
	assert_int_equal(play(&f, 4, &main_faster, 1), 30000000);
	struct replay_change slower[2] = { main_faster, main_faster };
	slower[0].factor = 0.5;
	slower[1].target.number = 4000001;
	slower[1].factor = 4;
	assert_int_equal(play(&f, 4, slower, 2), 60000000); /* the other three take as long */
	release(&f);
}

static void threads_keep_to_their_cores(void **state)
{
	(void)state;
	struct fixture f = load(amdahl, 4);
	struct replay_change pinned[2] = { speed_of(1, 1), speed_of(2, 1) };
	pinned[0].cores[0] = pinned[1].cores[0] = 1 << 2;
	assert_int_equal(play(&f, 4, pinned, 2), 60000000); /* 20, and two after one another */
	struct replay_run run = { .cores = 2, .changes = pinned, .change_count = 1 };
	struct err err = { "" };
	uint64_t ns = 1;
	assert_int_equal(replay_run(f.replay, &run, &ns, &err), -EINVAL); /* there is no third */
	assert_non_null(strstr(err.text, "there are 2"));
	assert_int_equal(ns, 1);
	pinned[0].target = (struct replay_target){ .kind = REPLAY_LOCK };
	run.cores = 4;
	assert_int_equal(replay_run(f.replay, &run, &ns, &err), -EINVAL);
	release(&f);
}

/* A critical section of 30 ms in each of two threads, and 10 ms before it: 70 ms, a after b. */
static const char locked[] = HEAD "0,a,start,,,,,\n"
				  "0,b,start,,,,,\n"
				  "10000000,a,pass,mutex,lock,1,,\n"
				  "10000000,b,wait,mutex,lock,1,,\n"
				  "40000000,a,release,mutex,lock,2,,\n"
				  "40000000,a,exit,,,,,\n"
				  "40000000,b,pass,mutex,lock,1,,waited\n"
				  "70000000,b,release,mutex,lock,2,,\n"
				  "70000000,b,exit,,,,,\n";

static struct replay_target lock_named(uint64_t n)
{
	return (struct replay_target){
		.kind = REPLAY_LOCK, .what = WHAT_MUTEX, .pid = 1, .number = (UINT64_C(1) << 60) + n
	};
}

/* Events of one instant come by thread number, and numbers begin again when they are used up. */
static void who_is_joined_may_have_ended_first(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,main,start,,,,,\n"
				     "0,a,start,,,,main,\n"
				     "0,main,wait,join,0x10,,,\n"
				     "10000,a,exit,,,,,\n"
				     "10000,main,woken,join,0x10,,a,\n"
				     "10000,main,pass,join,0x10,,a,waited\n"
				     "10000,main,exit,,,,,\n",
		2);
	struct replay_change faster = speed_of(1, 2);
	assert_int_equal(play(&f, 2, NULL, 0), 10000);
	assert_int_equal(play(&f, 2, &faster, 1), 5000);
	release(&f);
}

/* A shell and the program that it waits for, whose two threads work 20 us each. Another process ends first. */
static void who_waits_for_a_process_waits_for_its_end(void **state)
{
	(void)state;
	static char text[] = "time_ns,pid,tid,event,what,object,value,flags\n"
			     "0,1,1,start,,,,\n"
			     "0,1,1,wait,io,,6,\n"
			     "0,3,5,start,,,,\n"
			     "0,2,2,start,,,,\n"
			     "0,2,3,start,,,2,\n"
			     "0,3,5,exit,,,,\n"
			     "20000,2,3,exit,,,,\n"
			     "20000,2,2,exit,,,,\n"
			     "22000,1,1,pass,io,,6,waited\n"
			     "22000,1,1,exit,,,,\n";
	for (enum event_io io = EVENT_IO_CHILD; io <= EVENT_IO_SIGNAL; io++) {
		*(strstr(text, "wait,io,,") + strlen("wait,io,,")) = (char)('0' + io);
		struct fixture f = load(text, 1);
		uint64_t one_ns = play(&f, 1, NULL, 0), two_ns = play(&f, 2, NULL, 0);
		assert_int_equal(one_ns, 40000);
		assert_int_equal(two_ns, 20000);
		release(&f);
	}
}

/*
 * A shell works for 10 us, starts a second one, which starts a program and waits for it, and works for 10 us when both are
 * over. The program becomes another one meanwhile. What the first one waits for may be told in other words.
 */
static void a_process_starts_when_its_parent_starts_it(void **state)
{
	(void)state;
	static char text[] = "time_ns,pid,tid,event,what,object,value,flags\n"
			     "0,1,1,start,,,,\n"
			     "10000,1,1,wait,io,,6,\n"
			     "10000,2,2,start,,,1,\n"
			     "20000,3,3,start,,,2,\n"
			     "20000,2,2,wait,io,,6,\n"
			     "30000,3,3,start,,,2,\n"
			     "60000,3,3,exit,,,,\n"
			     "60000,2,2,pass,io,,6,waited\n"
			     "61000,2,2,exit,,,,\n"
			     "61000,1,1,pass,io,,6,waited\n"
			     "71000,1,1,exit,,,,\n";
	static const enum event_io waits[] = { EVENT_IO_CHILD, EVENT_IO_SIGNAL, EVENT_IO_UNKNOWN };
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		*(strstr(text, "wait,io,,") + strlen("wait,io,,")) = (char)('0' + waits[i]);
		struct fixture f = load(text, 1);
		struct replay_change change = { { .kind = REPLAY_THREAD, .pid = 1, .number = 1 },
			10 };
		struct replay_facts facts;
		replay_facts(f.replay, &facts);
		assert_int_equal(facts.threads, 3);
		assert_int_equal(play(&f, 1, NULL, 0), 71000);
		assert_int_equal(play(&f, 1, &change, 1), 53000);
		change.target.pid = change.target.number = 3;
		assert_int_equal(play(&f, 1, &change, 1), 35000);
		release(&f);
	}
}

/* Both children work from the start, for 20 and 30 us; when the first wait begins one is over. */
static void children_that_were_over_are_waited_for(void **state)
{
	(void)state;
	static const char text[] = "time_ns,pid,tid,event,what,object,value,flags\n"
				   "0,1,1,start,,,,\n"
				   "0,2,2,start,,,1,\n"
				   "0,3,3,start,,,1,\n"
				   "20000,2,2,exit,,,,\n"
				   "30000,1,1,wait,io,,6,\n"
				   "30000,1,1,pass,io,,6,waited\n"
				   "30000,1,1,wait,io,,6,\n"
				   "30000,3,3,exit,,,,\n"
				   "30000,1,1,pass,io,,6,waited\n"
				   "30000,1,1,exit,,,,\n";
	struct fixture f = load(text, 3);
	struct replay_change slower = { { .kind = REPLAY_THREAD, .pid = 2, .number = 2 }, 0.5 };
	assert_int_equal(play(&f, 3, NULL, 0), 30000);
	assert_int_equal(play(&f, 3, &slower, 1), 40000);
	release(&f);
}

static void sections_of_a_lock_follow_one_another(void **state)
{
	(void)state;
	struct fixture f = load(locked, 2);
	struct replay_change change = { lock_named(0), 3 };
	assert_int_equal(play(&f, 2, NULL, 0), 70000000);
	assert_int_equal(play(&f, 1, NULL, 0), 80000000);
	assert_int_equal(play(&f, 2, &change, 1), 30000000); /* 10 + 10 + 10 */
	change.factor = 0;
	assert_int_equal(play(&f, 2, &change, 1), 40000000); /* side by side */
	release(&f);
}

/* The order in which threads get the lock is decided anew: b comes first when a is slow. */
static void order_of_a_lock_is_not_frozen(void **state)
{
	(void)state;
	struct fixture f = load(locked, 2);
	struct replay_change change = speed_of(0, 0.25);
	/* a reaches the lock at 40 ms, when b gives it back, and holds it for 120 ms */
	assert_int_equal(play(&f, 2, &change, 1), 160000000);
	release(&f);
}

static void a_site_is_the_code_before_a_call(void **state)
{
	(void)state;
	struct fixture f = load(locked, 2);
	struct replay_target site;
	size_t count = 0;
	while (replay_site(f.replay, count, &site))
		count++;
	assert_int_equal(count, 2);
	struct replay_change change = { { .kind = REPLAY_SITE, .pid = 1, .number = 1 }, 10 };
	assert_int_equal(play(&f, 2, &change, 1), 61000000);
	change.target.number = 2;
	assert_int_equal(play(&f, 2, &change, 1), 16000000);
	release(&f);
}

/* The last to come does not wait: who that is may change. */
static void a_barrier_waits_for_all(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,a,start,,,,,\n"
					"0,b,start,,,,,\n"
					"10000000,a,wait,barrier,round,,,\n"
					"30000000,b,pass,barrier,round,,,\n"
					"30000000,a,pass,barrier,round,,,waited\n"
					"40000000,a,exit,,,,,\n"
					"60000000,b,exit,,,,,\n";
	struct fixture f = load(text, 2);
	assert_int_equal(play(&f, 2, NULL, 0), 60000000);
	struct replay_change change = speed_of(1, 6);
	assert_int_equal(play(&f, 2, &change, 1), 20000000); /* b: 5, waits until 10, 5 */
	release(&f);
}

/* Sleeps stay as long as they were, whatever the cores. */
static void sleeps_take_no_core(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,a,start,,,,,\n"
					"0,b,start,,,,,\n"
					"10000000,a,wait,sleep,,,,\n"
					"50000000,a,pass,sleep,,,,waited\n"
					"60000000,a,exit,,,,,\n"
					"60000000,b,exit,,,,,\n";
	struct fixture f = load(text, 2);
	assert_int_equal(play(&f, 2, NULL, 0), 60000000);
	/* On one core: b's 60 ms and a's first 10 ms, and perhaps a's last 10 ms. */
	uint64_t ns = play(&f, 1, NULL, 0);
	assert_in_range(ns, 79000000, 81000000);
	release(&f);
}

/*
 * A producer (10 ms an item) and a consumer (5 ms an item), by a mutex and a condition, eight items; the
 * consumer waited for each. With a consumer ten times as slow none of its sections waits but the first.
 */
static void add_wait(struct strbuf *text, uint64_t t)
{
	strbuf_addf(text, "%" PRIu64 ",user,release,mutex,m,7,,implicit\n", t);
	strbuf_addf(text, "%" PRIu64 ",user,wait,cond,c,7,m,\n", t);
}

/* With a time limit of 1 ms, again and again. */
static void add_queue_of(struct strbuf *text, uint64_t timeouts)
{
	strbuf_add(text, HEAD "0,maker,start,,,,,\n0,user,start,,,,,\n"
			      "0,user,pass,mutex,m,7,,\n");
	add_wait(text, 0);
	for (uint64_t i = 1; i <= 8; i++) {
		uint64_t t = i * 10000000 - (i == 1 ? 10000000 : 5000000);
		for (uint64_t k = 1; k <= timeouts; k++) {
			t += 1000000;
			strbuf_addf(text, "%" PRIu64 ",user,pass,cond,c,7,,waited|timed_out\n", t);
			strbuf_addf(text, "%" PRIu64 ",user,pass,mutex,m,7,,implicit\n", t);
			add_wait(text, t);
		}
		t = i * 10000000;
		strbuf_addf(text, "%" PRIu64 ",maker,pass,mutex,m,8,,\n", t);
		strbuf_addf(text, "%" PRIu64 ",maker,release,cond,c,9,,\n", t);
		strbuf_addf(text, "%" PRIu64 ",maker,release,mutex,m,9,,\n", t);
		strbuf_addf(text, "%" PRIu64 ",user,pass,cond,c,7,maker,waited\n", t);
		strbuf_addf(text, "%" PRIu64 ",user,pass,mutex,m,7,,implicit\n", t);
		strbuf_addf(text, "%" PRIu64 ",user,release,mutex,m,7,,\n", t);
		t += 5000000;
		if (i == 8) {
			strbuf_addf(text, "%" PRIu64 ",user,exit,,,,,\n", t);
			break;
		}
		strbuf_addf(text, "%" PRIu64 ",user,pass,mutex,m,7,,\n", t);
		add_wait(text, t);
	}
}

static void add_queue(struct strbuf *text)
{
	add_queue_of(text, 0);
}

static void check_queue_of(uint64_t timeouts)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_queue_of(&text, timeouts);
	assert_int_equal(strbuf_failed(&text), 0);
	struct fixture f = load(text.text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_int_equal(facts.by_order, 0);
	assert_int_equal(play(&f, 2, NULL, 0), 85000000);
	struct replay_change change = speed_of(1, 0.1);
	assert_int_equal(play(&f, 2, &change, 1), 10000000 + 8 * 50000000);
	change.factor = 5;
	assert_int_equal(play(&f, 2, &change, 1), 81000000);
	change.target.number = 4000000; /* the maker: then the user is the slower one */
	assert_int_equal(play(&f, 2, &change, 1), 2000000 + 8 * 5000000);
	release(&f);
}

static void items_are_waited_for_not_wake_ups(void **state)
{
	(void)state;
	check_queue_of(0);
}

/* Who waits on when its time has run out waits for the item. */
static void items_are_waited_for_whatever_times_out(void **state)
{
	(void)state;
	check_queue_of(1);
	check_queue_of(3);
}

/* The user takes two items and waits for a third, which never comes: it ends there. */
static void who_waited_for_ever_ends_there(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, HEAD "0,maker,start,,,,,\n0,user,start,,,,,\n");
	for (uint64_t i = 0; i <= 2; i++) {
		uint64_t t = i * 10000000;
		strbuf_addf(&text, "%" PRIu64 ",user,pass,mutex,m,7,,\n", t);
		strbuf_addf(&text, "%" PRIu64 ",user,release,mutex,m,7,,implicit\n", t);
		strbuf_addf(&text, "%" PRIu64 ",user,wait,cond,c,7,m,\n", t);
		if (i == 2)
			break;
		t += 10000000;
		strbuf_addf(&text, "%" PRIu64 ",maker,pass,mutex,m,8,,\n", t);
		strbuf_addf(&text, "%" PRIu64 ",maker,release,cond,c,9,,\n", t);
		strbuf_addf(&text, "%" PRIu64 ",maker,release,mutex,m,9,,\n", t);
		strbuf_addf(&text, "%" PRIu64 ",user,pass,cond,c,7,maker,waited\n", t);
		strbuf_addf(&text, "%" PRIu64 ",user,pass,mutex,m,7,,implicit\n", t);
		strbuf_addf(&text, "%" PRIu64 ",user,release,mutex,m,7,,\n", t);
	}
	strbuf_add(&text, "30000000,maker,exit,,,,,\n");
	assert_int_equal(strbuf_failed(&text), 0);
	struct fixture f = load(text.text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_int_equal(facts.unended, 1);
	assert_int_equal(facts.by_order, 0);
	assert_int_equal(play(&f, 2, NULL, 0), 30000000);
	release(&f);
}

/* Without a meaning the recorded signal is waited for, and nothing hangs. */
static void unknown_conditions_keep_their_order(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_queue(&text);
	struct fixture f = load_as_recorded(text.text, 2);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_int_equal(facts.conditions, 8);
	assert_int_equal(facts.by_order, 8);
	assert_int_equal(play(&f, 2, NULL, 0), 85000000);
	assert_int_equal(play(&f, 1, NULL, 0), 85000000 + 35000000);
	release(&f);
}

static void a_lock_of_a_condition_cannot_be_left_out(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_queue(&text);
	struct fixture f = load(text.text, 2);
	struct replay_target target = lock_named(0);
	struct replay_change change = { target, 0 };
	struct err err = { "" };
	uint64_t ns = 1;
	assert_false(replay_can_leave_out(f.replay, &target));
	struct replay_run run = { .changes = &change, .change_count = 1 };
	assert_int_equal(replay_run(f.replay, &run, &ns, &err), -EINVAL);
	assert_int_equal(ns, 1);
	release(&f);
}

static void only_locks_whose_holders_are_known_can_be_changed(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "10,a,pass,rwlock,7,1,,\n"
				     "20,a,release,rwlock,7,1,,\n"
				     "30,a,pass,sem,7,1,,\n"
				     "40,a,exit,,,,,\n",
		1);
	struct replay_target target = {
		.kind = REPLAY_LOCK, .what = WHAT_RWLOCK, .pid = 1, .number = 7
	};
	assert_true(replay_can_leave_out(f.replay, &target));
	assert_true(replay_can_speed_up(f.replay, &target));
	target.what = WHAT_SEM;
	assert_false(replay_can_leave_out(f.replay, &target));
	assert_false(replay_can_speed_up(f.replay, &target));
	target.what = WHAT_MUTEX; /* there is none */
	assert_false(replay_can_leave_out(f.replay, &target));
	assert_false(replay_can_speed_up(f.replay, &target));
	release(&f);
}

/* What is not possible in a program is in files: it must not end the replay. */
static void impossible_events_are_left_out(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,a,release,mutex,m,,,\n"
					"5,a,pass,mutex,m,,,\n"
					"6,a,pass,mutex,m,,,\n"
					"7,b,release,mutex,m,,,\n"
					"8,b,wait,cond,c,,m,\n"
					"9,a,exit,,,,,\n"
					"9,a,pass,mutex,m,,,\n"
					"10,c,wait,join,x,,a,\n"
					"11,b,pass,barrier,z,,,\n";
	struct fixture f = load(text, 2);
	assert_int_equal(play(&f, 2, NULL, 0), play(&f, 2, NULL, 0));
	release(&f);
}

static void replays_repeat_and_vary_with_the_seed(void **state)
{
	(void)state;
	struct fixture f = load(locked, 2);
	uint64_t ns[3];
	for (size_t i = 0; i < 3; i++) {
		struct replay_run run = { .cores = 2, .seed = i < 2 ? 5 : 6 };
		assert_int_equal(replay_run(f.replay, &run, &ns[i], NULL), 0);
	}
	assert_int_equal(ns[0], ns[1]);
	assert_int_not_equal(ns[0], ns[2]);
	assert_in_range(ns[2], 69000000, 71000000);
	release(&f);
}

static void intervals_hold_the_error_and_the_span(void **state)
{
	(void)state;
	uint64_t low, high;
	struct replay_spread spread = { -0.25, 1500, 1500, 1000, 2000 };
	replay_interval(&spread, &low, &high);
	assert_in_range(low, 765, 766); /* 1000 / 1.25 / 1.045: one run and another differ */
	assert_in_range(high, 2612, 2613);
	/* Four times as fast, or as slow: 2 - 1/2 is the size of that, and a quarter of it unsure. */
	spread = (struct replay_spread){ 0, 1600, 400, 400, 400 };
	replay_interval(&spread, &low, &high);
	assert_in_range(low, 278, 279);
	assert_in_range(high, 574, 575);
	spread = (struct replay_spread){ 0, 400, 1600, 1600, 1600 };
	replay_interval(&spread, &low, &high);
	assert_in_range(low, 1113, 1114);
	assert_in_range(high, 2298, 2299);
}

/* What is emitted is a timeline of the recorded names that replays to the same end. */
static int count_event(void *context, const struct event *event, struct err *err)
{
	(void)err;
	uint64_t *last = context;
	assert_true(event->time_ns >= last[0]);
	last[0] = event->time_ns;
	if (event->kind == EVENT_PASS && event->what == WHAT_MUTEX)
		assert_int_equal(event->object, UINT64_C(1) << 60);
	if (event->kind == EVENT_THREAD_EXIT)
		last[1] += event->tid;
	return 0;
}

static void events_are_the_recordings(void **state)
{
	(void)state;
	struct fixture f = load(locked, 2);
	uint64_t last[2] = { 0 }, ns;
	struct event_sink sink = { .context = last, .event = count_event };
	struct replay_run run = { .cores = 2, .sink = &sink };
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(last[0], 70000000);
	assert_int_equal(last[1], 4000000 + 4000001);
	release(&f);
}

struct steered {
	struct sim *sim;
	uint32_t runs, started;
};

static int begin_fast(void *context, struct sim *sim)
{
	struct steered *steered = context;
	steered->sim = sim;
	for (uint32_t core = 0; core < 4; core++)
		assert_int_equal(sim_set_speed(sim, core, 2), 0);
	return 0;
}

/* From when the first child has a core on, cores are no faster than in the recording. */
static int slow_down(void *context, const struct event *event, struct err *err)
{
	(void)err;
	struct steered *steered = context;
	steered->started += event->kind == EVENT_THREAD_START;
	steered->runs += event->kind == EVENT_RUN;
	for (uint32_t core = 0; event->kind == EVENT_RUN && steered->runs == 2 && core < 4; core++)
		assert_int_equal(sim_set_speed(steered->sim, core, 1), 0);
	return 0;
}

static void a_replay_can_be_steered(void **state)
{
	(void)state;
	struct fixture f = load(amdahl, 4);
	struct steered steered = { 0 };
	struct event_sink sink = { .context = &steered, .event = slow_down };
	struct replay_run run = { .cores = 4, .begin = begin_fast, .begin_context = &steered };
	uint64_t ns = 0;
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 20000000);
	/* Main at speed 2, then its children at 1. Each that starts is seen to get a core. */
	run.sink = &sink;
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 30000000);
	assert_int_equal(steered.started, 5);
	assert_true(steered.runs >= 5);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_divide_the_parallel_part),
		cmocka_unit_test(time_begins_with_the_first_thread),
		cmocka_unit_test(a_faster_thread_takes_its_part_of_the_time),
		cmocka_unit_test(threads_keep_to_their_cores),
		cmocka_unit_test(who_is_joined_may_have_ended_first),
		cmocka_unit_test(who_waits_for_a_process_waits_for_its_end),
		cmocka_unit_test(a_process_starts_when_its_parent_starts_it),
		cmocka_unit_test(children_that_were_over_are_waited_for),
		cmocka_unit_test(sections_of_a_lock_follow_one_another),
		cmocka_unit_test(order_of_a_lock_is_not_frozen),
		cmocka_unit_test(a_site_is_the_code_before_a_call),
		cmocka_unit_test(a_barrier_waits_for_all),
		cmocka_unit_test(sleeps_take_no_core),
		cmocka_unit_test(items_are_waited_for_not_wake_ups),
		cmocka_unit_test(items_are_waited_for_whatever_times_out),
		cmocka_unit_test(who_waited_for_ever_ends_there),
		cmocka_unit_test(unknown_conditions_keep_their_order),
		cmocka_unit_test(a_lock_of_a_condition_cannot_be_left_out),
		cmocka_unit_test(only_locks_whose_holders_are_known_can_be_changed),
		cmocka_unit_test(impossible_events_are_left_out),
		cmocka_unit_test(replays_repeat_and_vary_with_the_seed),
		cmocka_unit_test(intervals_hold_the_error_and_the_span),
		cmocka_unit_test(events_are_the_recordings),
		cmocka_unit_test(a_replay_can_be_steered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
