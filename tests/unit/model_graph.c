/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models as they are simulated, against closed forms; warming up and intervals against theory. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/fit.h"
#include "model/graph.h"
#include "model/sample.h"
#include "model/steady.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLICATIONS = 10, REQUESTS = 20000 };

static struct model *parse(const char *text)
{
	struct model *model = NULL;
	struct err err;
	AUTO_FILE FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(in);
	if (model_read(in, "m.yaml", &model, &err) < 0)
		fail_msg("%s", err.text);
	return model;
}

/* Parameters of a model with the first one set. */
static double *with_first(const struct model *model, double first)
{
	double *parameters = calloc(model->parameter_count + 1, sizeof *parameters);
	assert_non_null(parameters);
	for (size_t i = 0; i < model->parameter_count; i++)
		parameters[i] = model->parameters[i].value;
	if (model->parameter_count)
		parameters[0] = first;
	return parameters;
}

/* Replications of a model; the caller frees their rows. */
static double *replicate(const struct model *model, double first, uint64_t requests)
{
	size_t size = sample_size(model);
	double *rows = calloc(REPLICATIONS * size, sizeof *rows);
	AUTO_FREE double *parameters = with_first(model, first);
	assert_non_null(rows);
	for (size_t i = 0; i < REPLICATIONS; i++) {
		const struct sample_options options = { .model = model,
			.parameters = parameters,
			.seed = i + 1,
			.requests = requests };
		struct err err;
		if (sample_run(&options, rows + i * size, &err) < 0)
			fail_msg("%s", err.text);
	}
	return rows;
}

static struct estimate estimate_at(
	const struct model *model, const double *rows, size_t at, bool is_rate)
{
	double values[REPLICATIONS];
	size_t size = sample_size(model);
	for (size_t i = 0; i < REPLICATIONS; i++) {
		const double *row = rows + i * size;
		values[i] = is_rate ? row[at] / row[GRAPH_TIME_S] : row[at];
	}
	return estimate_of(values, REPLICATIONS);
}

/*
 * Theory in an interval twice as wide as the 95% one (a right simulation misses that with a probability of
 * 0.1%, and these seeds are fixed), and that one not wider than a tenth of the value.
 */
static void assert_near(struct estimate estimate, double theory, const char *what)
{
	double half = estimate.high - estimate.mean;
	if (fabs(estimate.mean - theory) > 2 * half || half > 0.1 * theory)
		fail_msg("%s: %g +- %g, in theory %g", what, estimate.mean, half, theory);
}

static const char *const queue_model =
	"corecast_model: 1\n"
	"parameters: { servers: 1, load: 0.7 }\n"
	"hardware: { cores: servers, scheduler: round_robin, quantum: 1000 s }\n"
	"queues: { q: {} }\n"
	"sources: { s: { poisson: load * servers / (10 ms), queue: q } }\n"
	"threads:\n"
	"  w:\n"
	"    count: servers\n"
	"    fragments:\n"
	"      get: { get: q }\n"
	"      serve: { cpu: exponential 10 ms, do: end_request, part: service, next: get }\n";

/* Erlang C: the probability to wait. */
static double erlang_c(unsigned servers, double load)
{
	double sum = 0, term = 1;
	for (unsigned k = 0; k < servers; k++) {
		sum += term;
		term *= load * servers / (k + 1);
	}
	return term / (1 - load) / (sum + term / (1 - load));
}

static void requests_wait_as_in_mmc(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	static const unsigned servers[] = { 1, 4 };
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		unsigned c = servers[i];
		AUTO_FREE double *rows = replicate(model, c, REQUESTS);
		double response = 0.01 + 0.01 * erlang_c(c, 0.7) / (c * 0.3);
		size_t at = sample_at(model);
		assert_near(estimate_at(model, rows, at + SAMPLE_RESPONSE_S, false), response,
			"response");
		assert_near(estimate_at(model, rows, GRAPH_SERVED, true), 70.0 * c, "throughput");
		assert_near(estimate_at(model, rows, GRAPH_BUSY_S, true), 0.7 * c, "busy cores");
		double queued = 70.0 * c * (response - 0.01);
		assert_near(estimate_at(model, rows, graph_object_at(model, 0) + GRAPH_AREA, true),
			queued, "queue");
		if (c == 1)
			assert_near(estimate_at(model, rows, at + SAMPLE_P90_S, false),
				response * log(10), "90% of responses");
	}
}

static void a_full_queue_drops_as_in_mm1k(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "parameters: { room: 4 }\n"
		      "hardware: { cores: 1 }\n"
		      "queues: { q: { capacity: room } }\n"
		      "sources: { s: { poisson: 100 /s, queue: q } }\n"
		      "threads: { w: { count: 1, fragments: { get: { get: q },\n"
		      "  serve: { cpu: exponential 10 ms, do: end_request, next: get } } } }\n");
	AUTO_FREE double *rows = replicate(model, 4, REQUESTS);
	/* At load 1 all states are equally probable: 4 in the queue, 1 served, or none. */
	assert_near(estimate_at(model, rows, GRAPH_DROPPED, true), 100 / 6.0, "dropped");
	assert_near(estimate_at(model, rows, GRAPH_SERVED, true), 500 / 6.0, "served");
}

static void clients_that_think_follow_mean_value_analysis(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "parameters: { n: 6 }\n"
		      "hardware: { cores: 0 }\n"
		      "queues: { cpu: {}, io: {} }\n"
		      "disks: { d: { classes: { read: exponential 8 ms } } }\n"
		      "sources: { s: { clients: n, think: exponential 50 ms, queue: cpu } }\n"
		      "threads:\n"
		      "  a: { count: 1, fragments: { get: { get: cpu },\n"
		      "       work: { cpu: exponential 5 ms, put: io, next: get } } }\n"
		      "  b: { count: 1, fragments: { get: { get: io }, read: { io: d },\n"
		      "       done: { do: end_request, next: get } } }\n");
	AUTO_FREE double *rows = replicate(model, 6, REQUESTS);
	double queue_a = 0, queue_b = 0, response = 0, throughput = 0;
	for (unsigned n = 1; n <= 6; n++) {
		double a = 0.005 * (1 + queue_a), b = 0.008 * (1 + queue_b);
		response = a + b;
		throughput = n / (response + 0.05);
		queue_a = throughput * a;
		queue_b = throughput * b;
	}
	assert_near(estimate_at(model, rows, sample_at(model) + SAMPLE_RESPONSE_S, false), response,
		"response");
	assert_near(estimate_at(model, rows, GRAPH_SERVED, true), throughput, "throughput");
	assert_near(estimate_at(model, rows, graph_object_at(model, 2) + GRAPH_HELD_S, true),
		throughput * 0.008, "disk");
}

static void a_program_with_a_serial_part_obeys_amdahl(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "parameters: { n: 4 }\n"
		      "hardware: { cores: n }\n"
		      "barriers: { end: { threads: n } }\n"
		      "threads:\n"
		      "  main: { count: 1, fragments: { start: { cpu: 100 ms, spawn: helper, "
		      "times: n - 1 },\n"
		      "    work: { cpu: 900 ms / n, arrive: end }, joined: { join: helper },\n"
		      "    tick: { do: tick } } }\n"
		      "  helper: { fragments: { work: { cpu: 900 ms / n, arrive: end } } }\n");
	for (unsigned n = 2; n <= 16; n *= 2) {
		AUTO_FREE double *parameters = with_first(model, n);
		AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
		const struct sample_options options = { .model = model, .parameters = parameters };
		struct err err;
		if (sample_run(&options, row, &err) < 0)
			fail_msg("%s", err.text);
		/* A nanosecond: times are whole ones. */
		assert_true(fabs(row[sample_at(model) + SAMPLE_RUN_S] - (0.1 + 0.9 / n)) < 2e-9);
		assert_true(row[GRAPH_TICKS] == 1);
	}
}

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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	struct err err;
	if (sample_run(&(struct sample_options){ .model = model }, row, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(row[graph_fragment_at(model, 0, 1) + GRAPH_COUNT] == 12);
	assert_true(fabs(row[GRAPH_TIME_S] - 0.04) < 1e-6);
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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	const struct sample_options options = { .model = model };
	AUTO_FREE double *parameters = with_first(model, 0);
	struct sample_options with = options;
	with.parameters = parameters;
	struct err err;
	if (sample_run(&with, row, &err) < 0)
		fail_msg("%s", err.text);
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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	AUTO_FREE double *parameters = with_first(model, 0);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct sample_options options = {
			.model = model, .parameters = parameters, .seed = seed
		};
		struct err err;
		if (sample_run(&options, row, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(row[GRAPH_TICKS] == 10 + 7);
	}
}

/* Ticks of a model whose only parameter is the number of its threads. */
static double ticks_of_four_threads(const char *text)
{
	AUTO(model) struct model *model = parse(text);
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	double threads[] = { 4 };
	struct sample_options options = { .model = model, .parameters = threads };
	struct err err;
	if (sample_run(&options, row, &err) < 0)
		fail_msg("%s", err.text);
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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct sample_options options = { .model = model, .seed = seed };
		struct err err;
		if (sample_run(&options, row, &err) < 0)
			fail_msg("%s", err.text);
	}
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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	const struct sample_options options = { .model = model };
	struct err err;
	if (sample_run(&options, row, &err) < 0)
		fail_msg("%s", err.text);
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

/* Clients that measured 150 us at a program that answers in 100 us, and saw it away for 1050 us: they think for 1 ms. */
static void what_clients_measure_tells_the_way_to_them(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\nparameters: { think: 1050 us }\nqueues: { q: {} }\n"
		      "sources: { s: { clients: 1, think: think, queue: q } }\n"
		      "threads: { w: { count: 1, fragments: { get: { get: q },\n"
		      "  end: { cpu: 100 us, do: end_request, next: get } } } }\n"
		      "recorded: { duration: 1 s, throughput: 869.565 /s }\n");
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_int_equal(model_fit_response(model, 150e-6, &fit), 0);
	assert_true(fabs(model->way.value - 50e-6) < 1e-9);
	assert_true(fabs(model->parameters[0].value - 1e-3) < 1e-9);
	assert_true(fabs(fit.simulated_response_s - 150e-6) < 1e-9);
	assert_true(fabs(fit.simulated_per_s / 869.565 - 1) < 0.002);
	/* Less than the program takes is no response of its clients. */
	assert_int_equal(model_fit_response(model, 90e-6, &fit), 0);
	assert_true(fabs(model->way.value - 50e-6) < 1e-9);
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
	AUTO_FREE double *row = calloc(sample_size(model), sizeof *row);
	AUTO_FREE double *parameters = with_first(model, 0);
	const struct sample_options options = { .model = model, .parameters = parameters };
	struct err err;
	if (sample_run(&options, row, &err) < 0)
		fail_msg("%s", err.text);
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
		AUTO_FREE double *parameters = with_first(model, 0);
		const struct sample_options options = {
			.model = model, .parameters = parameters, .event_limit = 100000
		};
		struct err err = { "" };
		int code = sample_run(&options, row, &err);
		if ((cases[i].code != -EINVAL && code != cases[i].code) || code >= 0 ||
			!strstr(err.text, cases[i].word))
			fail_msg("%d: %s", code, err.text);
	}
}

static void warming_up_is_found(void **state)
{
	(void)state;
	enum { COUNT = 4000, WARM = 600 };
	static double values[COUNT];
	struct rng rng;
	rng_init(&rng, 3);
	for (size_t i = 0; i < COUNT; i++)
		values[i] = rng_normal(&rng) + (i < WARM ? 10 * (1 - (double)i / WARM) : 0);
	size_t warm_up = steady_warm_up(values, COUNT);
	assert_in_range(warm_up, WARM * 6 / 10, WARM * 12 / 10);
	for (size_t i = 0; i < COUNT; i++)
		values[i] = 1;
	assert_int_equal(steady_warm_up(values, COUNT), 0);
	for (size_t i = 0; i < COUNT; i++)
		values[i] = (double)i; /* grows for ever: not over at half */
	assert_int_equal(steady_warm_up(values, COUNT), COUNT / 2);
}

static void intervals_hold_the_mean_95_times_of_100(void **state)
{
	(void)state;
	enum { TRIES = 4000, COUNT = 5 };
	struct rng rng;
	unsigned hits = 0;
	rng_init(&rng, 11);
	for (unsigned i = 0; i < TRIES; i++) {
		double values[COUNT];
		for (size_t k = 0; k < COUNT; k++)
			values[k] = 3 + rng_normal(&rng);
		struct estimate estimate = estimate_of(values, COUNT);
		hits += estimate.low <= 3 && 3 <= estimate.high;
	}
	/* 0.95 within 3 standard errors of a proportion, sqrt(0.95 * 0.05 / 4000). */
	assert_true(fabs((double)hits / TRIES - 0.95) < 3 * 0.00345);
	assert_true(isnan(estimate_of((double[]){ 1 }, 1).low));
	/* Tables of Student's t: 2.0395 for 31, 1.9840 for 100 degrees of freedom. */
	assert_true(fabs(steady_t95(31) - 2.0395) < 1e-4 && fabs(steady_t95(100) - 1.9840) < 1e-4);
}

static void a_request_that_is_begun_anew_counts_from_then(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse("corecast_model: 1\n"
				    "queues: { backlog: {} }\n"
				    "sources: { clients: { every: 1 ms, queue: backlog, "
				    "requests: 50 } }\n"
				    "threads:\n"
				    "  server:\n"
				    "    count: 1\n"
				    "    fragments:\n"
				    "      wait: { get: backlog }\n"
				    "      accept: { cpu: 300 us, do: begin_request }\n"
				    "      serve: { cpu: 200 us, do: end_request, next: wait }\n");
	const struct graph_options options = { .model = model, .seed = 1, .request_limit = 40 };
	AUTO(graph) struct graph *graph = NULL;
	struct err err;
	size_t count;
	assert_int_equal(graph_new(&options, &graph, &err), 0);
	assert_int_equal(graph_run(graph, &err), 0);
	const double *responses = graph_responses(graph, &count);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++)
		assert_true(fabs(responses[i] - 200e-6) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_wait_as_in_mmc),
		cmocka_unit_test(a_full_queue_drops_as_in_mm1k),
		cmocka_unit_test(clients_that_think_follow_mean_value_analysis),
		cmocka_unit_test(a_program_with_a_serial_part_obeys_amdahl),
		cmocka_unit_test(what_a_barrier_refills_is_dealt_out_again),
		cmocka_unit_test(loops_locks_and_parts_are_counted),
		cmocka_unit_test(what_is_drawn_from_a_deck_adds_up),
		cmocka_unit_test(turns_that_cannot_be_divided_add_up),
		cmocka_unit_test(who_holds_one_instance_takes_a_later_one),
		cmocka_unit_test(instances_are_locked_by_their_shares),
		cmocka_unit_test(who_is_started_gets_the_request),
		cmocka_unit_test(a_limit_that_lends_may_get_a_few_too_many),
		cmocka_unit_test(what_clients_measure_tells_the_way_to_them),
		cmocka_unit_test(a_queue_of_less_than_nothing_is_empty),
		cmocka_unit_test(the_last_reader_hands_over_to_a_writer),
		cmocka_unit_test(a_deadlock_and_an_endless_instant_are_explained),
		cmocka_unit_test(warming_up_is_found),
		cmocka_unit_test(intervals_hold_the_mean_95_times_of_100),
		cmocka_unit_test(a_request_that_is_begun_anew_counts_from_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
