/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/cache_sets.h"

#include <math.h>

/* Times the capacity, from which on a population is large: chance differs by less than a sixteenth. */
enum { LARGE = 8 };

/* Misses that are rarer do not count. */
static const double negligible = 1e-6;

/* x to the n, by squaring: the same bits on every machine, which pow() does not promise. */
static double power(double x, uint64_t n)
{
	double product = 1;
	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			product *= x;
	return product;
}

/* P(at least `ways` of n happen), each with probability p. */
static double binomial_tail(uint64_t n, uint32_t ways, double p)
{
	if (n < ways || p <= 0)
		return 0;
	if (p >= 1)
		return 1;
	/* Six standard deviations from the mean it is decided. */
	double off = (double)ways - (double)n * p, variance = (double)n * p * (1 - p);
	if (off * off > 36 * variance + 36)
		return off > 0 ? 0 : 1;
	double odds = p / (1 - p), term = power(1 - p, n), below = 0;
	for (uint32_t k = 0; k < ways; k++) {
		below += term;
		term *= odds * (double)(n - k) / (k + 1);
	}
	return below < 1 ? 1 - below : 0;
}

/* Where any line makes room: so many times the ways are in one set as good as without end. */
enum { ANY_SURE = 6, ANY_WAYS_MAX = 64 };

/* Misses of n + 1 lines of a set that are accessed alike, any of which makes room. */
static double miss_of_set(uint64_t others, uint32_t ways)
{
	enum { ROUNDS = 60 };
	double miss = 1, stays = log1p(-1.0 / ways) * ((double)others + 0.5);
	if (others < ways)
		return 0;
	for (int i = 0; i < ROUNDS; i++)
		miss = -expm1(stays * miss);
	return miss;
}

/* `of_set`: miss_of_set() of up to `most` lines. */
static double miss_of_sets(const double *of_set, uint64_t most, uint64_t lines, double p)
{
	most = lines < most ? lines : most;
	double odds = p / (1 - p), term = power(1 - p, lines), sum = 0, left = 1;
	for (uint64_t n = 0; n <= most; n++) {
		sum += term * of_set[n];
		left -= term;
		term *= odds * (double)(lines - n) / (double)(n + 1);
	}
	return left > 0 ? sum + left : sum;
}

/* How many times the capacity is as good as without end: ten standard deviations above the mean, or where any line makes room. */
static double sure_lines(const struct cache_sets *cache)
{
	return cache->is_lru ? cache->sets * (cache->ways + 10 * (sqrt(cache->ways) + 1))
			     : ANY_SURE * cache->lines;
}

void cache_sets_init(struct cache_sets *cache, double lines, uint32_t ways, bool is_lru)
{
	/* Design spaces ask for the same caches again and again. */
	if (lines > 0 && cache->lines == lines && cache->ways == ways && cache->is_lru == is_lru)
		return;
	*cache = (struct cache_sets){
		.lines = lines, .sets = 1, .ways = ways, .is_lru = is_lru, .sure = lines
	};
	if (ways == 0 || lines < 2.0 * ways)
		return;
	cache->sets = lines / ways;
	cache->step = floor(sure_lines(cache) / (CACHE_SETS_POINTS - 1)) + 1;
	cache->sure = cache->step * (CACHE_SETS_POINTS - 1);
	double of_set[ANY_SURE * ANY_WAYS_MAX + 1];
	uint64_t most = ANY_SURE * (uint64_t)(ways < ANY_WAYS_MAX ? ways : ANY_WAYS_MAX);
	for (uint64_t n = 0; n <= most && !is_lru; n++)
		of_set[n] = miss_of_set(n, ways);
	for (unsigned i = 1; i < CACHE_SETS_POINTS; i++) {
		uint64_t others = (uint64_t)(cache->step * i);
		cache->random[i] = is_lru ? binomial_tail(others, ways, 1 / cache->sets)
					  : miss_of_sets(of_set, most, others, 1 / cache->sets);
		if (cache->random[i] < negligible)
			cache->never = cache->step * i;
	}
}

static double miss_random(const struct cache_sets *cache, double s)
{
	if (s >= cache->sure)
		return 1;
	unsigned i = (unsigned)(s / cache->step);
	double part = s / cache->step - i;
	return cache->random[i] + part * (cache->random[i + 1] - cache->random[i]);
}

/* Sets have the whole numbers of lines around N / B; an access is to one of these lines. */
static double miss_even(const struct cache_sets *cache, double population, double s)
{
	double in_set = population / cache->sets, least = floor(in_set);
	double met = s / (population - 1);
	double larger = (in_set - least) * (least + 1) / in_set;
	return (1 - larger) * binomial_tail((uint64_t)least - 1, cache->ways, met) +
	       larger * binomial_tail((uint64_t)least, cache->ways, met);
}

static double miss(const struct cache_sets *cache, bool is_large, double population, double s)
{
	return is_large ? miss_random(cache, s) : miss_even(cache, population, s);
}

static void misses_full(
	const struct cache_sets *cache, const double *at, unsigned count, float *ret)
{
	for (unsigned i = 0; i < count; i++) {
		double low = at[i], high = at[i + 1];
		/* All at one place: the mean over one line, the least by which numbers of lines differ. */
		if (high - low < 1)
			high = low + 1;
		double beyond = high - cache->lines;
		ret[i] = beyond <= 0 ? 0 : low >= cache->lines ? 1 : (float)(beyond / (high - low));
	}
}

void cache_sets_misses(const struct cache_sets *cache, double population, const double *at,
	unsigned count, float *ret)
{
	if (cache->sets <= 1) {
		misses_full(cache, at, count, ret);
		return;
	}
	bool is_large = !cache->is_lru || population >= LARGE * cache->lines;
	bool is_small = cache->is_lru && population < cache->lines + 1;
	unsigned i = 0;
	for (; i < count && (is_small || at[i + 1] <= cache->never); i++)
		ret[i] = 0;
	double low =
		i < count && at[i] > cache->never ? miss(cache, is_large, population, at[i]) : 0;
	for (; i < count; i++) {
		double high = low;
		if (at[i + 1] > at[i])
			high = miss(cache, is_large, population, at[i + 1]);
		ret[i] = (float)((low + high) / 2);
		low = high;
	}
}

double cache_sets_miss_worn(const struct cache_sets *cache, double others, double ages)
{
	static const double MEDIAN = 2.6740603137235603; /* of three exponential times of mean 1 */
	enum { ROUNDS = 60 };
	double passed = MEDIAN * ages, miss = 1, before = 0;
	double left = exp(-passed) * (1 + passed + passed * passed / 2);
	for (int i = 0; i < ROUNDS && miss != before; i++) {
		before = miss;
		miss = 1 - left * exp(-miss * others / cache->lines);
	}
	return miss;
}

/* Of one of the sets. */
static double miss_in_set(const struct cache_sets *cache, bool is_small, double own, double rest)
{
	if (own >= cache->ways)
		return 1;
	uint32_t left = cache->ways - (uint32_t)own;
	return is_small ? rest / cache->sets >= left
			: binomial_tail((uint64_t)rest, left, 1 / cache->sets);
}

static double miss_walking(
	const struct cache_sets *cache, bool is_small, double sets, double own, double rest)
{
	double in_set = (own + 1) / sets - 1;
	double least = in_set > 0 ? floor(in_set) : 0, larger = in_set > 0 ? in_set - least : 0;
	return (1 - larger) * miss_in_set(cache, is_small, least, rest) +
	       larger * miss_in_set(cache, is_small, least + 1, rest);
}

void cache_sets_misses_walking(const struct cache_sets *cache, double population, double sets,
	const double *own, const double *rest, unsigned count, float *ret)
{
	bool is_small = population < cache->lines + 1;
	double low = count > 0 ? miss_walking(cache, is_small, sets, own[0], rest[0]) : 0;
	for (unsigned i = 0; i < count; i++) {
		double high = miss_walking(cache, is_small, sets, own[i + 1], rest[i + 1]);
		ret[i] = (float)((low + high) / 2);
		low = high;
	}
}
