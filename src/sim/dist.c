/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/dist.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Results depend on every operation being rounded to double. (16: _Float16 as it is.) */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "needs arithmetic in double");

enum { STAGES_MAX = 1000000 };

/* Times beyond are as good as never: 146 years. */
#define DRAW_MAX 4.611686018427387904e18

/*
 * x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716, so
 * that the first term left out, s^21 2/21, is below 2^-53 of the result.
 */
double dist_log(double x)
{
	static const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	int64_t k = (int64_t)((bits - 0x3fe6a09e667f3bcdU) >> 52);
	if (bits < 0x3fe6a09e667f3bcdU)
		k -= 4096;
	bits -= (uint64_t)k << 52;
	double m;
	memcpy(&m, &bits, sizeof m);
	double s = (m - 1) / (m + 1), z = s * s, z2 = z * z;
	double even =
		1.0 / 3 + z2 * (1.0 / 7 + z2 * (1.0 / 11 + z2 * (1.0 / 15 + z2 * (1.0 / 19))));
	double odd = 1.0 / 5 + z2 * (1.0 / 9 + z2 * (1.0 / 13 + z2 * (1.0 / 17)));
	double tail = 2 * s * (z * (even + z * odd));
	double n = (double)k;
	return n * ln2_high + (n * ln2_low + tail + 2 * s);
}

/* 0 <= at < 1 */
static double empirical_at(const struct sim_dist *dist, double at)
{
	at *= (double)(dist->value_count - 1);
	uint32_t i = (uint32_t)at;
	if (i + 1 >= dist->value_count)
		return dist->values[dist->value_count - 1];
	return dist->values[i] + (at - (double)i) * (dist->values[i + 1] - dist->values[i]);
}

static double draw(const struct sim_dist *dist, struct rng *rng)
{
	switch (dist->kind) {
	case SIM_FIXED:
		return dist->a;
	case SIM_UNIFORM:
		return dist->a + (dist->b - dist->a) * rng_uniform(rng);
	case SIM_EXPONENTIAL:
		return dist->a * dist_exponential(rng);
	case SIM_EMPIRICAL:
		return empirical_at(dist, rng_uniform(rng));
	case SIM_ERLANG: {
		double sum = 0;
		for (uint32_t i = 0; i < (uint32_t)dist->b; i++)
			sum += dist_exponential(rng);
		return dist->a / dist->b * sum;
	}
	}
	return 0;
}

static uint64_t whole_ns(double value)
{
	value += 0.5;
	return value < DRAW_MAX ? (uint64_t)(int64_t)value : (uint64_t)DRAW_MAX;
}

uint64_t sim_draw(const struct sim_dist *dist, struct rng *rng)
{
	return whole_ns(draw(dist, rng));
}

uint64_t sim_quantile(const struct sim_dist *dist, double at)
{
	return whole_ns(empirical_at(dist, at));
}

static bool is_time(double value)
{
	return value >= 0 && value <= DRAW_MAX; /* not NaN */
}

int dist_check(const struct sim_dist *dist, const char *what, struct err *err)
{
	switch (dist->kind) {
	case SIM_FIXED:
	case SIM_EXPONENTIAL:
		if (is_time(dist->a))
			return 0;
		break;
	case SIM_UNIFORM:
		if (is_time(dist->a) && is_time(dist->b) && dist->a <= dist->b)
			return 0;
		return err_set(err, -EINVAL, "%s: uniform from %g to %g ns is no range of times",
			what, dist->a, dist->b);
	case SIM_ERLANG:
		if (!(dist->b >= 1 && dist->b <= STAGES_MAX && dist->b == (uint32_t)dist->b))
			return err_set(err, -EINVAL, "%s: %g stages: must be a number from 1 to %d",
				what, dist->b, STAGES_MAX);
		if (is_time(dist->a))
			return 0;
		break;
	case SIM_EMPIRICAL:
		if (dist->value_count == 0 || !dist->values)
			return err_set(
				err, -EINVAL, "%s: an empirical distribution without values", what);
		for (uint32_t i = 0; i < dist->value_count; i++)
			if (!is_time(dist->values[i]) ||
				(i > 0 && dist->values[i] < dist->values[i - 1]))
				return err_set(err, -EINVAL,
					"%s: value %u, %g ns, is no time or below the one before "
					"it",
					what, i, dist->values[i]);
		return 0;
	default:
		return err_set(
			err, -EINVAL, "%s: unknown kind of distribution %d", what, dist->kind);
	}
	return err_set(err, -EINVAL, "%s: %g ns is no time", what, dist->a);
}

int dist_copy(const struct sim_dist *dist, struct sim_dist *ret)
{
	struct sim_dist copy = *dist;
	if (dist->kind == SIM_EMPIRICAL) {
		double *values = malloc(dist->value_count * sizeof *values);
		if (!values)
			return -ENOMEM;
		memcpy(values, dist->values, dist->value_count * sizeof *values);
		copy.values = values;
	} else {
		copy.values = NULL;
	}
	*ret = copy;
	return 0;
}

void dist_release(struct sim_dist *dist)
{
	free((void *)dist->values); /* ours: dist_copy() */
	dist->values = NULL;
}
