/* SPDX-License-Identifier: GPL-3.0-or-later */
/* xoshiro256** and what is drawn from it. */
#include "base/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_init(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		seed += 0x9e3779b97f4a7c15U;
		uint64_t z = seed;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
		rng->state[i] = z ^ (z >> 31);
	}
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	uint64_t limit = -bound % bound; /* 2^64 mod bound: below it the draw is biased */
	for (;;) {
		uint64_t x = rng_next(rng);
		if (x >= limit)
			return x % bound;
	}
}

double rng_normal(struct rng *rng)
{
	for (;;) {
		double u = 2 * rng_uniform(rng) - 1, v = 2 * rng_uniform(rng) - 1;
		double s = u * u + v * v;
		if (s > 0 && s < 1)
			return u * sqrt(-2 * log(s) / s);
	}
}
