/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Random access (GUPS): words anywhere in a large table are changed, independently of one another,
 * so that many misses can be under way at once; atomically, as threads may meet.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { WORDS = 1 << 22, UPDATES = 30000000, STREAMS = 24 };

static void update(uint64_t *table, size_t mask, size_t updates, uint64_t stream)
{
	uint64_t seed = stream * 1000003;
	for (size_t i = 0; i < updates; i++) {
		uint64_t random = next_random(&seed);
		uint64_t *word = &table[random & mask];
#pragma omp atomic
		*word ^= random;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Random updates (OpenMP).");
	size_t words = 1, updates = kernel_scaled(&kernel, UPDATES) / STREAMS;
	while (words * 2 <= kernel_scaled(&kernel, WORDS))
		words *= 2;
	uint64_t *table = kernel_array(words, sizeof(*table));
	omp_set_num_threads(kernel.threads);
	kernel_begin_work(&kernel);
#pragma omp parallel for schedule(static)
	for (uint64_t stream = 0; stream < STREAMS; stream++)
		update(table, words - 1, updates, stream);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, table, words * sizeof(*table)));
}
