/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator as a whole, on two threads that are worked out on paper. */
#include "bench/refsim/run.h"
#include "cmocka_all.h"
#include "trace/csv_read.h"

#include <stdlib.h>
#include <string.h>

enum { LATENCY = 3, WORK = 100000, LONG_WORK = 300000 };

/* main lets a thread go at once; it does 100,000 instructions, main 300,000, then it joins. */
static const char timeline[] = "time_ns,tid,cpu_ns,event,what,object,site,value,flags\n"
			       "0,main,0,start,,,,,\n"
			       "1,a,0,start,,,,main,\n"
			       "5000,a,100000,exit,,,,,\n"
			       "9000,main,300000,wait,join,a,,a,\n"
			       "9000,main,300000,pass,join,a,,a,waited\n"
			       "9000,main,300000,exit,,,,,\n";

static uint16_t one_kind(void *context, const struct event *event)
{
	(void)context;
	(void)event;
	return 0;
}

struct streams {
	uint64_t left[2]; /* main's and the other's */
};

/* Each instruction waits for the one before it. */
static size_t read_chain(
	void *context, uint32_t thread, size_t count, struct micro_op *ops, size_t *ret_ops)
{
	struct streams *streams = context;
	if (streams->left[thread] < count)
		count = (size_t)streams->left[thread];
	streams->left[thread] -= count;
	memset(ops, 0, count * sizeof(*ops));
	*ret_ops = count;
	return count;
}

static struct refrun_result run(struct streams *streams)
{
	AUTO(replay) struct replay *replay = NULL;
	struct replay_opts opts = { .cores = 2, .stretch = one_kind };
	assert_int_equal(replay_new(&opts, &replay, NULL), 0);
	struct event_sink sink = replay_sink(replay);
	FILE *in = fmemopen((void *)(uintptr_t)timeline, strlen(timeline), "r");
	assert_non_null(in);
	assert_int_equal(timeline_csv_read(in, "test", &sink, NULL, NULL), 0);
	(void)fclose(in);

	struct processor processor = { .frequency_hz = 2e9,
		.dispatch_width = 4,
		.retire_width = 4,
		.rob = 64,
		.issue_queue = 32,
		.load_queue = 32,
		.store_queue = 16,
		.instruction = { .bytes = 4096, .ways = 4 },
		.levels = { { .bytes = 4096, .ways = 4, .latency = 4, .shared_by = 1 } },
		.level_count = 1,
		.units[CODE_MULTIPLY] = { LATENCY, 1, 1 } };
	struct code chain = { .class = CODE_MULTIPLY, .reads = 1, .writes = 1 };
	struct refcore_predictor predictors[2] = { { 0 } };
	struct refrun_input input = { .processor = &processor,
		.replay = replay,
		.threads = 2,
		.codes = &chain,
		.read = read_chain,
		.read_context = streams,
		.predictors = predictors };
	struct refrun_result result = { 0 };
	struct err err = { "" };
	if (refrun(&input, NULL, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static void threads_run_at_once_each_on_its_core(void **state)
{
	(void)state;
	struct streams streams = { { LONG_WORK, WORK } };
	struct refrun_result result = run(&streams);
	double expected = LATENCY * LONG_WORK / 2.0; /* at 2 GHz; the other is done before */
	assert_true((double)result.ns > expected && (double)result.ns < expected * 1.001);
	assert_int_equal(result.cores[0].instructions, LONG_WORK);
	assert_int_equal(result.cores[1].instructions, WORK);
	assert_int_equal(result.missing, 0);
	free(result.cores);
}

static void instructions_that_are_not_there_are_counted(void **state)
{
	(void)state;
	struct streams streams = { { LONG_WORK, WORK - 1000 } };
	struct refrun_result result = run(&streams);
	assert_int_equal(result.missing, 1000);
	free(result.cores);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_run_at_once_each_on_its_core),
		cmocka_unit_test(instructions_that_are_not_there_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
