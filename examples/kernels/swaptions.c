/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Monte Carlo as Parsec's swaptions: paths of rates for each contract, every trial with
 * random numbers of its own; threads share nothing and meet only at the end.
 */
#include "examples/kernels/common/functions.h"
#include "examples/kernels/common/kernel.h"

#include <math.h>

enum { CONTRACTS = 24, TRIALS = 56000, PERIODS = 24 };

struct contract {
	double rate, strike, volatility, mean;
};

struct market {
	struct contract contracts[CONTRACTS];
	size_t trials;
};

/* Near enough a standard normal number: a sum of four uniform ones. */
static double next_shock(uint64_t *seed)
{
	double sum =
		next_uniform(seed) + next_uniform(seed) + next_uniform(seed) + next_uniform(seed);
	return (sum - 2.0) * 1.7320508075688772;
}

static double one_path(const struct contract *contract, uint64_t seed)
{
	double rate = contract->rate, discount = 0, worth = 0;
	for (int period = 0; period < PERIODS; period++) {
		double drift = 0.1 * (contract->strike - rate);
		rate += drift + contract->volatility * sqrt(rate) * next_shock(&seed);
		rate = rate < 1e-4 ? 1e-4 : rate;
		discount += rate / 4;
		if (rate > contract->strike)
			worth += (rate - contract->strike) * kernel_exp(-discount);
	}
	return worth;
}

static void simulate(const struct kernel *kernel, int thread, void *shared)
{
	struct market *market = (struct market *)shared;
	for (int i = thread; i < CONTRACTS; i += kernel->threads) {
		struct contract *contract = &market->contracts[i];
		double sum = 0;
		for (size_t trial = 0; trial < market->trials; trial++)
			sum += one_path(contract, (uint64_t)i << 32 | trial);
		contract->mean = sum / (double)market->trials;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Monte Carlo over contracts (POSIX threads).");
	struct market market = { .trials = kernel_scaled(&kernel, TRIALS) };
	uint64_t seed = 15, checksum = 1;
	for (int i = 0; i < CONTRACTS; i++)
		market.contracts[i] = (struct contract){ 0.02 + 0.04 * next_uniform(&seed),
			0.03 + 0.02 * next_uniform(&seed), 0.01 + 0.02 * next_uniform(&seed), 0 };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, simulate, &market);
	kernel_end_work(&kernel);
	for (int i = 0; i < CONTRACTS; i++)
		checksum = kernel_mix(checksum, (uint64_t)(market.contracts[i].mean * 1e9));
	return kernel_finish(&kernel, checksum);
}
