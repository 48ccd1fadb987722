/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cache of A ways and B sets, LRU: an access with s other lines since the last to its own misses when at least A
 * of them fell into its set. Hill and Smith ("Evaluating associativity in CPU caches", 1989) spread the s lines over
 * the sets at random, a binomial tail in s and 1 / B. That is too pessimistic for programs whose N lines lie
 * side by side: they fill the sets evenly, N / B in each, and only which of them were met is left to chance. So here
 * a set's other N / B - 1 lines are among the s with probability s / (N - 1) each; for N much larger than the cache
 * that is the same binomial. A fully associative cache misses from s = A on.
 *
 * Where any line of a set makes room, one of n + 1 that are accessed alike misses with m = 1 - (1 - 1 / A)^((n + 1/2) m): each
 * of the misses until it comes again has left it there with 1 - 1 / A (after Berg and Hagersten, "StatCache", ISPASS 2004; the half
 * makes up for what one miss says of the next: within 0.01 of simulated sets). Pages of such processors lie anywhere, so that
 * the s lines do.
 */
#ifndef UARCH_CACHE_SETS_H
#define UARCH_CACHE_SETS_H

#include <stdbool.h>
#include <stdint.h>

enum { CACHE_SETS_POINTS = 96 };

struct cache_sets {
	double lines; /* capacity */
	double sets; /* 1: fully associative */
	uint32_t ways;
	double step; /* lines between two points of `random` */
	double never, sure; /* up to here none misses, from here on all do, whatever N */
	bool is_lru; /* else any line of a set makes room */
	double random[CACHE_SETS_POINTS]; /* miss probability by s, for large N */
};

/* ways: 0 or all lines: fully associative, and LRU. { 0 }, or one that was initialised before. */
void cache_sets_init(struct cache_sets *cache, double lines, uint32_t ways, bool is_lru);

/*
 * For each i < count the share that misses of accesses with at[i] to at[i + 1] other lines in between, evenly;
 * `at` ascends. population: N, at least the lines that any of them can meet.
 */
void cache_sets_misses(const struct cache_sets *cache, double population, const double *at,
	unsigned count, float *ret);

/*
 * Of a cache without LRU that others use, too, with `others` of the program's own lines since the last access, which was `ages`
 * times as long ago as half of the lines stay that are left alone: each of its own misses takes one of all lines,
 * m = 1 - w e^(-m others / lines), and w is what others left. They take away what they have passed three times (a gamma
 * distribution, measured: docs/models/statstack.md). All lines are one set, which misses up to 0.06 less than sets of 8 ways.
 */
double cache_sets_miss_worn(const struct cache_sets *cache, double others, double ages);

/*
 * The same of who walks through `sets` of a cache's sets, the access's among them: of the other lines in between own[i] fill these
 * evenly, and rest[i] fall into any, or, where the whole population has room, evenly into all.
 */
void cache_sets_misses_walking(const struct cache_sets *cache, double population, double sets,
	const double *own, const double *rest, unsigned count, float *ret);

#endif
