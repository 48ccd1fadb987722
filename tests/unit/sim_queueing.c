/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: open and closed stations against queueing theory (L. Kleinrock, Queueing Systems, vol. 1). */
#include "cmocka_all.h"

#include "sim/dist.h"
#include "sim/sim.h"
#include "sim_replications.h"

#include <errno.h>

#define EXPONENTIAL(mean) ((struct sim_dist){ SIM_EXPONENTIAL, .a = (mean) })

/* Requests go into a queue, from which servers take them. */
struct station {
	struct sim_dist interval, service;
	enum sim_source_kind source;
	uint32_t servers, cores, population;
	uint64_t room, requests; /* of the queue, 0: unbounded; how many come */
	struct sim_dist quantum; /* round robin, if there are cores */
	/* What comes out; the first tenth of the requests are left out. */
	uint64_t served, refused;
	double response_ns, end_ns, queue_length;
};

static int serve(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)tid, (void)err;
	struct station *station = context;
	switch (ret->kind) {
	case SIM_GET:
		ret->kind = SIM_COMPUTE;
		ret->item = last->item;
		ret->amount = sim_draw(&station->service, sim_rng(sim));
		break;
	case SIM_COMPUTE:
		ret->kind = SIM_REQUEST_END;
		ret->amount = 0;
		break;
	default:
		ret->kind = SIM_GET;
		ret->object = 0;
	}
	return 0;
}

static void request_ended(
	void *context, uint64_t request, uint64_t begin_ns, uint64_t end_ns, int status)
{
	struct station *station = context;
	if (request <= station->requests / 10)
		return;
	if (status < 0) {
		assert_int_equal(status, -EAGAIN);
		station->refused++;
		return;
	}
	station->served++;
	station->response_ns += (double)(end_ns - begin_ns);
}

static void run(struct station *station, uint64_t seed)
{
	struct sim_program program = {
		.context = station, .next = serve, .request_ended = request_ended
	};
	struct sim_options options = { .seed = seed,
		.cores = station->cores,
		.scheduler = SIM_ROUND_ROBIN,
		.quantum = station->quantum };
	struct sim *sim = NULL;
	uint32_t queue, source, tid;
	assert_int_equal(sim_new(&options, &program, &sim, NULL), 0);
	assert_int_equal(sim_add_queue(sim, "requests", station->room, &queue), 0);
	struct sim_source_options arrivals = { .kind = station->source,
		.interval = station->interval,
		.population = station->population,
		.limit = station->requests,
		.queue = queue,
		.resource = SIM_NONE };
	assert_int_equal(sim_add_source(sim, NULL, &arrivals, &source), 0);
	for (uint32_t i = 0; i < station->servers; i++)
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &tid), 0);
	station->served = station->refused = 0;
	station->response_ns = 0;
	struct err err = { 0 };
	if (sim_run(sim, &err) < 0)
		fail_msg("%s", err.text);
	struct sim_object_stats stats;
	sim_object_stats(sim, SIM_QUEUE, queue, &stats);
	station->end_ns = (double)sim_now(sim);
	station->queue_length = stats.mean_length;
	/* Little's law holds on every run, exactly: all that came has left. */
	assert_true(fabs(stats.mean_length * station->end_ns - (double)stats.held_ns) <=
		    1e-9 * (double)stats.held_ns);
	assert_int_equal(stats.uses + stats.refused, station->requests);
	sim_free(sim);
}

static void assert_response(struct station station, double expected_ns)
{
	struct replications r = { 0 };
	for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
		run(&station, seed);
		replications_add(&r, station.response_ns / (double)station.served);
	}
	assert_mean(&r, expected_ns, 0.02);
}

enum { SERVICE_NS = 70000, INTERVAL_NS = 100000, REQUESTS = 20000 };

static struct station open_station(struct sim_dist service)
{
	return (struct station){ .source = SIM_POISSON,
		.interval = EXPONENTIAL(INTERVAL_NS),
		.service = service,
		.servers = 1,
		.requests = REQUESTS };
}

static void one_server_answers_as_m_m_1(void **state)
{
	(void)state;
	assert_response(open_station(EXPONENTIAL(SERVICE_NS)), SERVICE_NS / (1 - 0.7));
}

/* Erlang's C: the chance to wait with c servers and a load of a. */
static double erlang_c(int c, double a)
{
	double term = 1, sum = 1;
	for (int k = 1; k < c; k++)
		sum += term *= a / k;
	double all_busy = term * a / c * c / (c - a);
	return all_busy / (sum + all_busy);
}

static void many_servers_answer_as_m_m_c(void **state)
{
	(void)state;
	for (uint32_t servers = 2; servers <= 8; servers += 3) {
		double load = 0.7 * servers, service_ns = load * INTERVAL_NS;
		struct station station = open_station(EXPONENTIAL(service_ns));
		station.servers = servers;
		double wait_ns = erlang_c((int)servers, load) * service_ns / (servers - load);
		assert_response(station, service_ns + wait_ns);
		/* On as many cores it is the same. */
		station.cores = servers;
		if (servers == 2)
			assert_response(station, service_ns + wait_ns);
	}
}

/* Pollaczek and Khinchine: the mean wait is lambda E[S^2] / (2 (1 - rho)). */
static void any_service_time_answers_as_m_g_1(void **state)
{
	(void)state;
	static const double quantiles[] = { 10000, 20000, 50000, 200000 };
	double mean = 0, mean2 = 0;
	for (int i = 0; i < 3; i++) {
		double a = quantiles[i], b = quantiles[i + 1];
		mean += (a + b) / 2 / 3;
		mean2 += (a * a + a * b + b * b) / 3 / 3;
	}
	const struct {
		struct sim_dist service;
		double mean, mean2;
	} cases[] = {
		{ { SIM_FIXED, .a = 70000 }, 7e4, 49e8 },
		{ { SIM_UNIFORM, .a = 0, .b = 140000 }, 7e4, 49e8 * 4 / 3 },
		{ { SIM_ERLANG, .a = 70000, .b = 4 }, 7e4, 49e8 * 1.25 },
		{ { SIM_EMPIRICAL, .values = quantiles, .value_count = 4 }, mean, mean2 },
	};
	for (size_t i = 0; i < 4; i++) {
		double rho = cases[i].mean / INTERVAL_NS;
		assert_response(open_station(cases[i].service),
			cases[i].mean + cases[i].mean2 / INTERVAL_NS / (2 * (1 - rho)));
	}
}

static void a_full_queue_refuses_as_m_m_1_k(void **state)
{
	(void)state;
	for (int k = 2; k <= 6; k += 2) {
		struct station station = open_station(EXPONENTIAL(90000));
		station.room = (uint64_t)k - 1; /* one more is served */
		double rho = 0.9, loss = (1 - rho) * pow(rho, k) / (1 - pow(rho, k + 1));
		struct replications r = { 0 };
		for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
			run(&station, seed);
			double seen = (double)(station.served + station.refused);
			replications_add(&r, (double)station.refused / seen);
		}
		assert_mean(&r, loss, 0.02);
	}
}

/* Mean value analysis of n machines, each working for z, that one repairs in s: requests / time. */
static double repairs_per_ns(int machines, double z, double s)
{
	double length = 0, rate = 0;
	for (int n = 1; n <= machines; n++) {
		double response = s * (1 + length);
		rate = n / (z + response);
		length = rate * response;
	}
	return rate;
}

static void machines_are_repaired_as_theory_says(void **state)
{
	(void)state;
	enum { Z = 500000, S = 100000 };
	for (uint32_t machines = 1; machines <= 9; machines += 4) {
		struct station station = { .source = SIM_CLOSED,
			.interval = EXPONENTIAL(Z),
			.service = EXPONENTIAL(S),
			.population = machines,
			.servers = 1,
			.requests = REQUESTS };
		struct replications r = { 0 };
		for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
			run(&station, seed);
			replications_add(&r, station.requests / station.end_ns);
		}
		/* It begins with all at work and stops at the last: half a cycle of each machine. */
		double rate = repairs_per_ns((int)machines, Z, S);
		assert_near(&r, rate, 0.01 * rate, rate * machines / REQUESTS);
	}
}

/*
 * Processor sharing: the mean response is E[S] / (1 - rho) for any service time, where first come, first
 * served gives E[S] + rho E[S] / (2 (1 - rho)) with a fixed one, 35% less. Round robin comes there as the
 * quantum goes to 0: a request is at most about a quantum late for each one that is there.
 */
static void round_robin_comes_to_share_the_processor(void **state)
{
	(void)state;
	for (double quantum_ns = 4000; quantum_ns >= 1000; quantum_ns /= 4) {
		struct station station = open_station((struct sim_dist){ SIM_FIXED, .a = 70000 });
		station.servers = 60;
		station.cores = 1;
		station.requests = REQUESTS / 4;
		station.quantum = (struct sim_dist){ SIM_FIXED, .a = quantum_ns };
		struct replications r = { 0 };
		for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
			run(&station, seed);
			replications_add(&r, station.response_ns / (double)station.served);
		}
		double expected = 70000 / (1 - 0.7);
		assert_near(&r, expected, 0.03 * expected, quantum_ns / (1 - 0.7));
	}
}

static void requests_from_everywhere_are_all_served(void **state)
{
	(void)state;
	/* A batch and a constant rate end when theory says, to the nanosecond. */
	struct station batch = { .source = SIM_BATCH,
		.service = { SIM_FIXED, .a = 1000 },
		.servers = 3,
		.requests = 10 };
	run(&batch, 1);
	assert_true(batch.end_ns == 4000);
	struct station constant = { .source = SIM_INTERVALS,
		.interval = { SIM_FIXED, .a = 500 },
		.service = { SIM_FIXED, .a = 1000 },
		.servers = 1,
		.requests = 10 };
	run(&constant, 1);
	assert_true(constant.end_ns == 500 + 10 * 1000);
}

/* Distributions against their moments, and the logarithm against libm's. */

static void distributions_have_their_moments(void **state)
{
	(void)state;
	static const double quantiles[] = { 1e6, 2e6, 4e6 };
	const struct {
		struct sim_dist dist;
		double mean, variance;
	} cases[] = {
		{ { SIM_FIXED, .a = 5e6 }, 5e6, 0 },
		{ { SIM_UNIFORM, .a = 1e6, .b = 3e6 }, 2e6, 4e12 / 12 },
		{ EXPONENTIAL(1e6), 1e6, 1e12 },
		{ { SIM_ERLANG, .a = 3e6, .b = 9 }, 3e6, 1e12 },
		{ { SIM_EMPIRICAL, .values = quantiles, .value_count = 3 }, 2.25e6,
			(7.0 / 3 + 28.0 / 3) / 2 * 1e12 - 2.25e6 * 2.25e6 },
	};
	enum { DRAWS = 100000 };
	struct rng rng;
	rng_init(&rng, 7);
	for (size_t i = 0; i < 5; i++) {
		double sum = 0, sum2 = 0;
		for (int j = 0; j < DRAWS; j++) {
			double x = (double)sim_draw(&cases[i].dist, &rng);
			sum += x;
			sum2 += x * x;
		}
		double mean = sum / DRAWS, variance = sum2 / DRAWS - mean * mean;
		/* 4 standard errors; the variance of a variance is below 9 times its square here. */
		assert_true(
			fabs(mean - cases[i].mean) <= 4 * sqrt(cases[i].variance / DRAWS) + 1e-9);
		assert_true(fabs(variance - cases[i].variance) <=
			    4 * cases[i].variance * sqrt(8.0 / DRAWS) + 1e-3);
	}
}

/* Kolmogorov and Smirnov: sqrt(n) D exceeds 1.95 with a chance of 0.1%. */
static void the_ziggurat_is_exponential(void **state)
{
	(void)state;
	enum { DRAWS = 200000, BINS = 2000, TAIL = 8 };
	static uint32_t below[BINS + 1];
	struct rng rng;
	rng_init(&rng, 11);
	uint32_t tail = 0;
	for (int i = 0; i < DRAWS; i++) {
		double x = dist_exponential(&rng);
		assert_true(x >= 0);
		below[(int)((1 - exp(-x)) * BINS)]++;
		tail += x > TAIL;
	}
	double sum = 0, worst = 0;
	for (int i = 0; i < BINS; i++) {
		sum += below[i];
		worst = fmax(worst, fabs(sum / DRAWS - (double)(i + 1) / BINS));
	}
	assert_true(worst * sqrt(DRAWS) < 1.95);
	/* Beyond the last strip, which begins at 7.7. */
	double expected = DRAWS * exp(-TAIL);
	assert_true(fabs(tail - expected) <= 4 * sqrt(expected));
}

static void the_logarithm_is_libms(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 3);
	for (int i = 0; i < 100000; i++) {
		double x = ldexp(1 + rng_uniform(&rng), (int)rng_below(&rng, 200) - 100);
		assert_true(fabs(dist_log(x) - log(x)) <= 4.5e-16 * fabs(log(x)) + 1e-17);
		x = 1 - rng_uniform(&rng) * 0x1p-10;
		assert_true(fabs(dist_log(x) - log(x)) <= 4.5e-16 * fabs(log(x)));
	}
	assert_true(dist_log(1) == 0);
}

static void what_is_no_distribution_is_refused(void **state)
{
	(void)state;
	static const double descending[] = { 2, 1 };
	const struct sim_dist cases[] = { EXPONENTIAL(-1), EXPONENTIAL(NAN), EXPONENTIAL(INFINITY),
		{ SIM_UNIFORM, .a = 3, .b = 2 }, { SIM_ERLANG, .a = 1, .b = 0.5 },
		{ SIM_EMPIRICAL }, { SIM_EMPIRICAL, .values = descending, .value_count = 2 },
		{ (enum sim_dist_kind)77 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(dist_check(&cases[i], "it", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_server_answers_as_m_m_1),
		cmocka_unit_test(many_servers_answer_as_m_m_c),
		cmocka_unit_test(any_service_time_answers_as_m_g_1),
		cmocka_unit_test(a_full_queue_refuses_as_m_m_1_k),
		cmocka_unit_test(machines_are_repaired_as_theory_says),
		cmocka_unit_test(round_robin_comes_to_share_the_processor),
		cmocka_unit_test(requests_from_everywhere_are_all_served),
		cmocka_unit_test(distributions_have_their_moments),
		cmocka_unit_test(the_ziggurat_is_exponential),
		cmocka_unit_test(the_logarithm_is_libms),
		cmocka_unit_test(what_is_no_distribution_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
