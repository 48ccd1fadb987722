/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the engine, in events for each second of CPU time: the least time of three runs, beside a
 * plain C loop that simulates the same M/M/1 queue and nothing else. Usage: sim [CUSTOMERS [LOAD]]
 *
 * An event is something that happens at a time of its own: an arrival, the end of a computation.
 */
#include "base/number.h"
#include "sim/dist.h"
#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CUSTOMERS = 5000000, RUNS = 3, SEED = 1 };

static double cpu_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail: it always exists */
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a simulated program is made of, and how many of its events there were. */
struct load {
	const char *name;
	uint32_t threads, locks, cores;
	uint64_t customers;
	const struct event_sink *sink;
	int (*next)(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
		struct sim_op *ret, struct err *err);
	bool has_source;
	struct sim_dist work;
	struct rng rng;
	uint64_t visits;
};

/* M/M/1: one server. */
static int serve(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)tid, (void)err;
	struct load *load = context;
	switch (ret->kind) {
	case SIM_GET:
		ret->kind = SIM_COMPUTE;
		ret->item = last->item;
		ret->amount = sim_draw(&load->work, &load->rng);
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

/* A closed network: takes one lock after the other, each for a time; never rests. */
static int visit(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)tid, (void)last, (void)err;
	struct load *load = context;
	switch (ret->kind) {
	case SIM_LOCK:
		ret->kind = SIM_COMPUTE;
		ret->amount = sim_draw(&load->work, &load->rng);
		break;
	case SIM_COMPUTE:
		ret->kind = SIM_UNLOCK;
		break;
	default:
		if (load->visits++ == load->customers) {
			ret->kind = SIM_STOP;
			break;
		}
		ret->kind = SIM_LOCK;
		ret->object = (uint32_t)rng_below(&load->rng, load->locks);
	}
	return 0;
}

/* Threads that compute and sleep: as many events pending as threads. */
static int live(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)tid, (void)last, (void)err;
	struct load *load = context;
	ret->kind = ret->kind == SIM_COMPUTE ? SIM_SLEEP : SIM_COMPUTE;
	if (load->visits++ == load->customers)
		ret->kind = SIM_STOP;
	ret->amount = sim_draw(&load->work, &load->rng);
	return 0;
}

static int take(void *context, const struct event *event, struct err *err)
{
	(void)event, (void)err;
	++*(uint64_t *)context;
	return 0;
}

static int build(struct sim *sim, const struct load *load)
{
	uint32_t number;
	int code = sim_add_queue(sim, "requests", 0, &number);
	for (uint32_t i = 0; i < load->locks && code == 0; i++)
		code = sim_add_mutex(sim, NULL, &number);
	for (uint32_t i = 0; i < load->threads && code == 0; i++)
		code = sim_add_thread(sim, NULL, NULL, &number);
	struct sim_source_options source = { .kind = SIM_POISSON,
		.interval = { .kind = SIM_EXPONENTIAL, .a = load->work.a / 0.7 },
		.limit = load->customers,
		.resource = SIM_NONE };
	return code == 0 && load->has_source ? sim_add_source(sim, NULL, &source, &number) : code;
}

/* Events for each second. */
static int measure(struct load load, double *ret, struct err *err)
{
	double best_s = 0;
	uint64_t events = 0;
	for (int run = 0; run < RUNS; run++) {
		struct load again = load;
		rng_init(&again.rng, SEED);
		struct sim_program program = { .context = &again, .next = load.next };
		struct sim_options options = {
			.seed = SEED, .cores = load.cores, .kernel.switch_ns = 0, .sink = load.sink
		};
		struct sim *sim = NULL;
		int code = sim_new(&options, &program, &sim, err);
		if (code == 0)
			code = build(sim, &again);
		double from_s = cpu_s();
		if (code == 0)
			code = sim_run(sim, err);
		double run_s = cpu_s() - from_s;
		if (code == 0)
			events = sim_event_count(sim);
		sim_free(sim);
		if (code < 0)
			return code;
		if (run == 0 || run_s < best_s)
			best_s = run_s;
	}
	*ret = (double)events / best_s;
	return 0;
}

/* The same as the first load, with nothing that M/M/1 does not need. */
static double plain_loop(uint64_t customers, double *ret_mean)
{
	double best_s = 0;
	for (int run = 0; run < RUNS; run++) {
		struct rng rng;
		rng_init(&rng, SEED);
		double from_s = cpu_s(), arrival = 0, free_at = 0, sum = 0;
		for (uint64_t i = 0; i < customers; i++) {
			arrival += dist_exponential(&rng) / 0.7;
			free_at = (free_at > arrival ? free_at : arrival) + dist_exponential(&rng);
			sum += free_at - arrival;
		}
		double run_s = cpu_s() - from_s;
		*ret_mean = sum / (double)customers;
		if (run == 0 || run_s < best_s)
			best_s = run_s;
	}
	return 2 * (double)customers / best_s;
}

int main(int argc, char **argv)
{
	uint64_t customers = CUSTOMERS;
	uint64_t only = 0; /* number of a load, from 1 */
	if (argc > 3 || (argc > 1 && number_parse_u64(argv[1], &customers) < 0) || customers == 0 ||
		(argc > 2 && number_parse_u64(argv[2], &only) < 0)) {
		fprintf(stderr, "usage: sim [CUSTOMERS [LOAD]]\n");
		return 2;
	}
	uint64_t seen = 0;
	struct event_sink sink = { .context = &seen, .event = take };
	static const struct sim_dist work = { .kind = SIM_EXPONENTIAL, .a = 100000 };
	const struct load loads[] = {
		{ "M/M/1", 1, 0, 0, customers, NULL, serve, true, work },
		{ "M/M/1, its server on one of two cores", 1, 0, 2, customers, NULL, serve, true,
			work },
		{ "M/M/1, all events told", 1, 0, 0, customers, &sink, serve, true, work },
		{ "closed: 100 threads, 10 locks", 100, 10, 0, customers, NULL, visit, false,
			work },
		{ "closed: 100 threads, 10 locks, 4 cores", 100, 10, 4, customers, NULL, visit,
			false, work },
		{ "closed, all events told", 100, 10, 0, customers, &sink, visit, false, work },
		{ "10 threads, no locks", 10, 0, 0, customers, NULL, live, false, work },
		{ "1,000 threads, no locks", 1000, 0, 0, customers, NULL, live, false, work },
		{ "100,000 threads, no locks", 100000, 0, 0, customers, NULL, live, false, work },
		{ "100,000 threads, no locks, 64 cores", 100000, 0, 64, customers, NULL, live,
			false, work },
	};
	double mean;
	printf("%-42s %6.1f M events/s\n", "M/M/1 in a plain loop",
		plain_loop(customers, &mean) / 1e6);
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		if (only > 0 && only != i + 1)
			continue;
		struct err err = { 0 };
		double rate;
		if (measure(loads[i], &rate, &err) < 0) {
			fprintf(stderr, "sim: %s\n", err.text);
			return 1;
		}
		printf("%-42s %6.1f M events/s\n", loads[i].name, rate / 1e6);
	}
	return 0;
}
