/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who does something from time to time until it is joined does it as often as there is time for; others as often as they did. */
#include "replay_fixture.h"

#include <inttypes.h>
#include <stdarg.h>

enum { MS = 1000000, PAUSE = 10, WORK = 2, ROUND = PAUSE + WORK, TEXT = 16384 };

static __attribute__((format(printf, 2, 3))) void add(char *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	size_t at = strlen(text);
	(void)vsnprintf(text + at, TEXT - at, format, arguments);
	va_end(arguments);
}

/* The main thread (1) starts b, which computes for `b` ms, and t; joins b, then t. */
static void begin(char *text)
{
	(void)strcpy(text, WORK_HEAD "0,1,1,start,,,,,\n0,b,1,start,,,1,,\n0,t,1,start,,,1,,\n"
				     "0,1,1,wait,join,b,1,b,\n");
}

/* t's wait `name` with flags, from `begin` ms for so many ms, when it has worked for `work` ms. */
static void add_pause(char *text, const char *fields, uint32_t begin, uint32_t ms, uint32_t work)
{
	add(text, "%" PRIu32 ",t,%" PRIu32 ",wait,%s,,\n", begin * MS, work * MS + 1, fields);
	add(text, "%" PRIu32 ",t,%" PRIu32 ",pass,%s,,waited\n", (begin + ms) * MS, work * MS + 1,
		fields);
}

static void add_join(char *text, uint32_t b)
{
	add(text, "%" PRIu32 ",b,%" PRIu32 ",exit,,,,,\n", b * MS, b * MS);
	add(text, "%" PRIu32 ",1,1,pass,join,b,1,b,waited\n", b * MS);
	add(text, "%" PRIu32 ",1,1,wait,join,t,1,t,\n", b * MS);
}

static void end(char *text, uint32_t ms, uint32_t work)
{
	add(text, "%" PRIu32 ",t,%" PRIu32 ",exit,,,,,\n", ms * MS, work * MS + 1);
	add(text, "%" PRIu32 ",1,1,pass,join,t,1,t,waited\n", ms * MS);
	add(text, "%" PRIu32 ",1,1,exit,,,,,\n", ms * MS);
}

/* So many rounds of t; b ends during one of them. */
static struct fixture ticks(uint32_t rounds, uint32_t b)
{
	char text[TEXT];
	begin(text);
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t now = i * ROUND;
		if (b >= now && b < now + PAUSE) {
			add(text, "%" PRIu32 ",t,%" PRIu32 ",wait,sleep,,7,,\n", now * MS,
				i * WORK * MS + 1);
			add_join(text, b);
			add(text, "%" PRIu32 ",t,%" PRIu32 ",pass,sleep,,7,,waited\n",
				(now + PAUSE) * MS, i * WORK * MS + 1);
		} else {
			add_pause(text, "sleep,,7", now, PAUSE, i * WORK);
		}
	}
	end(text, rounds * ROUND, rounds * WORK);
	return load(text, 2);
}

static uint64_t tickers_of(const struct fixture *f)
{
	struct replay_facts facts;
	replay_facts(f->replay, &facts);
	return facts.tickers;
}

static uint64_t with_b(struct fixture *f, double factor)
{
	struct replay_change change = speed_of(0, factor); /* named ones are counted */
	return play(f, 2, &change, 1);
}

static void rounds_are_as_many_as_there_is_time_for(void **state)
{
	(void)state;
	struct fixture f = ticks(28, 325);
	assert_int_equal(tickers_of(&f), 1);
	assert_in_range(play(&f, 2, NULL, 0), 336 * MS, 336 * MS + 100);
	assert_in_range(with_b(&f, 2), 168 * MS, 168 * MS + 100); /* in the 14th round */
	assert_in_range(with_b(&f, 0.5), 660 * MS, 660 * MS + 200); /* in the 55th */
	release(&f);
}

static void rounds_that_went_on_are_as_many(void **state)
{
	(void)state;
	struct fixture f = ticks(28, 245);
	assert_int_equal(tickers_of(&f), 0);
	assert_in_range(with_b(&f, 2), 336 * MS, 336 * MS + 100);
	release(&f);
}

static void few_rounds_are_as_many(void **state)
{
	(void)state;
	struct fixture f = ticks(15, 170);
	assert_int_equal(tickers_of(&f), 0);
	assert_in_range(with_b(&f, 2), 180 * MS, 180 * MS + 100);
	release(&f);
}

/* Who never comes to join it would have it tick for ever: after a thousand times the recorded rounds it ends. */
static void rounds_have_an_end(void **state)
{
	(void)state;
	struct fixture f = ticks(28, 325);
	const uint64_t end_ns = UINT64_C(650) * 1000 * MS; /* b's; 28,000 rounds take 336 s */
	assert_in_range(with_b(&f, 0.0005), end_ns - 1000, end_ns + 1000);
	release(&f);
}

/* t waits for a condition, 10 ms at most, and works without the mutex; at 330 ms it is told to stop, and joined. */
static void who_is_told_to_stop_does_as_many_rounds_as_fit(void **state)
{
	(void)state;
	enum { ROUNDS = 27, B = 330 };
	char text[TEXT];
	begin(text);
	add(text, "0,t,1,pass,mutex,m,5,,\n");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t now = (i * ROUND + PAUSE) * MS, work = i * WORK * MS + 1;
		add(text, "%" PRIu32 ",t,%" PRIu32 ",wait,cond,c,6,m,\n", i * ROUND * MS, work);
		add(text, "%" PRIu32 ",t,%" PRIu32 ",pass,cond,c,6,,waited|timed_out\n", now, work);
		add(text, "%" PRIu32 ",t,%" PRIu32 ",release,mutex,m,8,,\n", now, work);
		add(text, "%" PRIu32 ",t,%" PRIu32 ",pass,mutex,m,9,,\n", now + WORK * MS,
			work + WORK * MS);
	}
	uint32_t work = ROUNDS * WORK * MS + 1;
	add(text, "%d,t,%" PRIu32 ",wait,cond,c,6,m,\n", ROUNDS * ROUND * MS, work);
	add(text, "%d,b,%d,exit,,,,,\n%d,1,1,pass,join,b,1,b,waited\n", B * MS, B * MS, B * MS);
	add(text, "%d,1,1,pass,mutex,m,11,,\n%d,1,1,release,cond,c,12,,\n", B * MS, B * MS);
	add(text, "%d,1,1,release,mutex,m,13,,\n%d,1,1,wait,join,t,1,t,\n", B * MS, B * MS);
	add(text, "%d,t,%" PRIu32 ",pass,cond,c,6,1,waited\n", B * MS, work);
	add(text, "%d,t,%" PRIu32 ",release,mutex,m,14,,\n", B * MS, work);
	end(text, B, ROUNDS * WORK);
	struct fixture f = load(text, 2);
	assert_int_equal(tickers_of(&f), 1);
	assert_in_range(play(&f, 2, NULL, 0), B * MS, (B + 1) * MS);
	assert_in_range(with_b(&f, 3.3), 100 * MS, 112 * MS);
	assert_in_range(with_b(&f, 0.5), 660 * MS, 672 * MS);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_as_many_as_there_is_time_for),
		cmocka_unit_test(rounds_that_went_on_are_as_many),
		cmocka_unit_test(few_rounds_are_as_many),
		cmocka_unit_test(rounds_have_an_end),
		cmocka_unit_test(who_is_told_to_stop_does_as_many_rounds_as_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
