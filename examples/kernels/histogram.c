/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Shared atomics: bytes are counted in one histogram by atomic additions, whose lines
 * move between the threads; the values lean towards few bins.
 */
#include "examples/kernels/common/kernel.h"

enum { VALUES = 36000000, BINS = 256, BUFFER = 1 << 20 };

struct histogram {
	uint64_t bins[BINS];
	uint8_t *values; /* BUFFER of them, gone through again and again */
	size_t count;
};

static void count(const struct kernel *kernel, int thread, void *shared)
{
	struct histogram *histogram = (struct histogram *)shared;
	struct kernel_part mine = kernel_part(kernel, histogram->count, thread);
	for (size_t i = mine.begin; i < mine.end; i++)
		__atomic_fetch_add(
			&histogram->bins[histogram->values[i % BUFFER]], 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "A shared histogram (POSIX threads).");
	struct histogram *histogram = kernel_array(1, sizeof(*histogram));
	uint64_t seed = 18;
	histogram->values = kernel_array(BUFFER, 1);
	histogram->count = kernel_scaled(&kernel, VALUES);
	for (size_t i = 0; i < BUFFER; i++) {
		uint64_t random = next_random(&seed);
		histogram->values[i] = (uint8_t)((random & 255) * (random >> 8 & 255) / 256);
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, count, histogram);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, histogram->bins, sizeof(histogram->bins)));
}
