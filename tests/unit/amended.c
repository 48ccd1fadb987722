/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the replay and models read of a file: both amendments, each time. */
#include "cmocka_all.h"

#include "trace/amended.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A loop of sched_yield(), in which b works. A wait with a condition's own mutex; then a section, the same at the same place of which only the signal is there. */
static const char timeline[] = "time_ns,tid,event,what,object,site,value,flags\n"
			       "0,a,start\n"
			       "0,b,start\n"
			       "1,a,pass,mutex,user,5\n"
			       "1,a,pass,mutex,own,6\n"
			       "1,a,release,mutex,user\n"
			       "1,a,release,mutex,own,,,implicit\n"
			       "1,a,wait,cond,any,,own\n"
			       "2,a,pass,cond,any,,,waited\n"
			       "2,a,pass,mutex,own,,,implicit\n"
			       "2,a,release,mutex,own\n"
			       "2,a,pass,mutex,user,5\n"
			       "2,a,release,mutex,user\n"
			       "3,b,pass,mutex,own,9\n"
			       "3,b,release,cond,any,,,all\n"
			       "3,b,release,mutex,own\n"
			       "4,b,pass,mutex,jobs,7\n"
			       "5,b,release,cond,more,8\n"
			       "6,b,release,mutex,jobs\n"
			       "7,b,release,cond,more,8\n"
			       "8,b,try_failed,spin,9,9\n"
			       "8,b,wait,spin,9,9\n"
			       "9,b,pass,spin,9,9,,waited|timed_out\n"
			       "9,b,left_out,,1,,1\n";

struct counts {
	size_t passes_of_mutexes, events;
};

static int count(void *context, const struct event *event, struct err *err)
{
	struct counts *counts = context;
	(void)err;
	counts->events++;
	assert_int_not_equal(event->what, WHAT_SPIN);
	counts->passes_of_mutexes += event->kind == EVENT_PASS && event->what == WHAT_MUTEX &&
				     !(event->flags & EVENT_IMPLICIT);
	return 0;
}

/* Passes of the first wait, which is passed on as it is; of the two sections, one of which was left out; none of b's of `own`. */
static void each_time_the_same_is_told(void **state)
{
	(void)state;
	char path[] = "/tmp/corecast-test-XXXXXX.csv";
	int fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, timeline, sizeof timeline - 1), sizeof timeline - 1);
	close(fd);
	AUTO_RELEASE(amended) struct amended run = { .path = path };
	struct counts counts[2] = { 0 };
	for (int i = 0; i < 2; i++) {
		struct event_sink sink = { .context = &counts[i], .event = count };
		struct err err = { 0 };
		assert_int_equal(amended_replay(&run, &sink, &err), 0);
		assert_int_equal(run.quality.left_out, 1);
		assert_int_equal(counts[i].passes_of_mutexes, 5);
	}
	assert_int_equal(counts[0].events, counts[1].events);
	(void)unlink(path); /* in /tmp */
}

static void a_file_that_is_none_is_an_error(void **state)
{
	(void)state;
	AUTO_RELEASE(amended) struct amended run = { .path = "/nowhere/at/all" };
	struct event_sink sink = { 0 };
	assert_int_equal(amended_replay(&run, &sink, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_time_the_same_is_told),
		cmocka_unit_test(a_file_that_is_none_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
