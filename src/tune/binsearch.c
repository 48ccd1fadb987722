/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binsearch, as A. Dragojević and R. Guerraoui describe it ("A Pragmatic Approach for Predicting the
 * Scalability of Parallel Applications", section 4.5): from one thread up by 4, 8, 16, ... until
 * performance degrades, then a binary search between the counts around the best one. Which half to
 * look into follows from trying its middle, the larger half first.
 */
#include "tune/policy.h"

#include <math.h>

enum { FIRST_INCREMENT = 4 };

struct binsearch {
	uint32_t increment;
	bool is_narrowing;
};

/* The measured counts on either side of the best one, or the ends of the space. */
static void bracket(const struct tune_space *space, const struct tune_set *set,
	const struct tune_point *best, uint32_t *ret_low, uint32_t *ret_high)
{
	size_t at = (size_t)(best - set->points);
	*ret_low = at > 0 ? set->points[at - 1].threads : space->min - 1;
	*ret_high = at + 1 < set->count ? set->points[at + 1].threads : space->max + 1;
}

static uint32_t climb(
	const struct tune_space *space, const struct tune_set *set, struct binsearch *search)
{
	if (search->increment == 0) { /* a search begins; it may know the count that was held */
		search->increment = FIRST_INCREMENT;
		if (!tune_set_find(set, space->min))
			return space->min;
	}
	uint32_t highest = set->points[set->count - 1].threads;
	bool has_fallen = tune_set_best(set)->threads != highest;
	if (has_fallen || highest == space->max) {
		search->is_narrowing = true;
		return 0;
	}
	uint32_t room = space->max - highest;
	uint32_t step = search->increment < room ? search->increment : room;
	search->increment *= 2;
	return highest + step;
}

static uint32_t narrow(const struct tune_space *space, const struct tune_set *set)
{
	const struct tune_point *best = tune_set_best(set);
	uint32_t low, high;
	bracket(space, set, best, &low, &high);
	uint32_t below = best->threads - low, above = high - best->threads;
	if (below < 2 && above < 2)
		return best->threads;
	return above >= below ? best->threads + above / 2 : best->threads - below / 2;
}

static int choose(const struct tune_space *space, const struct tune_set *set, void *state,
	struct rng *rng, struct tune_choice *ret)
{
	(void)rng;
	struct binsearch *search = state;
	uint32_t threads = search->is_narrowing ? 0 : climb(space, set, search);
	bool is_climbing = threads != 0;
	if (!is_climbing)
		threads = narrow(space, set);
	*ret = (struct tune_choice){
		.threads = threads,
		.is_settled = tune_set_find(set, threads) != NULL,
		.gain = NAN,
		.reason = is_climbing ? "more threads until performance falls"
				      : "halving the range around the best",
	};
	return 0;
}

const struct tune_policy tune_policy_binsearch = {
	.name = "binsearch",
	.summary = "double the step until performance falls, then halve",
	.state_bytes = sizeof(struct binsearch),
	.choose = choose,
};
