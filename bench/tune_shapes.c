/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tune_shapes RUNS [POLICY]: what a controller makes of curves that no smooth law describes, simulated, with 8, 16, 32 or 64 threads
 * at most. Each run draws a curve of its kind:
 *
 *	saturates	divides among up to k threads, and then does no more
 *	peak		Gunther's law with its best count in the middle
 *	falls		each thread beyond the first one costs
 *	cliff		divides among up to k, stays, and beyond c does 1/4 to 3/4
 *	pieces		a loop of few iterations: the busiest thread has ceil(p / n) of p
 *	powers		counts that are no power of two do 1/2 to 4/5
 *	peaks		two of them: behind the first socket it falls, and rises again
 *
 * and a kind of noise: 1%, 5%, 10% (relative standard deviation of a whole interval), drift (all rates grow or fall by 1%
 * an interval, beside 1%), bursts (one interval in 20 loses two thirds, beside 1%), levels (tune_change.c). Intervals come in
 * eight parts, and to change the count costs a tenth of one.
 *
 * Printed: E, how much better the best count is than the one held after 40 intervals; S, intervals until one is held; how often
 * E is above 5%; the share of the best count's work in the 40 intervals, and in the last 20 of them.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tune/tuner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64, PARTS = 8, INTERVALS = 40, LAST = 20 };
static const double SETTLE = 0.1, LOOK = 0.02, WRONG = 0.05;
static const double DRIFT = 0.01, BURST = 0.05, LEVEL_CHANGE = 0.5;

enum shape { SATURATES, PEAK, FALLS, CLIFF, PIECES, POWERS, PEAKS, SHAPES };
static const char *const shape_names[] = { "saturates", "peak", "falls", "cliff", "pieces",
	"powers", "peaks" };

enum kind { PLAIN, DRIFTS, BURSTS, LEVELS };
static const struct noise {
	const char *name;
	double sd;
	enum kind kind;
} noises[] = { { "none", 0, PLAIN }, { "1%", 0.01, PLAIN }, { "5%", 0.05, PLAIN },
	{ "10%", 0.1, PLAIN }, { "drift", 0.01, DRIFTS }, { "bursts", 0.01, BURSTS },
	{ "levels", 0.01, LEVELS } };

struct world {
	uint32_t max;
	double rate[THREADS_MAX + 1], best;
	const struct noise *noise;
	struct rng rng;
	double now; /* in intervals */
	double drift; /* by interval */
	double burst_until;
	bool is_doubled;
};

struct outcome {
	double error, steps, wrong, work, last;
};

static double between(struct rng *rng, double low, double high)
{
	return low + (high - low) * rng_uniform(rng);
}

static double usl(double n, double contention, double best)
{
	double crosstalk = (1 - contention) / (best * best);
	return n / (1 + contention * (n - 1) + crosstalk * n * (n - 1));
}

static bool is_power(uint32_t n)
{
	return (n & (n - 1)) == 0;
}

/* What a curve is drawn from: each shape uses some. */
struct drawn {
	double knee, cliff, drop, contention, best;
};

static double rate_of(enum shape shape, const struct drawn *d, uint32_t max, uint32_t threads)
{
	double n = threads, socket = max / 2.0;
	switch (shape) {
	case SATURATES:
		return fmin(n, d->knee);
	case PEAK:
		return usl(n, d->contention, d->best);
	case FALLS:
		return n > 1 ? (1 - d->contention) * d->drop / pow(n - 1, d->contention) : 1;
	case CLIFF:
		return fmin(n, d->knee) * (n > d->cliff ? d->drop : 1);
	case PIECES:
		return 1 / ceil(ceil(d->best) / n);
	case POWERS:
		return usl(n, d->contention, d->best) * (is_power(threads) ? 1 : d->drop);
	case PEAKS:
		return n <= socket ? usl(n, d->contention, d->knee / 2)
				   : usl(n - socket / 2, d->contention / 4, max) * d->drop;
	default:
		return 1;
	}
}

static void world_make(
	enum shape shape, const struct noise *noise, uint64_t seed, struct world *ret)
{
	*ret = (struct world){ .noise = noise };
	struct rng *rng = &ret->rng;
	rng_init(rng, seed);
	ret->max = 8U << rng_below(rng, 4);
	double max = ret->max;
	struct drawn d = { .knee = between(rng, 1, max), .drop = between(rng, 0.25, 0.75) };
	d.cliff = between(rng, d.knee, max);
	d.contention = between(rng, 0, 0.2);
	d.best = between(rng, 1.5, max);
	if (shape == POWERS)
		d.drop = between(rng, 0.5, 0.8);
	for (uint32_t n = 1; n <= ret->max; n++) {
		ret->rate[n] = rate_of(shape, &d, ret->max, n);
		ret->best = fmax(ret->best, ret->rate[n]);
	}
	ret->drift = noise->kind != DRIFTS ? 0 : rng_uniform(rng) < 0.5 ? DRIFT : -DRIFT;
}

static double factor_of(struct world *world, uint32_t threads)
{
	const struct noise *noise = world->noise;
	double factor = exp(noise->sd * sqrt(PARTS) * rng_normal(&world->rng));
	factor *= exp(world->drift * world->now);
	if (noise->kind == BURSTS && world->now >= world->burst_until &&
		rng_uniform(&world->rng) < BURST / PARTS)
		world->burst_until = world->now + 1;
	if (world->now < world->burst_until)
		factor /= 3;
	if (noise->kind == LEVELS && rng_uniform(&world->rng) < LEVEL_CHANGE / PARTS)
		world->is_doubled = !world->is_doubled;
	if (noise->kind == LEVELS && threads > 1)
		factor *= world->is_doubled ? 4 / 3.0 : 2 / 3.0;
	return factor;
}

static void pass(struct world *world, uint32_t threads, double length, struct outcome *ret)
{
	double share = world->rate[threads] / world->best * length;
	ret->work += share / INTERVALS;
	if (world->now >= INTERVALS - LAST)
		ret->last += share / LAST;
	world->now += length;
}

static int play(
	struct world *world, const struct tune_policy *policy, uint64_t seed, struct outcome *ret)
{
	struct tuner_opts opts = {
		.space = { .max = world->max }, .policy = policy, .seed = seed, .look = LOOK
	};
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	int code = tuner_new(&opts, &tuner, &d, NULL);
	*ret = (struct outcome){ .steps = INTERVALS };
	while (code == 0 && world->now < INTERVALS) {
		uint32_t threads = d.threads;
		double rate = world->rate[threads] * factor_of(world, threads);
		pass(world, threads, 1.0 / PARTS, ret);
		code = tuner_measured(tuner, rate, 1.0 / PARTS, &d, NULL);
		if (d.state == TUNER_HOLDING && ret->steps == INTERVALS)
			ret->steps = world->now;
		if (d.threads != threads)
			pass(world, d.threads, SETTLE, ret);
	}
	ret->error = world->best / world->rate[d.held] - 1;
	ret->wrong = ret->error > WRONG;
	return code;
}

static int print_row(
	enum shape shape, const struct noise *noise, const struct tune_policy *policy, int runs)
{
	struct outcome sum = { 0 };
	for (int run = 0; run < runs; run++) {
		struct world world;
		struct outcome one;
		world_make(shape, noise, (uint64_t)run + 1, &world);
		int code = play(&world, policy, (uint64_t)run + 1, &one);
		if (code < 0)
			return code;
		sum.error += one.error;
		sum.steps += one.steps;
		sum.wrong += one.wrong;
		sum.work += one.work;
		sum.last += one.last;
	}
	printf("%-10s %-7s %6.3f %6.2f %6.3f %6.3f %6.3f\n", shape_names[shape], noise->name,
		sum.error / runs, sum.steps / runs, sum.wrong / runs, sum.work / runs,
		sum.last / runs);
	return 0;
}

int main(int argc, char **argv)
{
	const struct tune_policy *policy =
		argc > 2 ? tune_policy_by_name(argv[2]) : tune_policies[0];
	int runs = argc > 1 ? atoi(argv[1]) : 0, code = 0;
	if (argc < 2 || argc > 3 || !policy || runs < 1) {
		fputs("Usage: tune_shapes RUNS [POLICY]\n", stderr);
		return 2;
	}
	printf("%-10s %-7s %6s %6s %6s %6s %6s\n", "curve", "noise", "E", "S", "E>5%", "work",
		"last");
	for (int s = 0; code == 0 && s < SHAPES; s++)
		for (size_t n = 0; code == 0 && n < ARRAY_SIZE(noises); n++)
			code = print_row((enum shape)s, &noises[n], policy, runs);
	if (code < 0)
		fprintf(stderr, "tune_shapes: %s\n", strerror(-code));
	return code < 0;
}
