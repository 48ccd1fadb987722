/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Embarrassingly parallel as Parsec's blackscholes: the price of each option by a closed form;
 * long chains of floating-point arithmetic, one parallel loop a run.
 */
#include "examples/kernels/common/functions.h"
#include "examples/kernels/common/kernel.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

enum { OPTIONS = 60000, RUNS = 160 };

struct option {
	double spot, strike, rate, volatility, years;
	bool is_put;
};

/* The normal distribution: Abramowitz and Stegun, 26.2.17. */
static double normal(double x)
{
	double ax = x < 0 ? -x : x, k = 1 / (1 + 0.2316419 * ax);
	double sum =
		k * (0.319381530 +
			    k * (-0.356563782 +
					k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
	double tail = 0.3989422804014327 * kernel_exp(-0.5 * ax * ax) * sum;
	return x < 0 ? tail : 1 - tail;
}

static double price(const struct option *o)
{
	double root = o->volatility * sqrt(o->years);
	double d1 = (kernel_log(o->spot / o->strike) +
			    (o->rate + 0.5 * o->volatility * o->volatility) * o->years) /
		    root;
	double d2 = d1 - root, later = o->strike * kernel_exp(-o->rate * o->years);
	if (o->is_put)
		return later * normal(-d2) - o->spot * normal(-d1);
	return o->spot * normal(d1) - later * normal(d2);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Prices of options (OpenMP).");
	size_t count = kernel_scaled(&kernel, OPTIONS);
	struct option *options = kernel_array(count, sizeof(*options));
	double *prices = kernel_array(count, sizeof(*prices));
	uint64_t seed = 14, checksum = 1;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++) {
		options[i].spot = 50 + 100 * next_uniform(&seed);
		options[i].strike = 50 + 100 * next_uniform(&seed);
		options[i].rate = 0.01 + 0.05 * next_uniform(&seed);
		options[i].volatility = 0.1 + 0.4 * next_uniform(&seed);
		options[i].years = 0.2 + 2 * next_uniform(&seed);
		options[i].is_put = next_random(&seed) % 2;
	}
	kernel_begin_work(&kernel);
	for (int run = 0; run < RUNS; run++) {
#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < count; i++)
			prices[i] += price(&options[i]);
	}
	kernel_end_work(&kernel);
	for (size_t i = 0; i < count; i++)
		checksum = kernel_mix(checksum, (uint64_t)(int64_t)(prices[i] * 1000 + 0.5));
	return kernel_finish(&kernel, checksum);
}
