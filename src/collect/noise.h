/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much repeated runs differ at each thread count, and how many more would settle the median.
 *
 * The spread is the relative standard deviation estimated from the median absolute deviation, with
 * the small-sample factors of Croux and Rousseeuw, "Time-efficient algorithms for two highly robust
 * estimators of scale" (1992), so that one disturbed run does not decide. Two to five runs say
 * little about their own spread: each count's variance is averaged with the median variance of all
 * counts, which weighs as much as PRIOR_RUNS runs.
 */
#ifndef COLLECT_NOISE_H
#define COLLECT_NOISE_H

#include <stddef.h>
#include <stdint.h>

struct noise_sample {
	uint32_t threads;
	double value; /* positive */
};

struct noise_point {
	uint32_t threads;
	uint32_t runs;
	double median;
	double spread; /* relative standard deviation of one run; NAN if no count was repeated */
	double median_error; /* relative standard error of the median; NAN likewise */
	uint32_t wanted_runs; /* that bring median_error to NOISE_TARGET; at most NOISE_MAX_RUNS */
};

#define NOISE_TARGET 0.02
enum { NOISE_MAX_RUNS = 20, NOISE_MIN_RUNS = 3 };

/*
 * One point for each thread count, ascending. Sorts `samples`. 0 or -ENOMEM; the caller frees
 * *ret.
 */
int noise_estimate(
	struct noise_sample *samples, size_t count, struct noise_point **ret, size_t *ret_count);

#endif
