/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A seeded generator: xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021), state filled by splitmix64. The same seed gives the same numbers everywhere.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state[4];
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng); /* 64 bits */

/* In [0, 1), 53 bits. */
double rng_uniform(struct rng *rng);

/* In 0 .. bound - 1, without bias; bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

/* Standard normal (Marsaglia's polar method). */
double rng_normal(struct rng *rng);

#endif
