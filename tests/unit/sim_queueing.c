/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sim: queueing theory. Each figure is the mean of independent replications with fixed seeds; the closed
 * form must lie within 4 standard errors of it, which a right engine misses once in 15,000 tries (and
 * with fixed seeds: never again once it passed), and the standard error must be small enough for that
 * to mean something.
 */
#include "cmocka_all.h"

#include "base/mem.h"
#include "sim/sim.h"

#include <math.h>

struct replications {
	double sum, sum2;
	int count;
};

static void add(struct replications *r, double value)
{
	r->sum += value;
	r->sum2 += value * value;
	r->count++;
}

static void assert_mean(const struct replications *r, double expected, double resolution)
{
	double mean = r->sum / r->count;
	double error = sqrt((r->sum2 / r->count - mean * mean) / (r->count - 1));
	if (!(error <= resolution * fabs(expected)))
		fail_msg("standard error %g of %g: too coarse a test", error, expected);
	if (!(fabs(mean - expected) <= 4 * error))
		fail_msg("mean %g, standard error %g, expected %g", mean, error, expected);
}

/* Servers that take requests from queue 0. */
struct station {
	struct sim_dist service;
	uint64_t ended, warm, response_ns;
};

static int serve(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)tid, (void)err;
	static const uint8_t next[] = { [SIM_GET] = SIM_COMPUTE,
		[SIM_COMPUTE] = SIM_REQUEST_END,
		[SIM_REQUEST_END] = SIM_GET };
	struct station *station = context;
	if (last->item)
		ret->item = last->item;
	ret->kind = ret->kind == SIM_OP_KINDS ? SIM_GET : (enum sim_op_kind)next[ret->kind];
	ret->amount = ret->kind == SIM_COMPUTE ? sim_draw(&station->service, sim_rng(sim)) : 0;
	ret->object = 0;
	return 0;
}

static void count(void *context, uint64_t request, uint64_t begin_ns, uint64_t end_ns, int status)
{
	struct station *station = context;
	if (status < 0 || request <= station->warm)
		return;
	station->ended++;
	station->response_ns += end_ns - begin_ns;
}

/* Mean response time of an open station; the first tenth is left out. */
static double response_ns(uint64_t seed, struct sim_dist interval, struct sim_dist service,
	uint32_t servers, uint64_t requests)
{
	struct station station = { .service = service, .warm = requests / 10 };
	struct sim_program program = { .context = &station, .next = serve, .request_ended = count };
	struct sim_options options = { .seed = seed };
	struct sim *sim = NULL;
	uint32_t queue, source, tid;
	assert_int_equal(sim_new(&options, &program, &sim, NULL), 0);
	assert_int_equal(sim_add_queue(sim, "requests", 0, &queue), 0);
	struct sim_source_options arrivals = { .kind = SIM_INTERVALS,
		.interval = interval,
		.limit = requests,
		.queue = queue,
		.resource = SIM_NONE };
	assert_int_equal(sim_add_source(sim, NULL, &arrivals, &source), 0);
	for (uint32_t i = 0; i < servers; i++)
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &tid), 0);
	assert_int_equal(sim_run(sim, NULL), 0);
	assert_int_equal(station.ended, requests - station.warm);
	sim_free(sim);
	return (double)station.response_ns / (double)station.ended;
}

static void mm1(void **state)
{
	(void)state;
	struct replications r = { 0 };
	for (uint64_t seed = 1; seed <= 20; seed++)
		add(&r, response_ns(seed, (struct sim_dist){ SIM_EXPONENTIAL, 100000 },
				(struct sim_dist){ SIM_EXPONENTIAL, 70000 }, 1, 50000));
	assert_mean(&r, 70000 / (1 - 0.7), 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mm1),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
