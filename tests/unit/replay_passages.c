/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays of timelines whose threads let each other go on by pipes and eventfds. */
#include "base/strbuf.h"
#include "replay_fixture.h"

#define EVENTFD "0x1000000000004"

/* main, twice as fast; on as many cores as there are threads. */
static uint64_t play_with_fast_main(const char *text)
{
	struct fixture f = load(text, 4);
	const struct replay_change fast = speed_of(0, 2);
	uint64_t as_recorded = play(&f, 4, NULL, 0);
	assert_int_equal(as_recorded, 1500);
	uint64_t ns = play(&f, 4, &fast, 1);
	release(&f);
	return ns;
}

static void who_polls_for_an_eventfd_waits_for_its_writer(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"0,loop,wait,io,3,1,5,\n"
					"1000,main,release,queue," EVENTFD ",2,8,\n"
					"1000,main,wait,join,loop,,loop,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue," EVENTFD ",3,8,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	assert_int_equal(play_with_fast_main(text), 500 + 500);
}

static void a_write_that_is_told_of_late_came_before_its_wait(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"0,loop,wait,io,3,1,5,\n"
					"1000,main,wait,io,4,2,5,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue," EVENTFD ",3,8,\n"
					"1400,main,pass,io,4,2,,waited\n"
					"1400,main,release,queue," EVENTFD ",2,8,\n"
					"1400,main,wait,join,loop,,loop,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	assert_int_equal(play_with_fast_main(text), 500 + 500);
}

/* The third write came between the two reads, though it is told of before the first. */
static void a_write_may_be_told_of_before_the_read_that_it_came_after(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"0,loop,wait,io,3,1,5,\n"
					"300,main,release,queue," EVENTFD ",2,8,\n"
					"400,main,release,queue," EVENTFD ",2,8,\n"
					"1000,main,release,queue," EVENTFD ",2,8,\n"
					"1000,main,wait,join,loop,,loop,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue," EVENTFD ",3,8,\n"
					"1000,loop,pass,queue," EVENTFD ",3,8,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	assert_int_equal(play_with_fast_main(text), 500 + 500);
}

/* Two messages in one read. */
static void who_reads_a_pipe_waits_for_all_bytes_that_it_got(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"200,main,release,queue,77,2,8,\n"
					"600,loop,wait,io,3,1,4,\n"
					"1000,main,release,queue,77,2,8,\n"
					"1000,main,wait,join,loop,,loop,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue,77,1,16,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	/* The loop works 600 before; main's second write now comes before that. */
	assert_int_equal(play_with_fast_main(text), 600 + 500);
}

static void of_a_pipe_that_others_write_too_waits_are_as_long_as_recorded(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"0,loop,wait,io,3,1,4,\n"
					"1000,main,release,queue,77,2,8,\n"
					"1000,main,wait,join,loop,,loop,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue,77,1,16,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	assert_int_equal(play_with_fast_main(text), 1500);
}

/* The first reader comes late: by then there are two, of which it takes one. */
static void of_as_many_reads_as_writes_each_takes_one(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,a,start,,,,main,\n"
					"0,b,start,,,,main,\n"
					"500,main,release,queue," EVENTFD ",2,8,\n"
					"600,b,wait,io,3,1,5,\n"
					"1000,main,release,queue," EVENTFD ",2,8,\n"
					"1000,main,wait,join,b,,b,\n"
					"1000,a,pass,queue," EVENTFD ",3,8,\n"
					"1000,a,exit,,,,,\n"
					"1000,b,pass,io,3,1,,waited\n"
					"1000,b,pass,queue," EVENTFD ",3,8,\n"
					"1500,b,exit,,,,,\n"
					"1500,main,pass,join,b,,b,waited\n"
					"1500,main,exit,,,,,\n";
	struct fixture f = load(text, 4);
	const struct replay_change fast[] = { speed_of(0, 2), speed_of(1, 10), speed_of(2, 3) };
	/* a asks at 100 and gets the write at 250; b asks at 200, gets that at 500, and works 500 / 3. */
	uint64_t ns = play(&f, 4, fast, 3);
	release(&f);
	assert_in_range(ns, 666, 668);
}

/* main says by shutdown() that no more comes, of which nothing tells; the loop reads that twice. */
static void an_end_that_nobody_tells_of_is_not_waited_for(void **state)
{
	(void)state;
	static const char text[] = HEAD "0,main,start,,,,,\n"
					"0,loop,start,,,,main,\n"
					"0,loop,wait,io,3,1,5,\n"
					"1000,main,release,queue,77,2,8,\n"
					"1000,main,wait,join,loop,,loop,\n"
					"1000,loop,pass,io,3,1,,waited\n"
					"1000,loop,pass,queue,77,3,8,\n"
					"1200,loop,pass,queue,77,3,,\n"
					"1300,loop,pass,queue,77,3,,\n"
					"1500,loop,exit,,,,,\n"
					"1500,main,pass,join,loop,,loop,waited\n"
					"1500,main,exit,,,,,\n";
	assert_int_equal(play_with_fast_main(text), 500 + 500);
}

/*
 * A pipe that holds four messages: main makes one in 100 ns, the reader takes one every 1000. From the fifth on main waits until
 * one was read. Were the reader ten times as fast, it would not; were main slower, it would not either.
 */
static void who_writes_to_a_full_pipe_waits_for_its_reader(void **state)
{
	(void)state;
	enum { MESSAGES = 12, HELD = 4 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, HEAD "0,main,start,,,,,\n0,loop,start,,,,main,\n");
	for (int i = 1; i <= HELD; i++)
		strbuf_addf(&text, "%d,main,release,queue,77,2,8,\n", i * 100);
	for (int i = 1; i <= MESSAGES; i++) {
		bool writes = i + HELD <= MESSAGES;
		if (writes)
			strbuf_addf(
				&text, "%d,main,wait,io,4,2,3,\n", i == 1 ? 500 : i * 1000 - 900);
		strbuf_addf(&text, "%d,loop,pass,queue,77,3,8,\n", i * 1000);
		if (writes)
			strbuf_addf(&text,
				"%d,main,pass,io,4,2,,waited\n"
				"%d,main,release,queue,77,2,8,\n",
				i * 1000, i * 1000);
	}
	strbuf_add(&text, "12000,loop,exit,,,,,\n12000,main,exit,,,,,\n");
	struct fixture f = load(text.text, 2);
	const struct replay_change reader = speed_of(1, 10), writer = speed_of(0, 0.1);
	assert_in_range(play(&f, 2, NULL, 0), 12000, 12001);
	assert_in_range(play(&f, 2, &reader, 1), 1200, 5300); /* main's last 4000 ns are its own */
	assert_in_range(play(&f, 2, &writer, 1), 12000 + 40000, 12000 + 41000);
	release(&f);
}

/* The reads until a time: one each 1000 ns. */
static void add_reads(struct strbuf *text, int *read, int end_ns)
{
	for (; (*read + 1) * 1000 < end_ns; ++*read)
		strbuf_addf(text, "%d,loop,pass,queue,77,3,400,\n", (*read + 1) * 1000);
}

/*
 * A pipe of five pages, of ten messages each: there is room only when all of a page is read, by when more or fewer of the next one
 * are, as main writes fast or slowly. Were the reader ten times as fast, main would wait for room no more.
 */
static void a_pipe_has_room_when_a_page_of_it_is_read(void **state)
{
	(void)state;
	enum { IN_PAGE = 10, PAGES = 5, ALL_PAGES = 20 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	int read = 0;
	strbuf_add(&text, HEAD "0,main,start,,,,,\n0,loop,start,,,,main,\n");
	for (int i = 1; i <= PAGES * IN_PAGE; i++)
		strbuf_addf(&text, "%d,main,release,queue,77,2,400,\n", i * 10);
	int time_ns = 510;
	for (int page = PAGES; page < ALL_PAGES; page++) {
		int step_ns = 100 + page % 4 * 200;
		add_reads(&text, &read, time_ns);
		strbuf_addf(&text, "%d,main,wait,io,4,2,3,\n", time_ns);
		time_ns = (page - PAGES + 1) * IN_PAGE * 1000;
		add_reads(&text, &read, time_ns + 1);
		strbuf_addf(&text, "%d,main,pass,io,4,2,,waited\n", time_ns);
		for (int i = 0; i < IN_PAGE; i++) {
			add_reads(&text, &read, time_ns);
			strbuf_addf(&text, "%d,main,release,queue,77,2,400,\n", time_ns);
			time_ns += step_ns;
		}
	}
	strbuf_addf(&text, "%d,main,exit,,,,,\n", time_ns);
	add_reads(&text, &read, ALL_PAGES * IN_PAGE * 1000 + 1);
	strbuf_addf(&text, "%d,loop,exit,,,,,\n", ALL_PAGES * IN_PAGE * 1000);
	struct fixture f = load(text.text, 2);
	const struct replay_change reader = speed_of(1, 10);
	assert_in_range(play(&f, 2, NULL, 0), 200000, 200001);
	/* main works 64,000 by itself, which the last page is read after. */
	assert_in_range(play(&f, 2, &reader, 1), 55000, 72000);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_polls_for_an_eventfd_waits_for_its_writer),
		cmocka_unit_test(a_write_that_is_told_of_late_came_before_its_wait),
		cmocka_unit_test(a_write_may_be_told_of_before_the_read_that_it_came_after),
		cmocka_unit_test(who_reads_a_pipe_waits_for_all_bytes_that_it_got),
		cmocka_unit_test(of_a_pipe_that_others_write_too_waits_are_as_long_as_recorded),
		cmocka_unit_test(of_as_many_reads_as_writes_each_takes_one),
		cmocka_unit_test(an_end_that_nobody_tells_of_is_not_waited_for),
		cmocka_unit_test(who_writes_to_a_full_pipe_waits_for_its_reader),
		cmocka_unit_test(a_pipe_has_room_when_a_page_of_it_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
