/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OPreSca, as published: A. Dragojević and R. Guerraoui, "A Pragmatic Approach for Predicting the
 * Scalability of Parallel Applications", Algorithm 2. Three counts are given or drawn; then a
 * polynomial through the measurements if the best is inside their range, else a rational function
 * whose degrees follow from their number; the count where it is highest is tried next, until that
 * count was tried before.
 *
 * A rational function is found by least squares on the equations with the divisor multiplied out
 * (the paper does not say how); counts at which its divisor is not positive are left out, because
 * beyond a pole it says nothing.
 */
#include "tune/policy.h"

#include "base/mem.h"
#include "scaling/lsq.h"

#include <errno.h>
#include <math.h>

enum { INITIAL = 3, DEGREE_MAX = 6, POINTS_MAX = 64 };

/* a[0] + a[1] x + ... over 1 + b[0] x + ...; x = threads / max. */
struct rational {
	unsigned numerator, denominator; /* degrees */
	double c[LSQ_COLUMNS_MAX];
};

static double value_at(const struct rational *f, double x)
{
	double above = 0, below = 0;
	for (unsigned k = f->numerator + 1; k-- > 0;)
		above = above * x + f->c[k];
	for (unsigned k = f->denominator; k-- > 0;)
		below = (below + f->c[f->numerator + 1 + k]) * x;
	return below > -1 ? above / (1 + below) : -INFINITY;
}

/* Of the last POINTS_MAX measurements at most: more would not fit what a controller collects. */
static int fit(const struct tune_set *set, double scale, struct rational *f)
{
	double a[POINTS_MAX * LSQ_COLUMNS_MAX], y[POINTS_MAX];
	size_t rows = set->count < POINTS_MAX ? set->count : POINTS_MAX;
	unsigned columns = f->numerator + 1 + f->denominator;
	for (size_t i = 0; i < rows; i++) {
		const struct tune_point *p = &set->points[set->count - rows + i];
		double x = p->threads / scale, power = 1;
		y[i] = p->performance;
		for (unsigned k = 0; k <= f->numerator; k++, power *= x)
			a[i * columns + k] = power;
		power = x;
		for (unsigned k = 0; k < f->denominator; k++, power *= x)
			a[i * columns + f->numerator + 1 + k] = -power * y[i];
	}
	return lsq_solve_shortest(a, y, rows, columns, f->c);
}

static struct rational shape_for(const struct tune_set *set)
{
	static const unsigned degrees[][2] = { { 1, 1 }, { 1, 2 }, { 2, 2 }, { 2, 3 }, { 3, 3 } };
	uint32_t best = tune_set_best(set)->threads;
	if (best > set->points[0].threads && best < set->points[set->count - 1].threads) {
		size_t degree = set->count - 1 < DEGREE_MAX ? set->count - 1 : DEGREE_MAX;
		return (struct rational){ .numerator = (unsigned)degree };
	}
	size_t i = set->count - INITIAL;
	if (i >= ARRAY_SIZE(degrees))
		i = ARRAY_SIZE(degrees) - 1;
	return (struct rational){ .numerator = degrees[i][0], .denominator = degrees[i][1] };
}

static uint32_t pick_initial(
	const struct tune_space *space, const struct tune_set *set, struct rng *rng)
{
	uint32_t given = space->initial[set->count];
	if (given >= space->min && given <= space->max && !tune_set_find(set, given))
		return given;
	for (;;) {
		uint32_t threads =
			space->min + (uint32_t)rng_below(rng, space->max - space->min + 1);
		if (!tune_set_find(set, threads))
			return threads;
	}
}

static int choose(const struct tune_space *space, const struct tune_set *set, void *state,
	struct rng *rng, struct tune_choice *ret)
{
	(void)state;
	*ret = (struct tune_choice){ .gain = NAN };
	uint32_t counts = space->max - space->min + 1;
	if (set->count < INITIAL && set->count < counts) {
		ret->threads = pick_initial(space, set, rng);
		ret->reason = "one of the first three";
		return 0;
	}
	const struct tune_point *best = tune_set_best(set);
	ret->threads = best->threads;
	if (set->count >= INITIAL) {
		struct rational f = shape_for(set);
		int code = fit(set, space->max, &f);
		if (code == -ENOMEM)
			return code;
		double highest = -INFINITY;
		for (uint32_t n = space->min; code == 0 && n <= space->max; n++) {
			double value = value_at(&f, (double)n / space->max);
			if (value > highest) {
				highest = value;
				ret->threads = n;
			}
		}
		ret->gain = highest / best->performance - 1;
	}
	ret->is_settled = tune_set_find(set, ret->threads) != NULL;
	ret->reason = "where the fitted function is highest";
	return 0;
}

const struct tune_policy tune_policy_opresca = {
	.name = "opresca",
	.summary = "where a fitted function is highest, as published",
	.choose = choose,
};
