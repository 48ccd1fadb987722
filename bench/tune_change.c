/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tune_change [RUNS]: what the controller makes of a workload that changes, simulated: 8 counts, all from two on worth
 * the same (one thread 0.6 of it); behind the change one thread is worth five times the others, or eight threads are the
 * best. How much the others fall or rise there is the case; where they stay as they were ("unseen"), the held count does
 * not show the change. Printed: the share of the best count's work over 100 intervals before the change, and over the 30
 * and the 100 behind it, with and without looks at other counts, for noise of 2% and 10%.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tune/tuner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNTS = 8, CHANGE = 120, BEFORE = 20, SOON = 30, LATER = 100 };

struct scenario {
	const char *name;
	double one, others, slope; /* behind the change: one thread; n threads: others + slope n */
};

static const struct scenario scenarios[] = {
	{ "ten times as high", 50, 10, 0 },
	{ "as high", 5, 1.5, 0 },
	{ "lower", 0.5, 0.1, 0 },
	{ "a rise", 0.2, 0.1, 0.1 },
	{ "unseen", 5, 1, 0 },
	{ "none", 0, 0, 0 },
};

static double rate_at(const struct scenario *s, uint32_t threads, int interval)
{
	if (interval < CHANGE || s->one == 0)
		return threads == 1 ? 0.6 : 1;
	return threads == 1 ? s->one : s->others + s->slope * threads;
}

struct shares {
	double before, soon, later; /* sums over runs */
};

/* Time is in intervals, each measured in so many parts: the noise of a part is that of its length. */
static int play(const struct scenario *s, double noise, double look, int parts, uint64_t seed,
	struct shares *shares)
{
	struct tuner_opts opts = { .space = { .max = COUNTS }, .seed = seed, .look = look };
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision d;
	struct rng rng;
	rng_init(&rng, seed);
	if (tuner_new(&opts, &tuner, &d, NULL) < 0)
		return -1;
	for (int i = 0; i < (CHANGE + LATER) * parts; i++) {
		int interval = i / parts;
		double rate = rate_at(s, d.threads, interval), best = 0;
		for (uint32_t n = 1; n <= COUNTS; n++)
			best = fmax(best, rate_at(s, n, interval));
		double share = rate / best / parts;
		if (interval >= BEFORE && interval < CHANGE)
			shares->before += share / (CHANGE - BEFORE);
		if (interval >= CHANGE && interval < CHANGE + SOON)
			shares->soon += share / SOON;
		if (interval >= CHANGE)
			shares->later += share / LATER;
		double measured = rate * exp(noise * sqrt(parts) * rng_normal(&rng));
		if (tuner_measured(tuner, measured, 1.0 / parts, &d, NULL) < 0)
			return -1;
	}
	return 0;
}

static int print_row(const struct scenario *s, double noise, double look, int parts, int runs)
{
	struct shares shares = { 0 };
	for (int run = 0; run < runs; run++)
		if (play(s, noise, look, parts, (uint64_t)run + 1, &shares) < 0)
			return -1;
	printf("%-18s %6.2f %6.2f %6d %8.3f %8.3f %8.3f\n", s->name, noise, look, parts,
		shares.before / runs, shares.soon / runs, shares.later / runs);
	return 0;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 200;
	static const double looks[] = { 0, 0.02 }, noises[] = { 0.02, 0.1 };
	static const int parts[] = { 1, 8 };
	printf("%-18s %6s %6s %6s %8s %8s %8s\n", "behind it", "noise", "looks", "parts", "before",
		"30", "100");
	for (size_t s = 0; s < ARRAY_SIZE(scenarios); s++)
		for (size_t n = 0; n < ARRAY_SIZE(noises); n++)
			for (size_t l = 0; l < ARRAY_SIZE(looks); l++)
				for (size_t p = 0; p < ARRAY_SIZE(parts); p++)
					if (print_row(&scenarios[s], noises[n], looks[l], parts[p],
						    runs) < 0)
						return 1;
	return 0;
}
