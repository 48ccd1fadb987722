/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/steady.h"

#include <math.h>

enum { BATCH = 5 };

static double batch_mean(const double *values, size_t batch)
{
	double sum = 0;
	for (size_t i = 0; i < BATCH; i++)
		sum += values[batch * BATCH + i];
	return sum / BATCH;
}

/*
 * From the end on, the sum of squares about the mean of what is kept grows by Welford's update, so that
 * all truncations cost one pass.
 */
size_t steady_warm_up(const double *values, size_t count)
{
	size_t batches = count / BATCH, best = batches / 2;
	double mean = 0, squares = 0, least = INFINITY;
	/* Too few batches say nothing about what comes before. */
	if (batches < 20)
		return 0;
	for (size_t from = batches; from-- > 0;) {
		double kept = (double)(batches - from);
		double value = batch_mean(values, from), delta = value - mean;
		mean += delta / kept;
		squares += delta * (value - mean);
		if (from > batches / 2)
			continue;
		double error = squares / (kept * kept);
		/* The earliest of equals: a constant has no warm-up. */
		if (error <= least) {
			least = error;
			best = from;
		}
	}
	return best * BATCH;
}

double steady_t95(size_t df)
{
	static const double table[] = { 12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912,
		2.364624, 2.306004, 2.262157, 2.228139, 2.200985, 2.178813, 2.160369, 2.144787,
		2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873,
		2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272 };
	if (df <= sizeof table / sizeof *table)
		return table[df - 1];
	/* Cornish and Fisher's expansion: right to 6 digits from here on. */
	const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
	double n = (double)df;
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

struct estimate estimate_of(const double *values, size_t count)
{
	size_t used = 0;
	double mean = 0, squares = 0;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(values[i]))
			continue;
		double delta = values[i] - mean;
		mean += delta / (double)++used;
		squares += delta * (values[i] - mean);
	}
	if (used < 2)
		return (struct estimate){ used ? mean : NAN, NAN, NAN };
	double half = steady_t95(used - 1) * sqrt(squares / (double)(used - 1) / (double)used);
	return (struct estimate){ mean, mean - half, mean + half };
}
