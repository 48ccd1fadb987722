/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections that are requests: who makes them, and what a server does with them after its answer. */
#include "build_script.h"

#include "base/rng.h"
#include "builder/clients.h"

enum { REQUESTS = 2000, CLIENTS_MAX = 8 };

/* What a server with one thread for each client would see, of requests of one of these kinds. */
struct load {
	uint32_t clients; /* that wait for their answers; 0: requests come at a rate */
	double think_s, service_s;
	bool are_regular; /* times between them, or thinking, are always the same; else exponential */
	double late_s; /* an answer is told of so much later */
};

struct seen {
	struct build_moment moments[2 * REQUESTS];
	size_t count;
};

static double draw(struct rng *rng, double mean_s)
{
	return -mean_s * log(1 - rng_uniform(rng));
}

static int compare_moments(const void *left, const void *right)
{
	const struct build_moment *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->is_end - b->is_end;
}

static void add(struct seen *seen, double time_s, bool is_end)
{
	seen->moments[seen->count++] =
		(struct build_moment){ .time_ns = (uint64_t)((1 + time_s) * 1e9),
			.is_end = is_end };
}

static void see(const struct load *load, uint64_t seed, struct seen *seen)
{
	struct rng rng;
	double next_s[CLIENTS_MAX] = { 0 };
	uint32_t lines = load->clients ? load->clients : 1;
	rng_init(&rng, seed);
	seen->count = 0;
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t first = 0;
		for (uint32_t j = 1; j < lines; j++)
			first = next_s[j] < next_s[first] ? j : first;
		double pause_s = load->are_regular ? load->think_s : draw(&rng, load->think_s);
		double begin_s = next_s[first], end_s = begin_s + draw(&rng, load->service_s);
		add(seen, begin_s, false);
		add(seen, end_s + load->late_s, true);
		next_s[first] = (load->clients ? end_s : begin_s) + pause_s;
	}
	qsort(seen->moments, seen->count, sizeof *seen->moments, compare_moments);
}

static void who_waits_for_answers_is_told_from_a_rate(void **state)
{
	(void)state;
	static const struct load loads[] = {
		{ .clients = 4, .think_s = 1e-3, .service_s = 1e-3 },
		{ .clients = 4, .think_s = 1e-5, .service_s = 1e-3 },
		{ .clients = 4, .think_s = 1e-4, .service_s = 1e-3, .late_s = 2e-6 },
		{ .clients = 1, .think_s = 1e-3, .service_s = 1e-3 },
		{ .clients = 8, .think_s = 4e-3, .service_s = 4e-3, .are_regular = true },
		{ .think_s = 1e-3, .service_s = 1e-4 },
		{ .think_s = 1e-3, .service_s = 3e-3 },
		{ .think_s = 1e-3, .service_s = 1e-4, .are_regular = true },
		{ .think_s = 1e-3, .service_s = 5e-4, .are_regular = true },
		{ .think_s = 1e-3, .service_s = 3e-3, .are_regular = true },
	};
	static struct seen seen;
	static double thinking_s[2 * REQUESTS];
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			const struct load *load = &loads[i];
			see(load, seed, &seen);
			int64_t clients = build_clients_count(seen.moments, seen.count);
			if (clients != load->clients)
				fail_msg("load %zu: %d clients", i, (int)clients);
			if (clients == 0)
				continue;
			size_t count = build_clients_think(
				seen.moments, seen.count, (uint32_t)clients, thinking_s);
			double sum_s = load->late_s * (double)count;
			for (size_t j = 0; j < count; j++)
				sum_s += thinking_s[j];
			assert_true(count == REQUESTS - load->clients);
			assert_true(fabs(sum_s / (double)count / load->think_s - 1) < 0.15);
		}
}

static void few_requests_are_nobodys(void **state)
{
	(void)state;
	static struct seen seen;
	see(&(struct load){ .clients = 4, .think_s = 1e-5, .service_s = 1e-3 }, 1, &seen);
	assert_int_equal(build_clients_count(seen.moments, 20), 0);
	assert_int_equal(build_clients_count(seen.moments, 0), 0);
	for (size_t i = 0; i < seen.count; i++)
		seen.moments[i] = (struct build_moment){ .time_ns = 5, .is_end = i % 2 };
	assert_int_equal(build_clients_count(seen.moments, seen.count), 0);
}

static void at(struct script *s, uint32_t tid, enum event_kind kind, uint64_t number)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_IO,
			.object = 5 + number % 9,
			.site = 20,
			.value = number });
}

static void hand(struct script *s, uint32_t tid, enum event_kind kind)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_QUEUE,
			.object = 200,
			.site = 50 + kind,
			.value = 8 });
}

/* Main has input over a connection, and a worker gets it. */
static void hand_on(struct script *s, uint32_t tid, uint64_t number)
{
	send(s, (struct event){ .tid = MAIN,
			.kind = EVENT_WAIT,
			.what = WHAT_IO,
			.site = 30,
			.value = EVENT_IO_POLL });
	s->now_ns += 1000;
	op(s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
	if (number > 0)
		at(s, MAIN, EVENT_REQUEST_BEGIN, number);
	hand(s, MAIN, EVENT_RELEASE);
	hand(s, tid, EVENT_PASS);
}

/* Two clients; who has an answer closes the connection, which one more worker then looks at. */
static void connections_that_linger_are_no_requests(void **state)
{
	(void)state;
	struct script s = begin(2);
	struct rng rng;
	uint64_t began_ns[3] = { 0 };
	rng_init(&rng, 1);
	hand_on(&s, 1, 1);
	began_ns[1] = s.now_ns;
	for (uint64_t i = 1; i <= 400; i++) {
		uint32_t tid = 1 + (uint32_t)i % 2, other = 3 - tid;
		hand_on(&s, tid, i + 1);
		began_ns[tid] = s.now_ns;
		s.now_ns += (uint64_t)draw(&rng, 1e5);
		work(&s, other, s.now_ns - began_ns[other]);
		at(&s, other, EVENT_REQUEST_END, i);
		hand_on(&s, other, 0);
	}
	at(&s, 2, EVENT_REQUEST_END, 401);
	AUTO(model) struct model *model = finish(&s, 2);
	assert_int_equal(model->source_count, 1);
	assert_int_equal(model->sources[0].kind, MODEL_CLOSED);
	uint32_t clients = model_find_parameter(model, "clients");
	assert_int_not_equal(clients, MODEL_NONE);
	assert_int_equal((int)model->parameters[clients].value, 2);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fit.measured_response_s > 0);
	/* A request that met the way of a connection that lingers would be lost, and its client with it. */
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.1);
}

enum { OWN_LOCK = 500 };

/* A lock that the program made of a condition. */
static void hold(struct script *s, uint32_t tid, uint64_t ns)
{
	op(s, tid, EVENT_PASS, WHAT_QUEUE, OWN_LOCK, 60);
	work(s, tid, ns);
	s->now_ns += ns;
	op(s, tid, EVENT_RELEASE, WHAT_QUEUE, OWN_LOCK, 61);
}

/* Main has more to do at first than there are requests; another thread is there all along. */
static void who_is_begun_for_a_request_keeps_it(void **state)
{
	(void)state;
	struct script s = begin(1);
	op(&s, 1, EVENT_RELEASE, WHAT_QUEUE, OWN_LOCK, 61);
	for (uint64_t i = 0; i < 1000; i++)
		hold(&s, MAIN, 1000);
	for (uint32_t i = 1; i <= 48; i++) {
		send(&s, (struct event){ .tid = MAIN,
				 .kind = EVENT_WAIT,
				 .what = WHAT_IO,
				 .site = 30,
				 .value = EVENT_IO_POLL });
		s.now_ns += 40000 + 997 * (i % 7);
		op(&s, MAIN, EVENT_PASS, WHAT_IO, 0, 30);
		at(&s, MAIN, EVENT_REQUEST_BEGIN, i);
		hold(&s, MAIN, 1000);
		send(&s, (struct event){ .tid = MAIN + i,
				 .kind = EVENT_THREAD_START,
				 .object = 0x700,
				 .site = 2,
				 .value = MAIN });
		hold(&s, MAIN, 1000);
		hold(&s, MAIN + i, 9000);
		at(&s, MAIN + i, EVENT_REQUEST_END, i);
		op(&s, MAIN + i, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	}
	AUTO(model) struct model *model = finish(&s, 0);
	const struct model_fragment *spawn = NULL;
	const struct model_group *first = &model->groups[0];
	for (size_t i = 0; i < first->fragment_count; i++)
		if (first->fragments[i].op == MODEL_SPAWN && first->fragments[i].hands_on)
			spawn = &first->fragments[i];
	assert_non_null(spawn);
	const struct model_fragment *put = fragment_of(model, spawn->object, MODEL_PUT);
	assert_true(put && put->is_plain);
	/* Nor is the lock a queue through which connections go that linger: main takes it again and again. */
	assert_non_null(fragment_of(model, 0, MODEL_LOOP));
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_per_s / fit.measured_per_s - 1) < 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_answers_is_told_from_a_rate),
		cmocka_unit_test(few_requests_are_nobodys),
		cmocka_unit_test(connections_that_linger_are_no_requests),
		cmocka_unit_test(who_is_begun_for_a_request_keeps_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
