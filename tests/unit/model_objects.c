/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a model's threads do with its objects, in runs that have one outcome. */
#include "model_script.h"

#include "model/graph.h"

#include <errno.h>
#include <math.h>

/* Two rounds of six pieces of 10 ms, each of which is dealt out among three. */
static void what_a_barrier_refills_is_dealt_out_again(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse("corecast_model: 1\n"
				    "barriers: { meet: { threads: 3 } }\n"
				    "queues: { pieces: { initial: 6, refilled_by: meet } }\n"
				    "threads:\n"
				    "  w: { count: 3, fragments: {\n"
				    "    take: { try_get: pieces, else: come },\n"
				    "    work: { cpu: 10 ms, next: take },\n"
				    "    come: { arrive: meet },\n"
				    "    rounds: { loop: take, times: 1, next: exit } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(row[graph_fragment_at(model, 0, 1) + GRAPH_COUNT] == 12);
	assert_true(fabs(row[GRAPH_TIME_S] - 0.04) < 1e-6);
}

/* Two clients, each with three questions that pass two threads; an answer to the other one would leave one waiting. */
static void replies_come_to_who_asked(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"queues: { asked: {}, passed: {}, answers: { instances: 2, replies: true } }\n"
		"threads:\n"
		"  client: { count: 2, fragments: {\n"
		"    ask: { cpu: uniform 1 us to 9 us, put: asked },\n"
		"    wait: { get: answers },\n"
		"    again: { loop: ask, times: 2, next: stop when done },\n"
		"    stop when done: { cpu: 1 us, next: exit } } }\n"
		"  front: { count: 2, fragments: { take: { get: asked },\n"
		"    pass: { cpu: uniform 1 us to 9 us, put: passed, next: take } } }\n"
		"  back: { count: 1, fragments: { work: { get: passed },\n"
		"    answer: { cpu: 2 us, put: answers, next: work } } }\n"
		"  main: { count: 1, fragments: { wait: { sleep: 1 ms, next: stop } } }\n");
	for (uint64_t seed = 1; seed <= 20; seed++) {
		AUTO_FREE double *row = run_with(model, (struct sample_options){ .seed = seed });
		assert_true(row[graph_fragment_at(model, 0, 3) + GRAPH_COUNT] == 2);
		assert_true(row[graph_fragment_at(model, 0, 1) + GRAPH_COUNT] == 6);
	}
}

/* Of three calls the first is before anybody waits, the second for one of two, the third for who still waits. */
static void calls_are_heard_by_who_waits(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "queues: { room: { calls: true } }\n"
		      "threads:\n"
		      "  caller: { count: 1, fragments: { early: { put: room, plain: true, times: "
		      "waiting },\n"
		      "    pause: { sleep: 2 ms }, one: { put: room, plain: true }, again: { "
		      "sleep: 2 ms },\n"
		      "    all: { put: room, plain: true, times: waiting, next: exit } } }\n"
		      "  w: { count: 2, fragments: { late: { sleep: 1 ms }, wait: { get: room },\n"
		      "    go on: { cpu: 1 us, next: exit } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(row[graph_fragment_at(model, 1, 2) + GRAPH_COUNT] == 2);
	assert_true(fabs(row[GRAPH_TIME_S] - 4e-3) < 1e-4);
}

/* Ten periods of 1 ms, each with 0.4 ms of work in it. */
static void paced_sleeps_do_not_add_up_what_is_between(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"threads: { w: { count: 1, fragments: { period: { sleep: 1 ms, paced: true },\n"
		"  work: { cpu: 400 us }, again: { loop: period, times: 9, next: exit } } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(fabs(row[GRAPH_TIME_S] - 10.4e-3) < 1e-5);
}

/* Five takes of a queue in which nothing ever is. */
static void a_queue_may_lend_any_number(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "queues: { tasks: { lends: any } }\n"
		      "threads: { w: { count: 1, fragments: { take: { get: tasks },\n"
		      "  work: { cpu: 1 us }, again: { loop: take, times: 4, next: exit } } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(row[graph_fragment_at(model, 0, 1) + GRAPH_COUNT] == 5);
}

static void cpu_times_follow_their_course(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "parameters: { n: 2 }\n"
		      "threads:\n"
		      "  apart: { count: 2, fragments: { work: { cpu: 1 ms,\n"
		      "    visits: 8, course: { factors: [1, 1, 1, 3], threads: n } },\n"
		      "    turns: { loop: work, times: 3, next: exit } } }\n"
		      "  together: { count: 2, fragments: { step: { cpu: 1 ms,\n"
		      "    visits: 6, course: { factors: [0, 1, 2] } },\n"
		      "    rounds: { loop: step, times: 2, next: exit } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(fabs(row[graph_fragment_at(model, 0, 0) + GRAPH_SPENT_S] - 12e-3) < 1e-6);
	assert_true(fabs(row[graph_fragment_at(model, 1, 0) + GRAPH_SPENT_S] - 6e-3) < 1e-6);
	assert_true(fabs(row[GRAPH_TIME_S] - 8e-3) < 1e-6); /* of the second piece */
}

static void loops_locks_and_parts_are_counted(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"hardware: { cores: 2 }\n"
		"mutexes: { m: {} }\n"
		"semaphores: { s: {} }\n"
		"queues: { q: { initial: 3 } }\n"
		"threads:\n"
		"  w: { count: 2, fragments: { outer: { loop: inner, times: 3, next: post },\n"
		"    inner: { loop: lock, times: { 2: 1 }, next: outer },\n"
		"    lock: { lock: m, part: locked }, held: { cpu: 10 ms, unlock: m, part: "
		"locked,\n"
		"      next: inner }, post: { post: s, times: 2, next: exit } } }\n"
		"  waiter: { count: 1, fragments: { first: { loop: take, times: 4, next: get },\n"
		"    take: { acquire: s, next: first }, get: { cpu: 1 us, try_get: q, else: exit,\n"
		"    next: get } "
		"} }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	const double *mutex = row + graph_object_at(model, 0);
	assert_true(mutex[GRAPH_USES] == 12); /* 2 threads, 3 times 2 passes */
	assert_true(fabs(mutex[GRAPH_HELD_S] - 0.12) < 1e-9);
	assert_true(fabs(row[GRAPH_TIME_S] - 0.12) < 1e-5);
	assert_true(row[graph_part_at(model, 0) + GRAPH_COUNT] == 12);
	assert_true(row[sample_peak_at(model, 2)] == 3);
	const double *get = row + graph_fragment_at(model, 1, 2);
	assert_true(get[GRAPH_COUNT] == 4); /* three items, then none */
}

/* A tenth of ten draws ends the thread, after all others; a quarter of four passes does eight ticks at once. */
static void what_is_drawn_from_a_deck_adds_up(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"threads:\n"
		"  w: { count: 1, fragments: {\n"
		"    often: { cpu: 1 us, do: tick, next: { often: 0.6, loop: 0.3, end: 0.1 },\n"
		"      draws: 10, last: end },\n"
		"    loop: { loop: turn, times: { 0: 0.6667, 7: 0.3333 }, draws: 3, next: often "
		"},\n"
		"    turn: { cpu: 1 us, do: tick, next: loop },\n"
		"    end: { cpu: 1 us, next: exit } } }\n");
	for (uint64_t seed = 1; seed <= 20; seed++) {
		AUTO_FREE double *row = run_with(model, (struct sample_options){ .seed = seed });
		assert_true(row[GRAPH_TICKS] == 10 + 7);
	}
}

/* Ticks of a model whose only parameter is the number of its threads. */
static double ticks_of_four_threads(const char *text)
{
	AUTO(model) struct model *model = parse(text);
	const double threads[] = { 4 };
	AUTO_FREE double *row = run_with(model, (struct sample_options){ .parameters = threads });
	return row[GRAPH_TICKS];
}

/* Nine jobs of four threads: one has three; and what is below nothing is nothing. */
static void turns_that_cannot_be_divided_add_up(void **state)
{
	(void)state;
	assert_true(
		ticks_of_four_threads(
			"corecast_model: 1\n"
			"parameters: { n: 4 }\n"
			"threads: { w: { count: n, fragments: { jobs: { loop: job, times: 9 / n,\n"
			"  next: more }, job: { cpu: 1 us, do: tick, next: jobs },\n"
			"  more: { loop: job, times: 3 - n, next: exit } } } }\n") == 9);
}

/* Two of three locks each: drawn in any order, threads would soon wait for one another. */
static void who_holds_one_instance_takes_a_later_one(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "mutexes: { fork: { instances: 3 } }\n"
		      "threads: { w: { count: 3, fragments: { often: { loop: left, times: 500,\n"
		      "  next: exit }, left: { cpu: 1 us, lock: fork }, right: { cpu: 1 us,\n"
		      "  lock: fork }, back: { cpu: 1 us, unlock: fork }, last: { unlock: fork,\n"
		      "  next: often } } } }\n");
	for (uint64_t seed = 1; seed <= 20; seed++)
		free(run_with(model, (struct sample_options){ .seed = seed }));
}

/* Two threads on two cores that lock 1000 times for 10 us each: time in all, s. */
static double time_of_shares(const char *shares)
{
	AUTO_FREE char *text = NULL;
	assert_true(
		asprintf(&text,
			"corecast_model: 1\nhardware: { cores: 2 }\n"
			"mutexes: { m: { instances: 100, shares: %s } }\n"
			"threads: { w: { count: 2, fragments: { often: { loop: lock, times: 1000,\n"
			"  next: exit }, lock: { lock: m }, unlock: { cpu: 10 us, unlock: m,\n"
			"  next: often } } } }\n",
			shares) > 0);
	AUTO(model) struct model *model = parse(text);
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	return row[GRAPH_TIME_S];
}

/*
 * One that has all lockings is the only one; a hundred that have a hundredth each are hardly ever the same. With a half at one,
 * both threads are free to draw in two of three turns of 10 us, and one of four such turns has one thread wait; in the third turn one holds
 * that lock, and the other comes to it in half of them: 5/3 sections in each turn.
 */
static void instances_are_locked_by_their_shares(void **state)
{
	(void)state;
	assert_true(fabs(time_of_shares("[100%]") - 0.02) < 0.0001);
	assert_true(fabs(time_of_shares("[1%, 1%, 1%]") - 0.01) < 0.0005);
	assert_true(fabs(time_of_shares("[50%]") - 0.012) < 0.0004);
}

/* Requests/s that so many threads, each on a core, serve for so many clients who ask at once again: 1 ms each. */
static double served(unsigned threads, unsigned clients, unsigned instances)
{
	AUTO_FREE char *text = NULL;
	assert_true(asprintf(&text,
			    "corecast_model: 1\n"
			    "queues: { q: { instances: %u } }\n"
			    "sources: { s: { clients: %u, think: 1 us, queue: q } }\n"
			    "threads: { w: { count: %u, fragments: { take: { get: q },\n"
			    "  serve: { cpu: 1 ms, do: end_request, next: take } } } }\n",
			    instances, clients, threads) > 0);
	AUTO(model) struct model *model = parse(text);
	AUTO_FREE double *row = run_with(model, (struct sample_options){ .duration_s = 10 });
	return row[GRAPH_SERVED] / row[GRAPH_TIME_S];
}

/* Of four clients and three threads one thread has two; with five instances and four threads one client has none. */
static void who_gets_of_an_instance_gets_of_no_other(void **state)
{
	(void)state;
	assert_true(fabs(served(3, 4, 1) - 3000) < 10);
	assert_true(fabs(served(3, 2, 3) - 2000) < 10);
	assert_true(fabs(served(3, 4, 3) - 3000) < 10);
	assert_true(fabs(served(2, 1, 2) - 1000) < 10);
	assert_true(fabs(served(4, 5, 5) - 4000) < 10);
	assert_true(fabs(served(4, 2, 1) - 2000) < 10);
	assert_true(fabs(served(4, 2, 4) - 2000) < 10);
	assert_true(fabs(served(1, 4, 2) - 1000) < 10);
	assert_true(fabs(served(4, 8, 3) - 4000) < 10); /* two threads share one */
	assert_true(fabs(served(4, 3, 3) - 3000) < 10);
}

/* What is taken and given back is drawn: a few more may be given back. */
static void a_limit_that_lends_may_get_a_few_too_many(void **state)
{
	static const char *const how[] = { "count: 3", "count: 3, lends: true" };
	(void)state;
	for (int i = 0; i < 2; i++) {
		AUTO_FREE char *text = NULL;
		assert_true(asprintf(&text,
				    "corecast_model: 1\nlimits: { l: { %s } }\n"
				    "threads: { w: { count: 2, fragments: {\n"
				    "  early: { cpu: 1 us, give: l, next: often },\n"
				    "  often: { loop: take, times: 100, next: exit },\n"
				    "  take: { cpu: 1 us, take: l, else: stop },\n"
				    "  give: { cpu: 1 us, give: l, next: often } } } }\n",
				    how[i]) > 0);
		AUTO(model) struct model *model = parse(text);
		AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
		const struct sample_options options = { .model = model };
		struct err err;
		assert_int_equal(sample_run(&options, row, &err), i == 0 ? -EINVAL : 0);
		assert_true(i == 1 || strstr(err.text, "more than was taken"));
	}
}

/* Main gets requests and starts a thread for each, with the request or without. */
static int run_starter(const char *how, double *row, struct err *err)
{
	AUTO_FREE char *text = NULL;
	assert_true(asprintf(&text,
			    "corecast_model: 1\nqueues: { q: {} }\n"
			    "sources: { s: { every: 1 ms, queue: q } }\n"
			    "threads:\n  main: { count: 1, fragments: { get: { get: q },\n"
			    "    start: { cpu: 1 us, spawn: one%s, next: get } } }\n"
			    "  one: { fragments: { end: { cpu: 10 us, do: end_request } } }\n",
			    how) > 0);
	AUTO(model) struct model *model = parse(text);
	const struct sample_options options = { .model = model, .requests = 3000 };
	AUTO_FREE double *results = calloc(sample_size(model), sizeof *results);
	int code = sample_run(&options, results, err);
	*row = results[GRAPH_SERVED];
	return code;
}

static void who_is_started_gets_the_request(void **state)
{
	(void)state;
	struct err err;
	double served;
	assert_int_equal(run_starter(", with_request: true", &served, &err), 0);
	assert_true(served >= 1500);
	/* Else nobody ends what main takes: that is said, and not simulated for ever. */
	assert_int_equal(run_starter("", &served, &err), -EINVAL);
	assert_non_null(strstr(err.text, "none of them ends"));
}

static void a_queue_of_less_than_nothing_is_empty(void **state)
{
	(void)state;
	assert_true(
		ticks_of_four_threads(
			"corecast_model: 1\n"
			"parameters: { n: 4 }\n"
			"queues: { jobs: { initial: 3 - n } }\n"
			"threads: { w: { count: n, fragments: { first: { cpu: 1 us, do: tick },\n"
			"  get: { try_get: jobs, else: exit, next: first } } } }\n") == 4);
}

/* A reader that comes back at once, 100 times, does not keep a writer out who needs a moment to wake up. */
static void the_last_reader_hands_over_to_a_writer(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "hardware: { cores: 2, wake: 10 us }\n"
		      "rwlocks: { l: {} }\n"
		      "threads:\n"
		      "  r: { count: 1, fragments: { again: { loop: in, times: 100, next: exit },\n"
		      "    in: { read_lock: l }, out: { cpu: 1 ms, unlock: l, next: again } } }\n"
		      "  w: { count: 1, fragments: { first: { sleep: 500 us }, in: { lock: l },\n"
		      "    out: { cpu: 1 ms, unlock: l, next: stop } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(row[GRAPH_TIME_S] < 0.003);
}

static void a_deadlock_and_an_endless_instant_are_explained(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int code;
		const char *word;
	} cases[] = {
		{ "corecast_model: 1\nbarriers: { meet: { threads: 3 } }\n"
		  "threads: { w: { count: 2, fragments: { a: { cpu: 1 us, arrive: meet } } } }\n",
			-EDEADLK, "meet" },
		{ "corecast_model: 1\nqueues: { q: {} }\n" /* who was started has a name, too */
		  "threads: { w: { count: 1, fragments: { a: { spawn: late } } },\n"
		  "  late: { fragments: { a: { get: q } } } }\n",
			-EDEADLK, "'late' waits for queue 'q'" },
		{ "corecast_model: 1\nqueues: { q: { initial: 1 } }\n"
		  "threads: { w: { count: 1, fragments: { a: { get: q }, b: { put: q, next: a } } "
		  "} }\n",
			-EINVAL, "" },
		{ "corecast_model: 1\n"
		  "threads: { w: { count: 1, fragments: { a: { cpu: [0 s, 0 s, 1 us], next: a } } "
		  "} }\n",
			-E2BIG, "events" },
		{ "corecast_model: 1\nqueues: { in: {}, q: {} }\n" /* requests go on coming */
		  "sources: { s: { poisson: 100 /s, queue: in } }\n"
		  "threads: { w: { count: 1, fragments: { a: { get: in }, b: { get: q, next: a } } "
		  "} }\n",
			-EDEADLK, "'q'" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model) struct model *model = parse(cases[i].text);
		AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
		const struct sample_options options = { .model = model, .event_limit = 100000 };
		struct err err = { "" };
		int code = sample_run(&options, row, &err);
		if ((cases[i].code != -EINVAL && code != cases[i].code) || code >= 0 ||
			!strstr(err.text, cases[i].word))
			fail_msg("%d: %s", code, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_barrier_refills_is_dealt_out_again),
		cmocka_unit_test(replies_come_to_who_asked),
		cmocka_unit_test(calls_are_heard_by_who_waits),
		cmocka_unit_test(a_queue_may_lend_any_number),
		cmocka_unit_test(paced_sleeps_do_not_add_up_what_is_between),
		cmocka_unit_test(cpu_times_follow_their_course),
		cmocka_unit_test(loops_locks_and_parts_are_counted),
		cmocka_unit_test(what_is_drawn_from_a_deck_adds_up),
		cmocka_unit_test(turns_that_cannot_be_divided_add_up),
		cmocka_unit_test(who_holds_one_instance_takes_a_later_one),
		cmocka_unit_test(instances_are_locked_by_their_shares),
		cmocka_unit_test(who_gets_of_an_instance_gets_of_no_other),
		cmocka_unit_test(a_limit_that_lends_may_get_a_few_too_many),
		cmocka_unit_test(who_is_started_gets_the_request),
		cmocka_unit_test(a_queue_of_less_than_nothing_is_empty),
		cmocka_unit_test(the_last_reader_hands_over_to_a_writer),
		cmocka_unit_test(a_deadlock_and_an_endless_instant_are_explained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
