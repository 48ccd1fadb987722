/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work from a common supply is dealt anew; a part that was assigned beforehand stays with its thread. */
#include "replay_fixture.h"

static struct replay_facts facts_of(const struct fixture *f)
{
	struct replay_facts facts;
	replay_facts(f->replay, &facts);
	return facts;
}

/* b is the second thread. */
static uint64_t with_b_three_times_as_fast(struct fixture *f)
{
	struct replay_change faster = speed_of(1, 3);
	return play(f, 2, &faster, 1);
}

/* Pieces of 10, 30, 10 and 10 ms, taken under a lock: a has three, b one. Both then find nothing. */
static const char taken[] = WORK_HEAD "0,a,1,start,,,,,\n"
				      "0,b,1,start,,,,,\n"
				      "0,a,1,pass,mutex,l,1,,\n"
				      "0,a,1,release,mutex,l,2,,\n"
				      "0,b,1,pass,mutex,l,1,,\n"
				      "0,b,1,release,mutex,l,2,,\n"
				      "10000000,a,10000000,pass,mutex,l,1,,\n"
				      "10000000,a,10000000,release,mutex,l,2,,\n"
				      "20000000,a,20000000,pass,mutex,l,1,,\n"
				      "20000000,a,20000000,release,mutex,l,2,,\n"
				      "30000000,a,30000000,pass,mutex,l,1,,\n"
				      "30000000,a,30000000,release,mutex,l,2,,\n"
				      "30000000,a,30000000,exit,,,,,\n"
				      "30000000,b,30000000,pass,mutex,l,1,,\n"
				      "30000000,b,30000000,release,mutex,l,2,,\n"
				      "30000000,b,30000000,exit,,,,,\n";

static void a_faster_thread_takes_more_pieces(void **state)
{
	(void)state;
	struct fixture f = load(taken, 2);
	assert_int_equal(facts_of(&f).supplies, 1);
	assert_int_equal(facts_of(&f).dealt, 4);
	assert_in_range(play(&f, 2, NULL, 0), 30000000, 30000010);
	assert_in_range(play(&f, 1, NULL, 0), 59999990, 60000010);
	/* a: 10 and 10; b: 30 / 3 and 10 / 3 */
	assert_in_range(with_b_three_times_as_fast(&f), 19999990, 20000010);
	release(&f);
}

/* The same work, but who has done a piece tells so: that is no supply. */
static void work_that_is_told_of_when_done_stays_with_its_thread(void **state)
{
	(void)state;
	struct fixture f = load(WORK_HEAD "0,a,1,start,,,,,\n"
					  "0,b,1,start,,,,,\n"
					  "10000000,a,10000000,pass,mutex,l,1,,\n"
					  "10000000,a,10000000,release,mutex,l,2,,\n"
					  "20000000,a,20000000,pass,mutex,l,1,,\n"
					  "20000000,a,20000000,release,mutex,l,2,,\n"
					  "30000000,a,30000000,pass,mutex,l,1,,\n"
					  "30000000,a,30000000,release,mutex,l,2,,\n"
					  "30000000,a,30000000,exit,,,,,\n"
					  "30000000,b,30000000,pass,mutex,l,1,,\n"
					  "30000000,b,30000000,release,mutex,l,2,,\n"
					  "30000000,b,30000000,exit,,,,,\n",
		2);
	assert_int_equal(facts_of(&f).supplies, 0);
	assert_in_range(with_b_three_times_as_fast(&f), 29999990, 30000010);
	release(&f);
}

/* Two pieces each, of 10 ms for a and of 20 ms for b: equal numbers say that they were assigned. */
static void equal_numbers_stay(void **state)
{
	(void)state;
	struct fixture f = load(WORK_HEAD "0,a,1,start,,,,,\n"
					  "0,b,1,start,,,,,\n"
					  "0,a,1,pass,mutex,l,1,,\n"
					  "0,a,1,release,mutex,l,2,,\n"
					  "0,b,1,pass,mutex,l,1,,\n"
					  "0,b,1,release,mutex,l,2,,\n"
					  "10000000,a,10000000,pass,mutex,l,1,,\n"
					  "10000000,a,10000000,release,mutex,l,2,,\n"
					  "20000000,b,20000000,pass,mutex,l,1,,\n"
					  "20000000,b,20000000,release,mutex,l,2,,\n"
					  "20000000,a,20000000,exit,,,,,\n"
					  "40000000,b,40000000,exit,,,,,\n",
		2);
	assert_int_equal(facts_of(&f).supplies, 0);
	release(&f);
}

/* Two rounds with a barrier between: in the first a has three pieces and b one, in the second each finds one. */
static const char rounds[] = WORK_HEAD "0,a,1,start,,,,,\n"
				       "0,b,1,start,,,,,\n"
				       "0,a,1,pass,mutex,l,1,,\n"
				       "0,a,1,release,mutex,l,2,,\n"
				       "0,b,1,pass,mutex,l,1,,\n"
				       "0,b,1,release,mutex,l,2,,\n"
				       "10000000,a,10000000,pass,mutex,l,1,,\n"
				       "10000000,a,10000000,release,mutex,l,2,,\n"
				       "20000000,a,20000000,pass,mutex,l,1,,\n"
				       "20000000,a,20000000,release,mutex,l,2,,\n"
				       "30000000,a,30000000,pass,mutex,l,1,,\n"
				       "30000000,a,30000000,release,mutex,l,2,,\n"
				       "30000000,a,30000000,wait,barrier,x,3,,\n"
				       "30000000,b,30000000,pass,mutex,l,1,,\n"
				       "30000000,b,30000000,release,mutex,l,2,,\n"
				       "30000000,b,30000000,pass,barrier,x,3,,\n"
				       "30000000,a,30000000,pass,barrier,x,3,b,waited\n"
				       "30000000,a,30000000,pass,mutex,l,1,,\n"
				       "30000000,a,30000000,release,mutex,l,2,,\n"
				       "30000000,b,30000000,pass,mutex,l,1,,\n"
				       "30000000,b,30000000,release,mutex,l,2,,\n"
				       "40000000,a,40000000,pass,mutex,l,1,,\n"
				       "40000000,a,40000000,release,mutex,l,2,,\n"
				       "40000000,a,40000000,exit,,,,,\n"
				       "60000000,b,60000000,pass,mutex,l,1,,\n"
				       "60000000,b,60000000,release,mutex,l,2,,\n"
				       "60000000,b,60000000,exit,,,,,\n";

static void each_round_has_its_pieces(void **state)
{
	(void)state;
	struct fixture f = load(rounds, 2);
	assert_int_equal(facts_of(&f).dealt, 6);
	assert_in_range(play(&f, 2, NULL, 0), 59999990, 60000010);
	/* 20 ms as above, then 30 / 3 for b beside 10 for a */
	assert_in_range(with_b_three_times_as_fast(&f), 29999980, 30000020);
	release(&f);
}

/* On one core a took all four pieces that main had put there; b came for its end only. */
static const char items[] = WORK_HEAD "0,main,1,start,,,,,\n"
				      "0,a,1,start,,,,main,\n"
				      "0,b,1,start,,,,main,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,release,sem,s,9,,\n"
				      "0,main,1,exit,,,,,\n"
				      "0,a,1,pass,sem,s,1,,\n"
				      "10000000,a,10000000,pass,sem,s,1,,\n"
				      "20000000,a,20000000,pass,sem,s,1,,\n"
				      "30000000,a,30000000,pass,sem,s,1,,\n"
				      "40000000,a,40000000,pass,sem,s,1,,\n"
				      "40000000,a,40000000,exit,,,,,\n"
				      "40000000,b,1,pass,sem,s,1,,\n"
				      "40000000,b,1,exit,,,,,\n";

static void who_came_late_gets_its_share_on_more_cores(void **state)
{
	(void)state;
	struct fixture f = load(items, 1);
	assert_int_equal(facts_of(&f).dealt, 4);
	assert_in_range(play(&f, 1, NULL, 0), 39999990, 40000010);
	assert_in_range(play(&f, 2, NULL, 0), 19999990, 20000010);
	assert_in_range(play(&f, 16, NULL, 0), 19999990, 20000010); /* two threads take */
	release(&f);
}

/* Three threads, of which a has the most work; they end when the events say. */
#define LOOP(end)                                                                                  \
	WORK_HEAD "0,main,1,start,,,,,\n"                                                          \
		  "0,a,1,start,,0x77,,main,\n"                                                     \
		  "0,b,1,start,,0x77,,main,\n"                                                     \
		  "0,c,1,start,,0x77,,main,\n"                                                     \
		  "0,main,1,wait,join,a,,a,\n" end

#define LOOP_JOINED                                                                                \
	"30000000,main,1,pass,join,a,,a,waited\n"                                                  \
	"30000000,main,1,wait,join,b,,b,\n"                                                        \
	"30000000,main,1,pass,join,b,,b,waited\n"                                                  \
	"30000000,main,1,wait,join,c,,c,\n"                                                        \
	"30000000,main,1,pass,join,c,,c,waited\n"                                                  \
	"30000000,main,1,exit,,,,,\n"

static void who_is_done_together_has_shared_the_work(void **state)
{
	(void)state;
	struct fixture f = load(LOOP("30000000,a,30000000,exit,,,,,\n"
				     "30000000,b,15000000,exit,,,,,\n"
				     "30000000,c,15000000,exit,,,,,\n") LOOP_JOINED,
		2);
	assert_int_equal(facts_of(&f).shared_rounds, 1);
	assert_in_range(play(&f, 1, NULL, 0), 59900000, 60100000);
	/* At the end each thread has a 64th of its share to do. */
	assert_in_range(play(&f, 2, NULL, 0), 29700000, 30300000);
	assert_in_range(play(&f, 3, NULL, 0), 19700000, 20300000);
	release(&f);
}

static void who_is_done_early_had_its_own_part(void **state)
{
	(void)state;
	struct fixture f = load(LOOP("20000000,b,10000000,exit,,,,,\n"
				     "20000000,c,10000000,exit,,,,,\n"
				     "30000000,a,30000000,exit,,,,,\n") LOOP_JOINED,
		2);
	assert_int_equal(facts_of(&f).shared_rounds, 0);
	assert_in_range(play(&f, 3, NULL, 0), 29900000, 30100000);
	release(&f);
}

/* a had all four pieces, each of 10 ms: b found none left. */
#define HANDED_OUT(a_had, b_had)                                                                   \
	WORK_HEAD "0,a,1,start,,,,,\n"                                                             \
		  "0,b,1,start,,,,,\n"                                                             \
		  "1000,b,1,wait,barrier,x,1," b_had ",\n"                                         \
		  "40000000,a,40000000,wait,barrier,x,1," a_had ",\n"                              \
		  "40000000,a,40000000,pass,barrier,x,1,a,waited\n"                                \
		  "40000000,b,1,pass,barrier,x,1,a,waited\n"                                       \
		  "40000000,a,40000000,exit,,,,,\n"                                                \
		  "40000000,b,1,exit,,,,,\n"

static void what_was_handed_out_goes_to_who_asks(void **state)
{
	(void)state;
	struct fixture f = load(HANDED_OUT("5", "1"), 2);
	assert_int_equal(facts_of(&f).shared_rounds, 0);
	assert_in_range(play(&f, 1, NULL, 0), 39900000, 40100000);
	assert_in_range(play(&f, 2, NULL, 0), 19900000, 20100000);
	release(&f);
}

/* Three pieces of 13 ms: one thread has two of them. */
static void a_piece_is_not_divided(void **state)
{
	(void)state;
	struct fixture f = load(HANDED_OUT("4", "1"), 2);
	assert_in_range(play(&f, 2, NULL, 0), 26600000, 26800000);
	release(&f);
}

/* Not all of them asked for work there. */
static void what_one_did_alone_stays_its_own(void **state)
{
	(void)state;
	struct fixture f = load(HANDED_OUT("5", "0"), 2);
	assert_in_range(play(&f, 2, NULL, 0), 39900000, 40100000);
	release(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_faster_thread_takes_more_pieces),
		cmocka_unit_test(work_that_is_told_of_when_done_stays_with_its_thread),
		cmocka_unit_test(equal_numbers_stay),
		cmocka_unit_test(each_round_has_its_pieces),
		cmocka_unit_test(who_came_late_gets_its_share_on_more_cores),
		cmocka_unit_test(who_is_done_together_has_shared_the_work),
		cmocka_unit_test(what_was_handed_out_goes_to_who_asks),
		cmocka_unit_test(a_piece_is_not_divided),
		cmocka_unit_test(what_one_did_alone_stays_its_own),
		cmocka_unit_test(who_is_done_early_had_its_own_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
