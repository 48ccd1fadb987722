/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rounds of a size of their own: what each thread does before it arrives at a barrier is long in some rounds and short in others (a triangular
 * loop, phases that alternate at one place), for all of them alike. Drawn by each thread for itself, the longest of several draws would make every
 * round too long. As rounds come one after the other, only their sum counts, and how threads differ within one: each round gets the
 * mean size, and keeps what threads are beyond its own.
 */
#include "builder/parts.h"

/* Ratios of variances that come by chance less than once in a hundred times, of so many rounds of two threads or more (Fisher's F). */
enum { MANY_ROUNDS = 16, FEW_ROUNDS = 4 };
static const double many_variance = 4, few_variance = 17;

static double mean_of(const struct build_arrival *arrivals, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (double)arrivals[i].step->cpu_ns;
	return sum / (double)count;
}

struct spread {
	double rounds, sum, squares; /* of the rounds' means */
	double within; /* squares of what threads are off their round's */
};

static void add_round(struct spread *spread, const struct build_arrival *arrivals, size_t team)
{
	double mean = mean_of(arrivals, team);
	for (size_t i = 0; i < team; i++) {
		double off = (double)arrivals[i].step->cpu_ns - mean;
		spread->within += off * off;
	}
	spread->rounds++;
	spread->sum += mean;
	spread->squares += mean * mean;
}

/* Whether the means vary more than those of threads that are long or short by themselves. */
static bool have_own_size(const struct spread *s, size_t team)
{
	double least = s->rounds < MANY_ROUNDS ? few_variance : many_variance;
	if (s->rounds < FEW_ROUNDS)
		return false;
	double between = (s->squares - s->sum * s->sum / s->rounds) / (s->rounds - 1);
	double within = s->within / (s->rounds * (double)(team - 1));
	return between * (double)team > least * within;
}

static void level(const struct build_arrival *arrivals, size_t team, double mean_ns)
{
	double own_ns = mean_of(arrivals, team);
	for (size_t i = 0; i < team; i++) {
		double ns = (double)arrivals[i].step->cpu_ns - own_ns + mean_ns;
		arrivals[i].step->cpu_ns = ns > 0 ? (uint64_t)(ns + 0.5) : 0;
	}
}

void build_rounds_level(const struct build_arrivals *all)
{
	for (size_t i = 0, to; i < all->count; i = to) {
		size_t team = arrivals_round_end(all, i) - i;
		struct spread spread = { 0 };
		to = arrivals_place_end(all, i);
		for (size_t j = i; j < to && team > 1; j = arrivals_round_end(all, j))
			if (arrivals_round_end(all, j) - j == team)
				add_round(&spread, &all->items[j], team);
		if (!have_own_size(&spread, team))
			continue;
		for (size_t j = i; j < to; j = arrivals_round_end(all, j))
			if (arrivals_round_end(all, j) - j == team)
				level(&all->items[j], team, spread.sum / spread.rounds);
	}
}
