/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that writes in the background what others have put, in as many rounds as they leave it time for. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "replay_fixture.h"

enum { CYCLES = 20, CYCLE_US = 3000 };

static uint16_t no_stretch(void *context, const struct event *event)
{
	(void)context;
	(void)event;
	return 0;
}

/* So much at once: a hundredth of what the timeline took. */
static uint64_t take_time(void *context, uint32_t thread, uint16_t stretch, uint64_t *left)
{
	(void)context;
	(void)thread;
	(void)stretch;
	uint64_t ns = *left / 100;
	*left = 0;
	return ns;
}

static void row(struct strbuf *text, int us, char thread, const char *what)
{
	strbuf_addf(text, "%d000,%c,%d000,%s\n", us, thread, thread == 'c' ? us : 1, what);
}

/* c puts; a signal says that there was nothing, and w may have waited for it. */
static void put(struct strbuf *text, int us, bool was_empty, bool is_awaited)
{
	row(text, us, 'c', "pass,mutex,m,1,,");
	if (was_empty)
		row(text, us, 'c', "release,cond,work,1,,");
	if (is_awaited) {
		row(text, us, 'w', "woken,cond,work,2,c,");
		row(text, us, 'w', "pass,cond,work,2,c,waited");
	}
	row(text, us + 1, 'c', "release,mutex,m,1,,");
}

/* w has taken all, and writes it. */
static void begin_writing(struct strbuf *text, int us)
{
	row(text, us, 'w', "release,mutex,m,2,,");
	row(text, us, 'w', "wait,io,,3,,");
}

static void end_writing(struct strbuf *text, int us)
{
	row(text, us, 'w', "pass,io,,3,,waited");
	row(text, us, 'w', "pass,mutex,m,2,,");
	row(text, us, 'w', "release,cond,done,2,,all");
}

static void wait_for_work(struct strbuf *text, int us)
{
	row(text, us, 'w', "release,mutex,m,2,,implicit");
	row(text, us, 'w', "wait,cond,work,2,m,");
}

/*
 * In each cycle c puts one, and while w writes that two more, which w writes then. In the last cycle c waits for the end of that,
 * and then ends w.
 */
static void make_text(struct strbuf *text)
{
	row(text, 0, 'w', "start,,,,,");
	row(text, 0, 'c', "start,,,,,");
	row(text, 1, 'w', "pass,mutex,m,2,,");
	wait_for_work(text, 1);
	for (int i = 0; i < CYCLES; i++) {
		int us = 10 + i * CYCLE_US;
		put(text, us, true, true);
		begin_writing(text, us + 2);
		put(text, us + 1000, true, false);
		put(text, us + 1200, false, false);
		end_writing(text, us + 1500);
		begin_writing(text, us + 1501);
		if (i == CYCLES - 1) {
			row(text, us + 1600, 'c', "pass,mutex,m,5,,");
			row(text, us + 1600, 'c', "release,mutex,m,5,,implicit");
			row(text, us + 1600, 'c', "wait,cond,done,5,m,");
		}
		end_writing(text, us + 2700);
		if (i == CYCLES - 1) {
			row(text, us + 2700, 'c', "woken,cond,done,5,w,");
			row(text, us + 2700, 'c', "pass,cond,done,5,w,waited");
		}
		wait_for_work(text, us + 2700);
	}
	int us = 10 + CYCLES * CYCLE_US;
	row(text, us - 1, 'c', "release,mutex,m,5,,");
	row(text, us, 'c', "pass,mutex,m,4,,");
	row(text, us, 'c', "release,cond,work,4,,");
	row(text, us, 'w', "woken,cond,work,2,c,");
	row(text, us, 'w', "pass,cond,work,2,c,waited");
	row(text, us + 1, 'c', "release,mutex,m,4,,");
	row(text, us + 2, 'w', "release,mutex,m,2,,");
	row(text, us + 2, 'w', "exit,,,,,");
	row(text, us + 3, 'c', "exit,,,,,");
}

static struct fixture load_rounds(bool is_of_other_pace)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, WORK_HEAD);
	make_text(&text);
	struct fixture f = { 0 };
	assert_int_equal(meaning_new(&f.meaning), 0);
	if (is_of_other_pace)
		meaning_of_other_pace(f.meaning);
	struct event_sink sink = meaning_sink(f.meaning);
	feed(text.text, &sink);
	struct replay_opts opts = { .cores = 2, .meaning = f.meaning, .stretch = no_stretch };
	assert_int_equal(replay_new(&opts, &f.replay, NULL), 0);
	sink = replay_sink(f.replay);
	feed(text.text, &sink);
	return f;
}

static uint64_t played_ns(bool is_of_other_pace)
{
	struct fixture f = load_rounds(is_of_other_pace);
	struct replay_run run = { .cores = 2, .duration = take_time };
	uint64_t ns = 0;
	struct err err = { "" };
	if (replay_run(f.replay, &run, &ns, &err) < 0)
		fail_msg("%s", err.text);
	release(&f);
	return ns;
}

/* c takes 0.6 ms for all of it: one round is for what it puts first, one for what comes meanwhile; then w hears that it is to end. */
static void who_takes_all_takes_more_at_a_time_from_who_is_faster(void **state)
{
	(void)state;
	assert_in_range(played_ns(true), 2600000, 3100000);
}

/* At the program's own pace, that is; else there are as many rounds as there were. */
static void rounds_are_as_many_at_the_recorded_pace(void **state)
{
	(void)state;
	assert_in_range(played_ns(false), CYCLES * 2600000, CYCLES * 2800000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_all_takes_more_at_a_time_from_who_is_faster),
		cmocka_unit_test(rounds_are_as_many_at_the_recorded_pace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
