/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locks that are taken in the recorded order, what becomes of replays that come to a deadlock, and how many a semaphore had at first. */
#include "replay_fixture.h"

#include "base/mem.h"
#include "base/strbuf.h"

#include <errno.h>

/*
 * b waits twice in one section, and takes the lock k in between: the first wait was not in vain, and b does not have the
 * lock m meanwhile, nor k, which main has for 0.7 ms.
 */
static void who_took_a_lock_between_two_waits_had_waited(void **state)
{
	(void)state;
	struct fixture f = load_as_recorded(HEAD "0,main,start,,,,,\n"
						 "0,b,start,,,,main,\n"
						 "0,b,pass,mutex,m,1,,\n"
						 "10000,b,wait,cond,c,2,m,\n"
						 "200000,main,pass,mutex,k,3,,\n"
						 "900000,main,release,mutex,k,,,\n"
						 "1000000,main,pass,mutex,m,4,,\n"
						 "1000000,main,release,cond,c,5,,\n"
						 "1000000,main,release,mutex,m,,,\n"
						 "1000000,b,pass,cond,c,2,main,waited\n"
						 "1020000,b,pass,mutex,k,6,,\n"
						 "1500000,b,release,mutex,k,,,\n"
						 "1500000,b,wait,cond,c,2,m,\n"
						 "2500000,main,pass,mutex,m,7,,\n"
						 "2500000,main,release,cond,c,8,,\n"
						 "2500000,main,release,mutex,m,,,\n"
						 "2500000,main,exit,,,,,\n"
						 "2500000,b,pass,cond,c,2,main,waited\n"
						 "3000000,b,release,mutex,m,,,\n"
						 "3000000,b,exit,,,,,\n",
		2);
	assert_int_equal(play(&f, 2, NULL, 0), 3000000);
	release(&f);
}

/* a takes x, and then y; b takes y, and then x, if it is free. BEFORE: what came to pass in the first 10 ms. */
#define IN_BOTH_ORDERS(BEFORE)                                                                     \
	HEAD "0,a,start,,,,,\n"                                                                    \
	     "0,b,start,,,,,\n" BEFORE "10000000,a,pass,mutex,x,1,,\n"                             \
	     "20000000,a,pass,mutex,y,2,,\n"                                                       \
	     "30000000,a,release,mutex,y,3,,\n"                                                    \
	     "30000000,a,release,mutex,x,4,,\n"                                                    \
	     "30000000,a,exit,,,,,\n"                                                              \
	     "35000000,b,pass,mutex,y,5,,\n"                                                       \
	     "40000000,b,pass,mutex,x,6,,tried\n"                                                  \
	     "50000000,b,release,mutex,x,7,,\n"                                                    \
	     "50000000,b,release,mutex,y,8,,\n"                                                    \
	     "50000000,b,exit,,,,,\n"

/* The second time, b tried in vain and looked again before, as a loop of tries does, but went on to something else: that is no lock. */
static void who_tries_goes_on_without_the_lock(void **state)
{
	(void)state;
	static const char *const texts[] = { IN_BOTH_ORDERS(""),
		IN_BOTH_ORDERS("0,a,pass,mutex,z,1,,\n"
			       "4000000,b,try_failed,mutex,z,6,,\n"
			       "5000000,b,wait,mutex,z,6,,\n"
			       "5000000,b,pass,mutex,z,6,,waited|timed_out\n"
			       "10000000,a,release,mutex,z,1,,\n") };
	struct replay_change b_faster = speed_of(1, 2);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fixture f = load(texts[i], 2);
		assert_int_equal(play(&f, 2, NULL, 0), 50000000);
		/* a waits for y from 20 to 25 */
		assert_int_equal(play(&f, 2, &b_faster, 1), 35000000);
		release(&f);
	}
}

/* b tries to have x, first when it is free, then when c has it. ASKS: how it waits then, at SITE. */
#define TRIES_TWICE(ASKS, SITE)                                                                    \
	HEAD "0,a,start,,,,,\n"                                                                    \
	     "0,b,start,,,,,\n"                                                                    \
	     "0,a,pass,mutex,x,1,,\n"                                                              \
	     "10000000,a,release,mutex,x,4,,\n"                                                    \
	     "10000000,a,exit,,,,,\n"                                                              \
	     "15000000,b,pass,mutex,x,6,,tried\n"                                                  \
	     "20000000,b,release,mutex,x,7,,\n"                                                    \
	     "25000000,c,start,,,,b,\n"                                                            \
	     "25000000,c,pass,mutex,x,1,,\n" ASKS "35000000,c,release,mutex,x,4,,\n"               \
	     "35000000,c,exit,,,,,\n"                                                              \
	     "35000000,b,pass,mutex,x," SITE ",c,waited\n"                                         \
	     "40000000,b,release,mutex,x,7,,\n"                                                    \
	     "40000000,b,exit,,,,,\n"

/* It looks again and again until it has x, or locks it behind a try in vain: when a has x longer, it waits the first time, too. */
static void who_tries_until_it_has_the_lock_waits(void **state)
{
	(void)state;
	static const char *const texts[] = { TRIES_TWICE("30000000,b,wait,mutex,x,6,,\n", "6"),
		TRIES_TWICE("30000000,b,try_failed,mutex,x,6,,\n"
			    "30000000,b,wait,mutex,x,8,,\n",
			"8") };
	struct replay_change a_slower = speed_of(0, 0.5);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fixture f = load(texts[i], 2);
		assert_int_equal(play(&f, 2, NULL, 0), 40000000);
		assert_int_equal(play(&f, 2, &a_slower, 1), 45000000); /* b has x from 20 on */
		release(&f);
	}
}

/* b waits for c with the mutex that it got by a try: so it has to have it, also when a has it until 20. */
static void who_waits_with_a_mutex_has_it(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,b,start,,,,,\n"
				     "0,a,pass,mutex,x,1,,\n"
				     "10000000,a,release,mutex,x,4,,\n"
				     "15000000,b,pass,mutex,x,6,,tried\n"
				     "20000000,b,wait,cond,c,7,x,\n"
				     "30000000,a,pass,mutex,x,1,,\n"
				     "30000000,a,release,cond,c,2,,\n"
				     "30000000,a,release,mutex,x,4,,\n"
				     "30000000,a,exit,,,,,\n"
				     "30000000,b,pass,cond,c,7,a,waited\n"
				     "35000000,b,release,mutex,x,7,,\n"
				     "35000000,b,exit,,,,,\n",
		2);
	struct replay_change a_slower = speed_of(0, 0.5);
	assert_int_equal(play(&f, 2, NULL, 0), 35000000);
	assert_int_equal(play(&f, 2, &a_slower, 1), 65000000);
	release(&f);
}

/* b comes to the ordered section 20 ms before a, whose turn it is; 10 ms each. */
static void ordered_sections_keep_their_order(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,b,start,,,,,\n"
				     "10000000,b,wait,mutex,loop,1,,\n"
				     "30000000,a,pass,mutex,loop,1,,ordered\n"
				     "40000000,a,release,mutex,loop,2,,\n"
				     "40000000,a,exit,,,,,\n"
				     "40000000,b,pass,mutex,loop,1,,waited|ordered\n"
				     "50000000,b,release,mutex,loop,2,,\n"
				     "50000000,b,exit,,,,,\n",
		2);
	struct replay_change a_faster = speed_of(0, 2), b_faster = speed_of(1, 2);
	assert_int_equal(play(&f, 2, NULL, 0), 50000000);
	assert_int_equal(play(&f, 2, &a_faster, 1), 30000000); /* 15 + 5 + 10 */
	assert_int_equal(play(&f, 2, &b_faster, 1), 45000000); /* 30 + 10 + 5 */
	assert_int_equal(play(&f, 1, NULL, 0), 60000000);
	release(&f);
}

/* While a waits for the condition it has given the mutex back: b's turn came when a had taken it. */
static void a_turn_is_over_where_a_condition_is_waited_for(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,b,start,,,,,\n"
				     "10000000,a,pass,mutex,m,1,,ordered\n"
				     "10000000,a,release,mutex,m,1,,implicit\n"
				     "10000000,a,wait,cond,c,1,m,\n"
				     "20000000,b,pass,mutex,m,2,,ordered\n"
				     "30000000,b,release,cond,c,2,,\n"
				     "30000000,b,release,mutex,m,2,,\n"
				     "30000000,a,pass,cond,c,1,b,waited\n"
				     "30000000,a,pass,mutex,m,1,,implicit\n"
				     "30000000,b,exit,,,,,\n"
				     "40000000,a,release,mutex,m,1,,\n"
				     "40000000,a,exit,,,,,\n",
		2);
	struct replay_change slow = speed_of(0, 0.5);
	assert_int_equal(play(&f, 2, NULL, 0), 40000000);
	assert_int_equal(play(&f, 2, &slow, 1), 50000000); /* a: 20, b: 10, a: 20 */
	release(&f);
}

/* a posts what b waits for while holding the lock: had b come first, both would wait for ever. */
static const char crossed[] = HEAD "0,a,start,,,,,\n"
				   "0,b,start,,,,,\n"
				   "10000000,a,pass,mutex,lock,1,,\n"
				   "20000000,a,release,sem,given,1,,\n"
				   "20000000,a,release,mutex,lock,1,,\n"
				   "20000000,a,exit,,,,,\n"
				   "30000000,b,pass,mutex,lock,1,,\n"
				   "30000000,b,pass,sem,given,1,,\n"
				   "40000000,b,release,mutex,lock,1,,\n"
				   "40000000,b,exit,,,,,\n";

static void a_deadlock_is_told_in_the_recordings_names(void **state)
{
	(void)state;
	struct fixture f = load(crossed, 2);
	struct replay_change slow = speed_of(0, 0.25);
	struct replay_run run = { .changes = &slow, .change_count = 1 };
	struct err err;
	uint64_t ns = 0;
	assert_int_equal(replay_run(f.replay, &run, &ns, &err), -EDEADLK);
	assert_string_equal(err.text, "deadlock at 0.040000000 s: thread 1 'a' waits for mutex "
				      "'lock', which thread 2 'b' holds; "
				      "thread 2 'b' waits for semaphore 'given'");
	release(&f);
}

static void a_replay_settles_for_the_recorded_order(void **state)
{
	(void)state;
	struct fixture f = load(crossed, 2);
	struct replay_change slow = speed_of(0, 0.25);
	struct replay_run run = { .changes = &slow, .change_count = 1 };
	struct replay_facts facts;
	uint64_t ns = 0;
	uint32_t meaning;
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), -EDEADLK);
	assert_false(replay_stuck(f.replay, 0, &meaning));
	assert_true(replay_settle(f.replay));
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 90000000); /* a: 40 + 40, then b: 10 */
	replay_facts(f.replay, &facts);
	assert_int_equal(facts.in_turns, 2);
	assert_false(replay_settle(f.replay));
	release(&f);
}

/* main takes the lock and joins a, which needed it before. */
static void who_joins_gives_its_mutex_back_meanwhile(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,main,start,,,,,\n"
				     "0,a,start,,,,main,\n"
				     "5000000,a,pass,mutex,lock,1,,\n"
				     "10000000,a,release,mutex,lock,1,,\n"
				     "10000000,a,exit,,,,,\n"
				     "20000000,main,pass,mutex,lock,1,,\n"
				     "20000000,main,wait,join,a,1,a,\n"
				     "20000000,main,pass,join,a,1,a,waited\n"
				     "30000000,main,release,mutex,lock,1,,\n"
				     "30000000,main,exit,,,,,\n",
		2);
	struct replay_change slow = speed_of(1, 0.1);
	assert_int_equal(play(&f, 2, NULL, 0), 30000000);
	assert_int_equal(play(&f, 2, &slow, 1), 110000000); /* a: 50 + 50, then main: 10 */
	release(&f);
}

/* b meets a, then c. Slow, it comes when these two have met one another. */
static void a_barrier_that_nobody_else_comes_to_is_none(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,b,start,,,,,\n"
				     "0,c,start,,,,,\n"
				     "10000000,a,wait,barrier,met,1,,\n"
				     "20000000,b,pass,barrier,met,1,,\n"
				     "20000000,a,pass,barrier,met,1,,waited\n"
				     "20000000,a,exit,,,,,\n"
				     "30000000,c,wait,barrier,met,1,,\n"
				     "40000000,b,pass,barrier,met,1,,\n"
				     "40000000,c,pass,barrier,met,1,,waited\n"
				     "40000000,c,exit,,,,,\n"
				     "40000000,b,exit,,,,,\n",
		3);
	struct replay_change slow = speed_of(1, 0.1);
	struct replay_run run = { .changes = &slow, .change_count = 1 };
	uint64_t ns = 0;
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), -EDEADLK);
	assert_true(replay_settle(f.replay));
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(ns, 400000000);
	release(&f);
}

/*
 * x, woken at 6 ms, takes two locks at once on an idle core and has given them back when w takes them the other way
 * round. Had it to wait for the core that it had, where z runs, until the tick at 8 ms, both would wait for ever.
 */
static void what_one_way_of_waking_needs_holds_for_both(void **state)
{
	(void)state;
	static const char text[] = WORK_HEAD "0,x,1,start,,,,,\n"
					     "0,y,1,start,,,,,\n"
					     "0,w,1,start,,,,,\n"
					     "1000000,x,1000000,wait,sem,s,,,\n"
					     "2000000,z,1,start,,,,y,\n"
					     "4000000,y,4000000,exit,,,,,\n"
					     "6000000,z,4000000,release,sem,s,,,\n"
					     "6000001,x,,woken,sem,s,,,\n"
					     "6000001,x,1000000,pass,sem,s,,,waited\n"
					     "6000001,x,1000000,pass,mutex,a,,,\n"
					     "7000000,x,2000000,pass,mutex,b,,,\n"
					     "7500000,x,2500000,release,mutex,b,,,\n"
					     "7500000,x,2500000,release,mutex,a,,,\n"
					     "7500000,x,2500000,exit,,,,,\n"
					     "8400000,w,8400000,pass,mutex,b,,,\n"
					     "8600000,w,8600000,pass,mutex,a,,,\n"
					     "8800000,w,8800000,release,mutex,a,,,\n"
					     "8800000,w,8800000,release,mutex,b,,,\n"
					     "8800000,w,8800000,exit,,,,,\n"
					     "14000000,z,12000000,exit,,,,,\n";
	struct fixture f = load(text, 3);
	struct replay_facts facts;
	replay_facts(f.replay, &facts);
	assert_false(facts.wakes_in_place);
	assert_int_equal(facts.in_turns, 2);
	assert_in_range(play(&f, 3, NULL, 0), 14000000, 14000100);
	release(&f);
}

/* The thread that sleeps first. */
static int note_sleeper(void *context, const struct event *event, struct err *err)
{
	uint32_t *tid = context;
	(void)err;
	if (event->kind == EVENT_WAIT && event->what == WHAT_SLEEP && *tid == 0)
		*tid = event->tid;
	return 0;
}

/*
 * Two regions of b and c, which a begins. In the first one c sleeps, in the second one b does. On one core b comes to the
 * end of the first while c waits for the core: it does not begin the second with what began the first one for c.
 */
static void a_region_is_begun_once_by_each_thread(void **state)
{
	(void)state;
	struct fixture f = load("time_ns,tid,event,what,object,value,woken_ns,flags\n"
				"0,a,start,,,,,\n"
				"0,b,start,,,a,,\n"
				"0,c,start,,,a,,\n"
				"0,a,wait,barrier,end,,,\n"
				"1000000,b,wait,barrier,end,,,\n"
				"9000000,c,wait,barrier,end,,,\n"
				"9000001,a,pass,barrier,end,c,9000000,waited\n"
				"12000000,b,woken,barrier,end,a,,\n"
				"12000000,c,woken,barrier,end,a,,\n"
				"12000001,a,wait,barrier,end,,,\n"
				"12000001,b,pass,barrier,end,a,12000000,waited\n"
				"12000001,c,pass,barrier,end,a,12000000,waited\n"
				"12100000,b,wait,barrier,end,,,\n"
				"13000000,c,wait,sleep,,,,\n"
				"23000000,c,pass,sleep,,,,waited\n"
				"23000000,c,wait,barrier,end,,,\n"
				"23000001,a,pass,barrier,end,c,23000000,waited\n"
				"24000000,b,woken,barrier,end,a,,\n"
				"24000000,c,woken,barrier,end,a,,\n"
				"24000001,a,wait,barrier,end,,,\n"
				"24000001,b,pass,barrier,end,a,24000000,waited\n"
				"24000001,b,wait,sleep,,,,\n"
				"24000001,c,pass,barrier,end,a,24000000,waited\n"
				"24000001,c,wait,barrier,end,,,\n"
				"32000000,b,pass,sleep,,,,waited\n"
				"32000000,b,wait,barrier,end,,,\n"
				"32000001,a,pass,barrier,end,b,32000000,waited\n"
				"32000002,a,exit,,,,,\n",
		3);
	uint32_t sleeper = 0;
	struct event_sink sink = { .context = &sleeper, .event = note_sleeper };
	struct replay_run run = { .cores = 1, .sink = &sink };
	uint64_t ns;
	assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
	assert_int_equal(sleeper, 4000002);
	release(&f);
}

/* x and y wait at one condition, for one another as far as is known; each computes for 10 ms, y twice. */
static void whether_an_unknown_order_is_needed_is_guessed(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,x,start,,,,,\n"
					"0,y,start,,,,,\n"
					"0,x,pass,mutex,m,1,,\n"
					"0,x,release,mutex,m,1,,implicit\n"
					"0,x,wait,cond,c,1,m,\n"
					"10000000,y,pass,mutex,m,2,,\n"
					"10000000,y,release,cond,c,2,,all\n"
					"10000000,y,release,mutex,m,2,,implicit\n"
					"10000000,y,wait,cond,c,2,m,\n"
					"10000000,x,pass,cond,c,1,y,waited\n"
					"10000000,x,pass,mutex,m,1,,implicit\n"
					"10000000,x,release,mutex,m,1,,\n"
					"20000000,x,pass,mutex,m,3,,\n"
					"20000000,x,release,cond,c,3,,all\n"
					"20000000,x,release,mutex,m,3,,\n"
					"20000000,x,exit,,,,,\n"
					"20000000,y,pass,cond,c,2,x,waited\n"
					"20000000,y,pass,mutex,m,2,,implicit\n"
					"20000000,y,release,mutex,m,2,,\n"
					"30000000,y,exit,,,,,\n";
	struct fixture f = load_as_recorded(text, 2);
	static const struct {
		uint32_t cores;
		uint64_t seed, least_ns, most_ns;
	} cases[] = {
		{ 2, 0, 29700000, 30300000 },
		{ 2, 4, 29700000, 30300000 },
		{ 3, 0, 20000000, 20000000 },
		{ 3, 4, 29700000, 30300000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t ns;
		struct replay_run run = { .cores = cases[i].cores, .seed = cases[i].seed };
		assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
		assert_in_range(ns, cases[i].least_ns, cases[i].most_ns);
	}
	release(&f);
}

/* b, on another core, took the only permit 25 ns before a was seen to give it back. */
static void a_semaphore_has_what_its_program_said(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,b,start,,,,,\n"
				     "0,a,init,sem,s,1,2,\n"
				     "10000000,a,pass,sem,s,1,,\n"
				     "19999975,b,pass,sem,s,2,,\n"
				     "20000000,a,release,sem,s,1,,\n"
				     "20000000,a,exit,,,,,\n"
				     "30000000,b,release,sem,s,2,,\n"
				     "30000000,b,exit,,,,,\n",
		2);
	struct replay_change slow = speed_of(0, 0.5);
	assert_int_equal(play(&f, 2, &slow, 1), 50000000); /* b until 30, a 20 more */
	release(&f);
}

/* Each takes it for 10 ms; `poster` gives back what b took. */
static struct fixture load_permits(const char *poster)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text,
		HEAD "0,a,start,,,,,\n"
		     "0,b,start,,,,,\n"
		     "0,a,init,sem,s,1,2,\n"
		     "10000000,a,pass,sem,s,1,,\n"
		     "20000000,a,release,sem,s,1,,\n"
		     "20000000,b,pass,sem,s,2,,\n"
		     "30000000,%s,release,sem,s,2,,\n"
		     "30000000,a,exit,,,,,\n"
		     "30000000,b,exit,,,,,\n",
		poster);
	return load(text.text, 2);
}

static void a_semaphore_is_a_lock_for_those_who_give_it_back(void **state)
{
	(void)state;
	struct replay_target permits = {
		.kind = REPLAY_LOCK, .what = WHAT_SEM, .pid = 1, .number = UINT64_C(1) << 60
	};
	struct fixture lock = load_permits("b"), signal = load_permits("a");
	struct replay_change fast = { permits, 2 }, gone = { permits, 0 };
	assert_true(replay_can_speed_up(lock.replay, &permits));
	assert_false(replay_can_speed_up(signal.replay, &permits));
	assert_int_equal(play(&lock, 2, &fast, 1), 25000000); /* a 10 to 15 of 25, b 20 to 25 */
	assert_int_equal(play(&lock, 2, &gone, 1), 30000000);
	release(&lock);
	release(&signal);
}

/* Nobody saw who posted the two that were taken beyond that. */
static void what_was_taken_was_there(void **state)
{
	(void)state;
	struct fixture f = load(HEAD "0,a,start,,,,,\n"
				     "0,a,init,sem,s,1,1,\n"
				     "10000000,a,pass,sem,s,1,,\n"
				     "20000000,a,pass,sem,s,1,,\n"
				     "30000000,a,exit,,,,,\n",
		1);
	assert_int_equal(play(&f, 1, NULL, 0), 30000000);
	release(&f);
}

static int count_waits(void *context, const struct event *event, struct err *err)
{
	uint32_t *waits = context;
	(void)err;
	*waits += event->kind == EVENT_WAIT && event->what == WHAT_COND;
	return 0;
}

/* x and y work for 10 ms each by turns in one section, which they leave only when they wait. */
static void turns_within_a_section_keep_their_order_on_any_cores(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,x,start,,,,,\n"
					"0,y,start,,,,,\n"
					"0,x,pass,mutex,m,1,,\n"
					"0,y,wait,mutex,m,2,,\n"
					"10000000,x,release,cond,c,1,,all\n"
					"10000000,x,release,mutex,m,1,,implicit\n"
					"10000000,x,wait,cond,c,1,m,\n"
					"10000000,y,pass,mutex,m,2,x,waited\n"
					"20000000,y,release,cond,c,2,,all\n"
					"20000000,y,release,mutex,m,2,,implicit\n"
					"20000000,y,wait,cond,c,2,m,\n"
					"20000000,x,pass,cond,c,1,y,waited\n"
					"20000000,x,pass,mutex,m,1,,implicit\n"
					"30000000,x,release,cond,c,1,,all\n"
					"30000000,x,release,mutex,m,1,,implicit\n"
					"30000000,x,wait,cond,c,1,m,\n"
					"30000000,y,pass,cond,c,2,x,waited\n"
					"30000000,y,pass,mutex,m,2,,implicit\n"
					"40000000,y,release,cond,c,2,,all\n"
					"40000000,y,release,mutex,m,2,,\n"
					"40000000,y,exit,,,,,\n"
					"40000000,x,pass,cond,c,1,y,waited\n"
					"40000000,x,pass,mutex,m,1,,implicit\n"
					"50000000,x,release,mutex,m,1,,\n"
					"50000000,x,exit,,,,,\n";
	struct fixture f = load_as_recorded(text, 2);
	for (uint32_t cores = 1; cores <= 8; cores *= 2) {
		uint64_t ns;
		uint32_t waits = 0;
		struct event_sink waits_sink = { .context = &waits, .event = count_waits };
		struct replay_run run = { .cores = cores, .sink = &waits_sink };
		assert_int_equal(replay_run(f.replay, &run, &ns, NULL), 0);
		assert_in_range(ns, 49900000, 50100000);
		assert_int_equal(waits, 3);
	}
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_semaphore_has_what_its_program_said),
		cmocka_unit_test(a_semaphore_is_a_lock_for_those_who_give_it_back),
		cmocka_unit_test(what_was_taken_was_there),
		cmocka_unit_test(ordered_sections_keep_their_order),
		cmocka_unit_test(whether_an_unknown_order_is_needed_is_guessed),
		cmocka_unit_test(turns_within_a_section_keep_their_order_on_any_cores),
		cmocka_unit_test(a_turn_is_over_where_a_condition_is_waited_for),
		cmocka_unit_test(a_deadlock_is_told_in_the_recordings_names),
		cmocka_unit_test(a_replay_settles_for_the_recorded_order),
		cmocka_unit_test(a_barrier_that_nobody_else_comes_to_is_none),
		cmocka_unit_test(who_joins_gives_its_mutex_back_meanwhile),
		cmocka_unit_test(what_one_way_of_waking_needs_holds_for_both),
		cmocka_unit_test(who_tries_until_it_has_the_lock_waits),
		cmocka_unit_test(who_waits_with_a_mutex_has_it),
		cmocka_unit_test(a_region_is_begun_once_by_each_thread),
		cmocka_unit_test(who_tries_goes_on_without_the_lock),
		cmocka_unit_test(who_took_a_lock_between_two_waits_had_waited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
