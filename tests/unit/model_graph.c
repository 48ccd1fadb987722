/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models as they are simulated, against closed forms; warming up and intervals against theory. */
#include "model_script.h"

#include "base/rng.h"
#include "model/fit.h"
#include "model/graph.h"
#include "model/steady.h"

#include <math.h>
#include <stdio.h>

enum { REPLICATIONS = 10, REQUESTS = 20000 };

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
		AUTO_FREE double *row =
			run_with(model, (struct sample_options){ .parameters = parameters });
		/* A nanosecond: times are whole ones. */
		assert_true(fabs(row[sample_at(model) + SAMPLE_RUN_S] - (0.1 + 0.9 / n)) < 2e-9);
		assert_true(row[GRAPH_TICKS] == 1);
	}
}

/* a works for 1 ms in each of ten rounds, b for 0.5: who spins need not be woken, if each has a core. */
static void who_spins_at_a_barrier_is_not_woken(void **state)
{
	(void)state;
	static const struct {
		const char *spins, *cores;
		double least_s, most_s;
	} cases[] = { { "3 ms", "2", 0.0100, 0.01001 }, { "0.2 ms", "2", 0.01009, 0.01011 },
		{ "0 ms", "2", 0.01009, 0.01011 }, { "3 ms", "1", 0.0149, 0.0160 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_FREE char *text = NULL;
		assert_true(
			asprintf(&text,
				"corecast_model: 1\n"
				"hardware: { cores: %s, wake: 100 us }\n"
				"barriers: { b: { threads: 2, spins: %s } }\n"
				"threads:\n"
				"  a: { count: 1, fragments: { work: { cpu: 1 ms, arrive: b },\n"
				"    turns: { loop: work, times: 9, next: exit } } }\n"
				"  b: { count: 1, fragments: { work: { cpu: 0.5 ms, arrive: b },\n"
				"    turns: { loop: work, times: 9, next: exit } } }\n",
				cases[i].cores, cases[i].spins) > 0);
		AUTO(model) struct model *model = parse(text);
		AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
		double run_s = row[sample_at(model) + SAMPLE_RUN_S];
		assert_true(run_s >= cases[i].least_s && run_s <= cases[i].most_s);
	}
}

/* Four threads meet at one barrier 1 to 9 times, and then at another one, twenty times over. */
static void loops_of_rounds_are_drawn_together(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"barriers: { inner: { threads: 4 }, outer: { threads: 4 } }\n"
		"threads:\n"
		"  a: { count: 4, fragments: { in: { cpu: 1 ms, arrive: inner },\n"
		"    rounds: { loop: in, times: { 0: 50%, 8: 50% }, draws: 20, together: true },\n"
		"    out: { arrive: outer }, all: { loop: in, times: 19, next: exit } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(fabs(row[sample_at(model) + SAMPLE_RUN_S] - 0.1) < 1e-6);
}

/*
 * Two threads of different makes, which meet 1, 9, 9, 1 times at one barrier before they meet at another one, twice over. The order of the one is that
 * of its turns, of the other one that of its ways.
 */
static void what_comes_in_order_is_the_same_for_all(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "barriers: { inner: { threads: 2 }, outer: { threads: 2 } }\n"
		      "threads:\n"
		      "  a: { count: 1, fragments: { in: { cpu: 1 ms, arrive: inner },\n"
		      "    rounds: { loop: in, times: { 0: 50%, 8: 50% }, order: [1, 2 x 2, 1] },\n"
		      "    out: { arrive: outer }, all: { loop: in, times: 7, next: exit } } }\n"
		      "  b: { count: 1, fragments: { in: { cpu: 1 ms, arrive: inner,\n"
		      "      next: { in: 0.8, out: 0.2 }, order: [2, 8 x 1, 2, 8 x 1, 2, 2] },\n"
		      "    out: { arrive: outer }, all: { loop: in, times: 7, next: exit } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
	assert_true(fabs(row[sample_at(model) + SAMPLE_RUN_S] - 0.04) < 1e-6);
}

/* Ten items in batches: each costs 10 ms, and 1 ms for each item. */
static void a_batch_takes_what_there_is(void **state)
{
	(void)state;
	static const struct {
		const char *up_to, *times;
		double expected_s;
	} cases[] = { { "4", "taken", 0.040 }, { "all", "taken", 0.020 },
		{ "4", "taken - 1", 0.037 }, { "1", "taken", 0.110 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_FREE char *text = NULL;
		assert_true(asprintf(&text,
				    "corecast_model: 1\n"
				    "queues: { q: { initial: 10 } }\n"
				    "threads:\n"
				    "  c: { count: 1, fragments: { shut: { close: q },\n"
				    "    get: { get: q, up_to: %s, else: exit },\n"
				    "    batch: { sleep: 10 ms, next: turns },\n"
				    "    item: { sleep: 1 ms, next: turns },\n"
				    "    turns: { loop: item, times: %s, next: get } } }\n",
				    cases[i].up_to, cases[i].times) > 0);
		AUTO(model) struct model *model = parse(text);
		AUTO_FREE double *row = run_with(model, (struct sample_options){ 0 });
		assert_true(
			fabs(row[sample_at(model) + SAMPLE_RUN_S] - cases[i].expected_s) < 1e-6);
	}
}

/*
 * A request each millisecond, and 10 ms for all that there are: ten at once, which waited for 1 to 10 ms.
 */
static void all_requests_of_a_batch_end(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\nqueues: { q: {} }\n"
		      "sources: { s: { every: 1 ms, queue: q } }\n"
		      "threads: { w: { count: 1, fragments: { take: { get: q, up_to: all },\n"
		      "  serve: { sleep: 10 ms }, done: { do: end_request },\n"
		      "  more: { loop: done, times: taken - 1, next: take } } } }\n");
	AUTO_FREE double *row = run_with(model, (struct sample_options){ .requests = 5000 });
	const double *sample = row + sample_at(model);
	assert_true(fabs(sample[SAMPLE_ENDED] / sample[SAMPLE_RUN_S] / 1000 - 1) < 0.01);
	assert_true(fabs(sample[SAMPLE_RESPONSE_S] / 0.0155 - 1) < 0.01);
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

/*
 * Clients that were seen away for 500 us, of which they waited to be read, at one thread for four of them: the time from answer to
 * answer is what was seen and the service. So it is of twice as many and two threads, each with its own.
 */
static void waiting_to_be_read_is_not_thinking(void **state)
{
	(void)state;
	double thinking_s[2] = { 0 };
	for (unsigned threads = 1; threads <= 2; threads++) {
		AUTO_FREE char *text = NULL;
		assert_true(asprintf(&text,
				    "corecast_model: 1\nparameters: { think: 500 us }\n"
				    "queues: { q: { instances: %u } }\n"
				    "sources: { s: { clients: %u, think: exponential think, queue: "
				    "q } }\n"
				    "threads: { w: { count: %u, fragments: { get: { get: q },\n"
				    "  end: { cpu: exponential 100 us, do: end_request, next: get "
				    "} } } }\n"
				    "recorded: { duration: 10 s, throughput: 6667 /s }\n",
				    threads, 4 * threads, threads) > 0);
		AUTO(model) struct model *model = parse(text);
		struct model_fit fit;
		assert_int_equal(model_fit_run(model, &fit), 0);
		assert_true(fit.simulated_per_s < 0.95 * 6667 * threads);
		assert_int_equal(model_fit_think(model, &fit), 0);
		thinking_s[threads - 1] = model->parameters[0].value;
		assert_true(fit.simulated_queued_s > 40e-6);
		assert_true(fabs((model->parameters[0].value + fit.simulated_queued_s) / 500e-6 -
				    1) < 0.02);
		assert_true(fabs(fit.simulated_per_s / (6667 * threads) - 1) < 0.02);
	}
	assert_true(fabs(thinking_s[1] / thinking_s[0] - 1) < 0.02);
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

static void a_model_that_is_off_says_so(void **state)
{
	(void)state;
	static const struct {
		double took_s;
		bool is_slowed;
		size_t notes;
	} runs[] = { { 0.1, false, 0 }, { 0.11, false, 0 }, { 0.07, false, 1 }, { 0.07, true, 1 },
		{ 0.15, false, 1 }, { 0.15, true, 0 } };
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		AUTO(model)
		struct model *model = parse("corecast_model: 1\n"
					    "threads:\n"
					    "  worker:\n"
					    "    count: 1\n"
					    "    fragments:\n"
					    "      work: { cpu: 100 ms }\n");
		struct model_fit fit;
		model->recorded.duration_s = runs[i].took_s;
		model->recorded.is_slowed = runs[i].is_slowed;
		assert_int_equal(model_fit_run(model, &fit), 0);
		assert_int_equal(model_fit_add_note(model, &fit), 0);
		assert_int_equal(model->recorded.note_count, runs[i].notes);
	}
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
		cmocka_unit_test(who_spins_at_a_barrier_is_not_woken),
		cmocka_unit_test(loops_of_rounds_are_drawn_together),
		cmocka_unit_test(what_comes_in_order_is_the_same_for_all),
		cmocka_unit_test(a_batch_takes_what_there_is),
		cmocka_unit_test(all_requests_of_a_batch_end),
		cmocka_unit_test(what_clients_measure_tells_the_way_to_them),
		cmocka_unit_test(waiting_to_be_read_is_not_thinking),
		cmocka_unit_test(warming_up_is_found),
		cmocka_unit_test(intervals_hold_the_mean_95_times_of_100),
		cmocka_unit_test(a_model_that_is_off_says_so),
		cmocka_unit_test(a_request_that_is_begun_anew_counts_from_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
