/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/memory_curve.h"

#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

enum {
	STEPS_MAX =
		MEMORY_LEVELS + 1, /* the first level's latency, and what each further one adds */
	SWEEPS = 400, /* of the least squares, which have four unknowns */
	ROUNDS = 3, /* over all levels: one level's size has little to do with the others' */
	SIZES_PER_OCTAVE = 8,
	OCTAVES_DOWN = 7, /* a part of a cache below 1% would not be worth the name */
};

/* What a machine says of itself stands unless another size makes the squares so much less, and is so much smaller. */
static const double BETTER = 0.5, SMALLER = 0.8;

struct fit {
	const struct memory_point *points;
	size_t count;
	double bytes[MEMORY_LEVELS];
	unsigned levels;
	double steps[STEPS_MAX];
};

static double beyond(const struct fit *fit, unsigned level, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		return 1;
	double share = 1 - fit->bytes[level] / (double)bytes;
	return share > 0 ? share : 0;
}

static double row_at(const struct fit *fit, unsigned column, uint64_t bytes)
{
	return column == 0 ? 1 : beyond(fit, column - 1, bytes);
}

/* Least squares of (t - sum of steps) / t with steps that are not negative, by one step after the other. */
static double solve(struct fit *fit)
{
	double gram[STEPS_MAX][STEPS_MAX] = { { 0 } }, right[STEPS_MAX] = { 0 }, squares = 0;
	unsigned unknowns = fit->levels + 1;
	for (size_t p = 0; p < fit->count; p++) {
		double weight = 1 / fit->points[p].ns;
		for (unsigned i = 0; i < unknowns; i++) {
			double x = row_at(fit, i, fit->points[p].bytes) * weight;
			right[i] += x;
			for (unsigned k = 0; k < unknowns; k++)
				gram[i][k] += x * row_at(fit, k, fit->points[p].bytes) * weight;
		}
	}
	for (unsigned i = 0; i < STEPS_MAX; i++)
		fit->steps[i] = 0;
	for (unsigned sweep = 0; sweep < SWEEPS; sweep++)
		for (unsigned i = 0; i < unknowns; i++) {
			double rest = right[i];
			for (unsigned k = 0; k < unknowns; k++)
				rest -= k != i ? gram[i][k] * fit->steps[k] : 0;
			fit->steps[i] = gram[i][i] > 0 && rest > 0 ? rest / gram[i][i] : 0;
		}
	for (size_t p = 0; p < fit->count; p++) {
		double sum = 0;
		for (unsigned i = 0; i < unknowns; i++)
			sum += fit->steps[i] * row_at(fit, i, fit->points[p].bytes);
		double error = sum / fit->points[p].ns - 1;
		squares += error * error;
	}
	return squares;
}

/* The size of one level with which the points fit best, all others as they are. */
static void choose_size(struct fit *fit, unsigned level, double claimed)
{
	double least = level > 0 ? fit->bytes[level - 1] : 0, best = claimed;
	fit->bytes[level] = claimed;
	double as_claimed = solve(fit), best_squares = as_claimed;
	for (int i = 1; i <= SIZES_PER_OCTAVE * OCTAVES_DOWN; i++) {
		fit->bytes[level] = claimed * exp2(-(double)i / SIZES_PER_OCTAVE);
		if (fit->bytes[level] <= least)
			break;
		double squares = solve(fit);
		if (squares < best_squares) {
			best_squares = squares;
			best = fit->bytes[level];
		}
	}
	bool stands = best > SMALLER * claimed || best_squares > BETTER * as_claimed;
	fit->bytes[level] = stands ? claimed : best;
}

int memory_curve_fit(const struct memory_point *points, size_t count,
	const uint64_t claimed[MEMORY_LEVELS], struct memory_levels *ret)
{
	struct fit fit = { .points = points, .count = count };
	while (fit.levels < MEMORY_LEVELS && claimed[fit.levels] > 0) {
		fit.bytes[fit.levels] = (double)claimed[fit.levels];
		fit.levels++;
	}
	if (count < 2 * (size_t)fit.levels + 1)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		if (!(points[i].ns > 0) || points[i].bytes == 0)
			return -EINVAL;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned level = fit.levels; level-- > 0;)
			choose_size(&fit, level, (double)claimed[level]);
	double squares = solve(&fit), sum = 0;
	*ret = (struct memory_levels){ .error = sqrt(squares / (double)count) };
	for (unsigned i = 0; i < fit.levels; i++) {
		sum += fit.steps[i];
		ret->ns[i] = sum;
		ret->bytes[i] = (uint64_t)(fit.bytes[i] + 0.5);
	}
	ret->memory_ns = sum + fit.steps[fit.levels];
	return 0;
}

double memory_curve_lifetime(
	const double *waits_ns, const double *ns, size_t count, double memory_ns)
{
	double whole = count > 0 ? memory_ns - ns[0] : 0, before = 1;
	/* Lines that are hardly ever there, even at once, have no time that they stay. */
	if (!(whole > memory_ns / 4))
		return 0;
	for (size_t i = 1; i < count; i++) {
		double share = (memory_ns - ns[i]) / whole;
		if (share <= 0.5)
			return waits_ns[i - 1] +
			       (before - 0.5) / (before - share) * (waits_ns[i] - waits_ns[i - 1]);
		before = share;
	}
	return 0;
}

double memory_curve_spread(double *ns, size_t count, double memory_ns)
{
	double sum = 0;
	size_t kept = 0;
	if (count == 0 || !(memory_ns > 0))
		return 0;
	order_doubles(ns, count);
	while (kept < count && ns[kept] <= 5 * ns[count / 2])
		sum += ns[kept++];
	double rest = (sum / (double)kept - ns[kept / 10]) / (1 - log(10 / 9.));
	return fmin(fmax(rest / memory_ns, 0), 1);
}

double memory_curve_kept(double ns, double near_ns, double far_ns)
{
	static const double CONTRAST = 1.5;
	if (!(near_ns > 0) || far_ns < CONTRAST * near_ns)
		return 0;
	return fmin(fmax((far_ns - ns) / (far_ns - near_ns), 0), 1);
}

uint64_t memory_curve_alone(uint64_t bytes, uint64_t claimed, double age_ns, double lifetime_ns)
{
	double part = 1 - age_ns / lifetime_ns;
	return part > 0 && (double)bytes / part < (double)claimed ? (uint64_t)((double)bytes / part)
								  : claimed;
}
