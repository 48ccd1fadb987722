/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/locked_speed.h"

#include "base/cleanup.h"
#include "machine/speed_clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE = 64,
	OPERATIONS = 20000, /* of a try */
	TRIES = 100,
	BEYOND =
		4, /* a set so many times as large as the first level, which has 1 / BEYOND of its lines */
};

static const double MOST_NS = 0.2e9; /* for the tries of each set */

/* At random, in a power of two of words. */
static void change_words(_Atomic uint64_t *words, uint64_t mask)
{
	uint64_t random = 88172645463325252; /* xorshift: Marsaglia 2003 */
	for (unsigned i = 0; i < OPERATIONS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		(void)atomic_fetch_xor_explicit(
			&words[random & mask], random, memory_order_relaxed);
	}
}

static double changed_ns(_Atomic uint64_t *words, uint64_t bytes)
{
	uint64_t count = 1;
	while (count * 2 * sizeof *words <= bytes)
		count *= 2;
	double best_ns = 0, all_ns = speed_now_ns();
	for (unsigned i = 0; i < TRIES && speed_now_ns() - all_ns < MOST_NS; i++) {
		double began_ns = speed_now_ns();
		change_words(words, count - 1);
		best_ns = speed_least(best_ns, speed_now_ns() - began_ns);
	}
	return best_ns / OPERATIONS;
}

double locked_miss_measure(uint64_t first_bytes)
{
	uint64_t power = LINE;
	while (power * 2 <= first_bytes)
		power *= 2;
	AUTO_FREE _Atomic uint64_t *words =
		first_bytes > 0 ? aligned_alloc(LINE, BEYOND * power) : NULL;
	if (!words)
		return 0;
	memset((void *)words, 0, BEYOND * power);
	double near_ns = changed_ns(words, power / 2);
	double missing = 1 - (double)first_bytes / (double)(BEYOND * power);
	double longer_ns = (changed_ns(words, BEYOND * power) - near_ns) / missing;
	return longer_ns > 0 ? longer_ns : 0;
}
