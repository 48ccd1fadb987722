/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/candidates.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of ESTIMA's Table 1. */
static const struct kernel *const kernels[] = { &kernel_rat22, &kernel_rat23, &kernel_rat33,
	&kernel_cubic_ln, &kernel_exp_rat, &kernel_poly25 };

enum {
	CHECKPOINTS_FEW = 2,
	CHECKPOINTS_MANY = 4,
	PREFIX_MIN = 3,
	PREFIXES_MAX = 24, /* of a longer curve, evenly spread: 24 fits say what 200 would */
};

/*
 * Relative error, but not below this share of the largest value: categories often start at next to
 * nothing with one thread, where the relative error means nothing.
 */
static const double WEIGHT_FLOOR = 0.1;

static const double FEW_HANDICAP = 10;

static double largest_of(const double *y, size_t count)
{
	double largest = 0;
	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs(y[i]));
	return largest;
}

static double error_at_last(
	const struct fit *fit, const double *n, const double *y, size_t count, size_t checkpoints)
{
	double square = 0;
	for (size_t i = count - checkpoints; i < count; i++) {
		double difference = fit_value(fit, n[i]) - y[i];
		square += difference * difference;
	}
	return sqrt(square / (double)checkpoints);
}

/*
 * With four checkpoints where the function has seen none of them, else with two. Two are few: of
 * dozens of functions one meets both by chance. So its error there counts FEW_HANDICAP times, and it
 * serves where what four can judge is much worse.
 */
static void judge(struct candidate *c, const double *n, const double *y, size_t count)
{
	bool has_many = c->prefix + CHECKPOINTS_MANY <= count;
	c->checkpoints = has_many ? CHECKPOINTS_MANY : CHECKPOINTS_FEW;
	double error = error_at_last(&c->fit, n, y, count, c->checkpoints) /
		       largest_of(y + count - c->checkpoints, c->checkpoints);
	c->error = has_many ? error : FEW_HANDICAP * error;
}

static int by_merit(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	if (left->error != right->error)
		return left->error < right->error ? -1 : 1;
	return (left->prefix < right->prefix) - (left->prefix > right->prefix);
}

static int try_kernel(const struct kernel *kernel, const struct fit_data *data, size_t count,
	struct candidates *ret)
{
	struct candidate *c = &ret->all[ret->count];
	int code = fit_run(kernel, data, FIT_LEVENBERG, &c->fit);
	if (code < 0)
		return code == -EDOM ? 0 : code;
	c->prefix = data->count;
	judge(c, data->n, data->y, count);
	if (isfinite(c->error))
		ret->count++;
	return 0;
}

int candidates_make(const double *n, const double *y, size_t count, struct candidates *ret)
{
	*ret = (struct candidates){ 0 };
	if (count < CANDIDATES_POINTS_MIN)
		return 0;
	size_t longest = count - CHECKPOINTS_FEW;
	size_t step = (longest - PREFIX_MIN) / PREFIXES_MAX + 1;
	AUTO_FREE double *weight = malloc(count * sizeof *weight);
	ret->all = calloc((longest / step + 1) * ARRAY_SIZE(kernels), sizeof *ret->all);
	if (!weight || !ret->all)
		return -ENOMEM;
	double floor = WEIGHT_FLOOR * largest_of(y, count);
	for (size_t i = 0; i < count; i++)
		weight[i] = 1 / fmax(y[i], floor);
	for (size_t prefix = longest; prefix >= PREFIX_MIN; prefix -= step) {
		const struct fit_data data = { .n = n, .y = y, .weight = weight, .count = prefix };
		for (size_t k = 0; k < ARRAY_SIZE(kernels); k++) {
			int code = try_kernel(kernels[k], &data, count, ret);
			if (code < 0)
				return code;
		}
		if (prefix < PREFIX_MIN + step)
			break;
	}
	qsort(ret->all, ret->count, sizeof *ret->all, by_merit);
	return 0;
}

void candidates_release(struct candidates *candidates)
{
	free(candidates->all);
	*candidates = (struct candidates){ 0 };
}
