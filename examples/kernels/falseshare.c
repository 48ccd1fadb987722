/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. False sharing: each thread counts in words of its own, which lie in the same line as
 * those of the others; more threads only send the line to and fro.
 */
#include "examples/kernels/common/kernel.h"

enum { ITEMS = 250000000, BINS = 4 };

struct counts {
	uint64_t bins[KERNEL_THREADS_MAX][BINS];
	size_t items;
};

static void count(const struct kernel *kernel, int thread, void *shared)
{
	struct counts *counts = (struct counts *)shared;
	uint64_t *bins = counts->bins[thread];
	struct kernel_part mine = kernel_part(kernel, counts->items, thread);
	for (size_t i = mine.begin; i < mine.end; i++) {
		uint64_t value = kernel_mix(1, i);
		/* Written each time: a counter that others may look at. */
		__atomic_store_n(&bins[value % BINS], bins[value % BINS] + value / BINS % 16,
			__ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Counters in one line (POSIX threads).");
	struct counts *counts = kernel_array(1, sizeof(*counts));
	uint64_t sums[BINS] = { 0 };
	counts->items = kernel_scaled(&kernel, ITEMS);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, count, counts);
	kernel_end_work(&kernel);
	for (int i = 0; i < kernel.threads; i++)
		for (size_t bin = 0; bin < BINS; bin++)
			sums[bin] += counts->bins[i][bin];
	return kernel_finish(&kernel, kernel_hash(1, sums, sizeof(sums)));
}
