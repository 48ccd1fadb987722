/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who sleeps until others are done, or its process ends, does so no longer; who sleeps so often goes on after so long. */
#include "replay_fixture.h"

#include <inttypes.h>

enum { MS = 1000000 };

/* a pauses so often, 10 ms each time, and does this between; b computes until it exits at `end` ms, but for a rest from 25 to 35. */
static struct fixture pauses_with(const char *between, uint32_t count, uint32_t end, bool rests)
{
	char text[4096] = WORK_HEAD "0,a,1,start,,,,,\n0,b,1,start,,,,,\n", exit[64];
	(void)snprintf(
		exit, sizeof exit, "%" PRIu32 ",b,%" PRIu32 ",exit,,,,,\n", end * MS, end * MS);
	for (uint32_t i = 0; i < count; i++) {
		const char *meanwhile = i == end / 10     ? exit
					: rests && i == 2 ? "25000000,b,25000000,wait,io,,8,,\n"
					: rests && i == 3
						? "35000000,b,25000000,pass,io,,8,,waited\n"
						: "";
		size_t at = strlen(text);
		(void)snprintf(text + at, sizeof text - at,
			"%" PRIu32 ",a,1,wait,sleep,,7,,\n%s%" PRIu32
			",a,1,pass,sleep,,7,,waited\n",
			i * 10 * MS, meanwhile, (i + 1) * 10 * MS);
		if (*between && i + 1 < count)
			(void)snprintf(text + strlen(text), sizeof text - strlen(text),
				"%" PRIu32 ",a,1,%s\n", (i + 1) * 10 * MS, between);
	}
	size_t at = strlen(text);
	(void)snprintf(text + at, sizeof text - at, "%" PRIu32 ",a,1,exit,,,,,\n%s",
		count * 10 * MS, end >= count * 10 ? exit : "");
	return load(text, 2);
}

static struct fixture pauses(uint32_t count, uint32_t end, bool rests)
{
	return pauses_with("", count, end, rests);
}

static uint64_t polls_of(const struct fixture *f)
{
	struct replay_facts facts;
	replay_facts(f->replay, &facts);
	return facts.polls;
}

/* b is the second thread. */
static uint64_t with_b(struct fixture *f, double factor)
{
	struct replay_change change = speed_of(1, factor);
	return play(f, 2, &change, 1);
}

static void pauses_end_when_the_others_rest(void **state)
{
	(void)state;
	struct fixture f = pauses(6, 57, false);
	assert_int_equal(polls_of(&f), 1);
	assert_int_equal(play(&f, 2, NULL, 0), 60 * MS);
	assert_int_equal(with_b(&f, 2), 30 * MS); /* done after 28.5 ms */
	assert_int_equal(with_b(&f, 0.5), 120 * MS);
	release(&f);
}

/* As povray does, which yields, too. */
static void who_yields_between_looks_polls(void **state)
{
	(void)state;
	struct fixture f = pauses_with("try_failed,spin,9,9,,", 6, 57, false);
	assert_int_equal(polls_of(&f), 1);
	assert_int_equal(with_b(&f, 2), 30 * MS);
	release(&f);
}

static void pauses_beside_work_that_goes_on_are_as_long(void **state)
{
	(void)state;
	struct fixture f = pauses(6, 65, false);
	assert_int_equal(polls_of(&f), 0);
	assert_int_equal(with_b(&f, 5), 60 * MS);
	release(&f);
}

/* With b at rest after 30 ms a paused on. */
static void pauses_that_went_on_beside_rest_are_as_long(void **state)
{
	(void)state;
	struct fixture f = pauses(6, 55, true);
	assert_int_equal(polls_of(&f), 0);
	release(&f);
}

static void few_pauses_are_as_long(void **state)
{
	(void)state;
	struct fixture f = pauses(4, 35, false);
	assert_int_equal(polls_of(&f), 0);
	assert_int_equal(with_b(&f, 5), 40 * MS);
	release(&f);
}

/* a pauses 12 times, 10 ms each time. b ends during the last one, after 117 ms, and lets c go, who goes on until 130; with `others` a thread ends in
   each pause before, too. */
static struct fixture ends_beside_others(bool others)
{
	char text[8192] = WORK_HEAD "0,a,1,start,,,,,\n0,b,1,start,,,,,\n0,c,1,start,,,,,\n"
				    "0,c,1,wait,cond,9,8,,\n";
	for (uint32_t i = 0; i < 12; i++) {
		size_t at = strlen(text);
		(void)snprintf(text + at, sizeof text - at, "%" PRIu32 ",a,1,wait,sleep,,7,,\n",
			i * 10 * MS);
		at = strlen(text);
		if (others && i < 11)
			(void)snprintf(text + at, sizeof text - at,
				"%" PRIu32 ",d%" PRIu32 ",1,start,,,,,\n%" PRIu32 ",d%" PRIu32
				",2,exit,,,,,\n",
				i * 10 * MS + 1, i, i * 10 * MS + 2, i);
		if (i == 11)
			strcat(text, "117000000,b,117000000,exit,,,,,\n"
				     "117000000,c,1,pass,cond,9,8,,waited\n");
		at = strlen(text);
		(void)snprintf(text + at, sizeof text - at,
			"%" PRIu32 ",a,1,pass,sleep,,7,,waited\n", (i + 1) * 10 * MS);
	}
	strcat(text, "120000000,a,1,exit,,,,,\n130000000,c,13000000,exit,,,,,\n");
	return load(text, 2);
}

static void what_goes_on_behind_the_end_is_not_waited_for(void **state)
{
	(void)state;
	struct fixture f = ends_beside_others(false);
	assert_int_equal(polls_of(&f), 1);
	release(&f);
	f = ends_beside_others(true);
	assert_int_equal(polls_of(&f), 0);
	release(&f);
}

/* a waits for b's signal, 10 ms at the most, and looks again: after 25 ms it is there. */
static void who_waits_again_after_a_timeout_waits_for_the_signal(void **state)
{
	(void)state;
	struct fixture f = load(WORK_HEAD "0,a,1,start,,,,,\n"
					  "0,b,1,start,,,,,\n"
					  "0,a,1,pass,mutex,m,1,,\n"
					  "0,a,1,wait,cond,c,2,m,\n"
					  "10000000,a,1,pass,cond,c,2,,waited|timed_out\n"
					  "10000000,a,1,release,mutex,m,3,,\n"
					  "10000000,a,1,pass,mutex,m,1,,\n"
					  "10000000,a,1,wait,cond,c,2,m,\n"
					  "20000000,a,1,pass,cond,c,2,,waited|timed_out\n"
					  "20000000,a,1,release,mutex,m,3,,\n"
					  "20000000,a,1,pass,mutex,m,1,,\n"
					  "20000000,a,1,wait,cond,c,2,m,\n"
					  "25000000,b,25000000,release,cond,c,4,,\n"
					  "25000000,a,1,pass,cond,c,2,b,waited\n"
					  "25000000,b,25000000,exit,,,,,\n"
					  "25000000,a,1,release,mutex,m,3,,\n"
					  "25000000,a,1,exit,,,,,\n",
		2);
	assert_in_range(play(&f, 2, NULL, 0), 25 * MS, 25 * MS + 10);
	assert_in_range(with_b(&f, 5), 5 * MS, 5 * MS + 10);
	release(&f);
}

/* The first thread computes for 52 ms; d pauses every 10 ms, works 1 ms, and pauses when the process ends. */
static void daemons_end_with_their_process(void **state)
{
	(void)state;
	char text[4096] = WORK_HEAD "0,1,1,start,,,,,\n0,d,1,start,,,,,\n";
	for (uint32_t i = 0; i < 5; i++) {
		size_t at = strlen(text);
		(void)snprintf(text + at, sizeof text - at,
			"%" PRIu32 ",d,%" PRIu32 ",wait,sleep,,7,,\n%" PRIu32 ",d,%" PRIu32
			",pass,sleep,,7,,waited\n",
			i * 10 * MS, i * MS + 1, (i * 10 + 9) * MS, i * MS + 1);
	}
	strcat(text, "50000000,d,5000001,wait,sleep,,7,,\n52000000,1,52000000,exit,,,,,\n");
	struct fixture f = load(text, 2);
	struct replay_change faster = { { .kind = REPLAY_THREAD, .pid = 1, .number = 1 }, 2 };
	assert_int_equal(play(&f, 2, NULL, 0), 52 * MS);
	assert_in_range(play(&f, 2, &faster, 1), 26 * MS, 26 * MS + 10);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_end_when_the_others_rest),
		cmocka_unit_test(who_yields_between_looks_polls),
		cmocka_unit_test(pauses_beside_work_that_goes_on_are_as_long),
		cmocka_unit_test(pauses_that_went_on_beside_rest_are_as_long),
		cmocka_unit_test(few_pauses_are_as_long),
		cmocka_unit_test(what_goes_on_behind_the_end_is_not_waited_for),
		cmocka_unit_test(daemons_end_with_their_process),
		cmocka_unit_test(who_waits_again_after_a_timeout_waits_for_the_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
