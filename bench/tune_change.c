/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tune_change RUNS FOLDER [HALF]: what the controller makes of a workload that changes, simulated. A
 * workload is a measured curve of FOLDER, drawn by source, then by curve (HALF 0 or 1: of every other
 * source only), with as many threads at most as both curves have; behind the change one thread does 1/4
 * to 4 times as much. A change of the count costs a tenth of an interval that is not measured.
 *
 *	late	after 80 intervals: a count has been held for long
 *	early	within the first ten, often during the search
 *	often	the two in turn, three changes within twelve intervals of one another
 *	rises	within the first five intervals, during the search: the same curve, one thread does 1.5 to 4 times as much
 *	server	8 counts, 16 intervals each: work that divides among up to so many threads, one lock (the
 *		more than one thread do the same, and less), work that divides; begun with any of them
 *
 * noise: the relative standard deviation of a whole interval, of parts (1/8 of one) that are independent.
 * "stutter": besides, 2% of the parts lose half. "levels": the rate of more than one thread is two thirds or four
 * thirds of what it is on average, by turns of two intervals on average, as of a lock that is handed over or not: that is
 * 28% in an interval.
 *
 * Printed: the share of the best count's work in the 20 intervals before the change (late only), and in the 30 behind
 * the last one, and in the 30 behind those; intervals from there until a count is held that is within 2% of the best (60: never); how
 * often the count held in the end is more than 5% worse than the best one.
 */
#include "corpus.h"
#include "curve_rates.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tune/tuner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARTS = 8,
	SOON = 30,
	BEHIND = 60,
	BEFORE = 20,
	LATE = 80,
	EARLY = 10,
	OFTEN = 12,
	RISE = 5,
	LOADS_MAX = 4,
	PLANTED_MAX = 8,
	THIRD = 16
};
static const double SETTLE = 0.1, LOOK = 0.02, AS_GOOD = 0.02, WRONG = 0.05, FACTOR = 4,
		    RISE_LEAST = 1.5;
static const double STUTTER = 0.02, LEVEL_CHANGE = 0.5;

enum kind { PLAIN, STUTTERS, LEVELS };

struct noise {
	const char *name;
	double sd;
	enum kind kind;
};

struct load {
	const struct curve_rates *rates;
	double scale, until; /* intervals from the start */
};

struct world {
	struct load loads[LOADS_MAX];
	size_t load_count;
	uint32_t max;
	const struct noise *noise;
	struct rng rng;
	double now; /* in intervals */
	bool is_doubled;
};

struct outcome {
	double before, soon, later, found, wrong;
};

static double best_of(const struct load *load, uint32_t max)
{
	double best = 0;
	for (uint32_t n = 1; n <= max; n++)
		best = fmax(best, load->rates->rate[n]);
	return best * load->scale;
}

static const struct load *load_at(const struct world *world, double at)
{
	size_t i = 0;
	while (i + 1 < world->load_count && at >= world->loads[i].until)
		i++;
	return &world->loads[i];
}

/* Mean rate over the next so many intervals, without noise. */
static double rate_over(const struct world *world, uint32_t threads, double length)
{
	double work = 0, at = world->now, end = world->now + length;
	while (at < end) {
		const struct load *load = load_at(world, at);
		double until =
			fmin(load == &world->loads[world->load_count - 1] ? end : load->until, end);
		work += load->scale * load->rates->rate[threads] * (until - at);
		at = until;
	}
	return work / length;
}

static double noisy(struct world *world, double rate, uint32_t threads)
{
	const struct noise *noise = world->noise;
	double factor = exp(noise->sd * sqrt(PARTS) * rng_normal(&world->rng));
	if (noise->kind == STUTTERS && rng_uniform(&world->rng) < STUTTER)
		factor /= 2;
	if (noise->kind == LEVELS) {
		if (rng_uniform(&world->rng) < LEVEL_CHANGE / PARTS)
			world->is_doubled = !world->is_doubled;
		if (threads > 1)
			factor *= world->is_doubled ? 4 / 3.0 : 2 / 3.0;
	}
	return rate * factor;
}

/* Counts what was done in the next so many intervals. */
static void account(const struct world *world, uint32_t threads, double length, struct outcome *ret)
{
	const struct load *last = &world->loads[world->load_count - 1];
	double change = world->loads[world->load_count - 2].until;
	double since = world->now - change;
	const struct load *load = load_at(world, world->now);
	double share = load->scale * load->rates->rate[threads] / best_of(load, world->max);
	if (since >= -BEFORE && since < 0)
		ret->before += share * length / BEFORE;
	if (since >= 0 && since < SOON && load == last)
		ret->soon += share * length / SOON;
	else if (since >= SOON && since < BEHIND)
		ret->later += share * length / (BEHIND - SOON);
}

static int play(struct world *world, uint64_t seed, struct outcome *ret)
{
	struct tuner_opts opts = { .space = { .max = world->max }, .seed = seed, .look = LOOK };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	int code = tuner_new(&opts, &tuner, &d, NULL);
	const struct load *last = &world->loads[world->load_count - 1];
	double change = world->loads[world->load_count - 2].until, best = best_of(last, world->max);
	double held_share = 0;
	*ret = (struct outcome){ .found = BEHIND };
	while (code == 0 && world->now < change + BEHIND) {
		uint32_t threads = d.threads;
		double rate = rate_over(world, threads, 1.0 / PARTS);
		account(world, threads, 1.0 / PARTS, ret);
		world->now += 1.0 / PARTS;
		code = tuner_measured(tuner, noisy(world, rate, threads), 1.0 / PARTS, &d, NULL);
		if (d.threads != threads) {
			account(world, d.threads, SETTLE, ret);
			world->now += SETTLE;
		}
		held_share = last->scale * last->rates->rate[d.held] / best;
		if (world->now > change && ret->found == BEHIND && d.state == TUNER_HOLDING &&
			held_share >= 1 - AS_GOOD)
			ret->found = world->now - change;
	}
	ret->wrong = held_share < 1 - WRONG;
	return code;
}

/* The curves that can be searched, by source. */
struct sources {
	struct curve_rates *rates;
	size_t *first; /* of each source, and the end */
	size_t count;
};

static void sources_release(struct sources *sources)
{
	free(sources->rates);
	free(sources->first);
}

/* half -1: all; else every other source. */
static int sources_make(const struct corpus *corpus, int half, struct sources *ret)
{
	ret->rates = calloc(corpus->count, sizeof *ret->rates);
	ret->first = calloc(corpus->count + 1, sizeof *ret->first);
	if (!ret->rates || !ret->first)
		return -ENOMEM;
	size_t used = 0;
	int number = -1;
	for (size_t i = 0; i < corpus->count; i++) {
		const struct corpus_curve *c = &corpus->curves[i];
		bool is_new = i == 0 || strcmp(c->source, c[-1].source) != 0;
		number += is_new;
		if (is_new && ret->count > 0 && ret->first[ret->count - 1] == used)
			ret->count--; /* none of the last source's can be searched */
		if (half >= 0 && number % 2 != half)
			continue;
		if (is_new)
			ret->first[ret->count++] = used;
		used += curve_rates_make(c->curve, &ret->rates[used]);
	}
	if (ret->count > 0 && ret->first[ret->count - 1] == used)
		ret->count--;
	ret->first[ret->count] = used;
	return used > 0 ? 0 : -ENODATA;
}

static const struct curve_rates *draw(const struct sources *sources, struct rng *rng)
{
	size_t source = rng_below(rng, sources->count);
	size_t first = sources->first[source];
	return &sources->rates[first + rng_below(rng, sources->first[source + 1] - first)];
}

enum timing { COMES_LATE, COMES_EARLY, COMES_OFTEN, RISES, SERVER, TIMINGS };
static const char *const timing_names[] = { "late", "early", "often", "rises", "server" };

/* Work that divides among up to so many threads; or, below 0, one thread does so much more than any other count. */
static void planted(double divides, struct curve_rates *ret)
{
	*ret = (struct curve_rates){ .max = PLANTED_MAX };
	for (uint32_t n = 1; n <= PLANTED_MAX; n++)
		ret->rate[n] = divides > 0 ? fmin(n, divides) : n > 1 ? 1 : 1 - divides;
}

/* Three loads of a server: computes, one lock, waits. */
static void server_make(
	const struct noise *noise, uint64_t seed, struct curve_rates *rates, struct world *ret)
{
	*ret = (struct world){ .noise = noise, .load_count = 3, .max = PLANTED_MAX };
	rng_init(&ret->rng, seed);
	planted(1 + 7 * rng_uniform(&ret->rng), &rates[0]);
	planted(-0.2 - 6 * rng_uniform(&ret->rng), &rates[1]);
	planted(1 + 7 * rng_uniform(&ret->rng), &rates[2]);
	size_t first = rng_below(&ret->rng, 3);
	double until = 0;
	for (size_t i = 0; i < 3; i++) {
		double ratio = exp(log(FACTOR) * (2 * rng_uniform(&ret->rng) - 1));
		until += THIRD + rng_uniform(&ret->rng);
		ret->loads[i] = (struct load){ &rates[(first + i) % 3], ratio, until };
	}
}

/* The load grows during the search. */
static void rise_make(
	const struct sources *sources, const struct noise *noise, uint64_t seed, struct world *ret)
{
	*ret = (struct world){ .noise = noise, .load_count = 2 };
	rng_init(&ret->rng, seed);
	const struct curve_rates *rates = draw(sources, &ret->rng);
	ret->max = rates->max;
	double ratio = RISE_LEAST * exp(log(FACTOR / RISE_LEAST) * rng_uniform(&ret->rng));
	ret->loads[0] = (struct load){ rates, 1, RISE * rng_uniform(&ret->rng) };
	ret->loads[1] = (struct load){ rates, ratio, INFINITY };
}

static void world_make(const struct sources *sources, enum timing timing, const struct noise *noise,
	uint64_t seed, struct world *ret)
{
	*ret = (struct world){ .noise = noise,
		.load_count = timing == COMES_OFTEN ? LOADS_MAX : 2 };
	rng_init(&ret->rng, seed);
	const struct curve_rates *both[] = { draw(sources, &ret->rng), draw(sources, &ret->rng) };
	ret->max = both[0]->max < both[1]->max ? both[0]->max : both[1]->max;
	double ratio = exp(log(FACTOR) * (2 * rng_uniform(&ret->rng) - 1)), until = 0;
	for (size_t i = 0; i < ret->load_count; i++) {
		double length = timing == COMES_LATE ? LATE : timing == COMES_EARLY ? EARLY : OFTEN;
		until += length * (timing == COMES_LATE ? 1 : 0.1 + 0.9 * rng_uniform(&ret->rng)) +
			 rng_uniform(&ret->rng);
		ret->loads[i] = (struct load){ both[i % 2],
			(i % 2 ? ratio : 1) / both[i % 2]->rate[1], until };
	}
}

static int print_row(
	const struct sources *sources, enum timing timing, const struct noise *noise, int runs)
{
	struct outcome sum = { 0 };
	for (int run = 0; run < runs; run++) {
		struct world world;
		struct outcome one;
		struct curve_rates rates[3];
		if (timing == SERVER)
			server_make(noise, (uint64_t)run + 1, rates, &world);
		else if (timing == RISES)
			rise_make(sources, noise, (uint64_t)run + 1, &world);
		else
			world_make(sources, timing, noise, (uint64_t)run + 1, &world);
		int code = play(&world, (uint64_t)run + 1, &one);
		if (code < 0)
			return code;
		sum.before += one.before;
		sum.soon += one.soon;
		sum.later += one.later;
		sum.found += one.found;
		sum.wrong += one.wrong;
	}
	printf("%-7s %-8s %5.3f %8.3f %8.3f %8.3f %8.2f %8.3f\n", timing_names[timing], noise->name,
		noise->sd, timing == COMES_LATE ? sum.before / runs : NAN, sum.soon / runs,
		sum.later / runs, sum.found / runs, sum.wrong / runs);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct noise noises[] = { { "", 0.005, PLAIN }, { "", 0.02, PLAIN },
		{ "", 0.1, PLAIN }, { "", 0.27, PLAIN }, { "stutter", 0.01, STUTTERS },
		{ "levels", 0.01, LEVELS } };
	if (argc < 3 || argc > 4) {
		fputs("Usage: tune_change RUNS FOLDER [HALF]\n", stderr);
		return 2;
	}
	struct err err;
	AUTO(corpus) struct corpus *corpus = NULL;
	AUTO_RELEASE(sources) struct sources sources = { 0 };
	if (corpus_read(argv[2], false, &corpus, &err) < 0) {
		fprintf(stderr, "tune_change: %s\n", err.text);
		return 1;
	}
	int code = sources_make(corpus, argc > 3 ? atoi(argv[3]) : -1, &sources);
	printf("%-16s %5s %8s %8s %8s %8s %8s\n", "change", "noise", "before", "30", "60", "found",
		"wrong");
	for (int t = 0; code == 0 && t < TIMINGS; t++)
		for (size_t n = 0; code == 0 && n < ARRAY_SIZE(noises); n++)
			code = print_row(&sources, (enum timing)t, &noises[n], atoi(argv[1]));
	if (code < 0)
		fprintf(stderr, "tune_change: %s\n", strerror(-code));
	return code < 0;
}
