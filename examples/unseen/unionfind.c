/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Components of a random graph: sets joined without locks, by compare and swap on an array that all share. */
#include "examples/kernels/common/kernel.h"

#include <stdbool.h>

enum { NODES = 3000000 };

struct shared {
	size_t nodes, edges;
	uint32_t *parents;
};

static uint32_t root(uint32_t *parents, uint32_t at)
{
	uint32_t up;
	while ((up = __atomic_load_n(&parents[at], __ATOMIC_RELAXED)) != at) {
		uint32_t above = __atomic_load_n(&parents[up], __ATOMIC_RELAXED);
		if (above != up)
			__atomic_store_n(&parents[at], above, __ATOMIC_RELAXED);
		at = above;
	}
	return at;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
	for (;;) {
		a = root(parents, a);
		b = root(parents, b);
		if (a == b)
			return;
		uint32_t high = a > b ? a : b, low = a > b ? b : a;
		if (__atomic_compare_exchange_n(
			    &parents[high], &high, low, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->edges, thread);
	for (size_t i = part.begin; i < part.end; i++)
		join(s->parents, (uint32_t)((kernel_mix(1, i) >> 16) % s->nodes),
			(uint32_t)((kernel_mix(2, i) >> 16) % s->nodes));
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Components of a graph (threads, lock-free).");
	size_t nodes = kernel_scaled(&kernel, NODES);
	struct shared s = { nodes, nodes * 2, kernel_array(nodes, 4) };
	for (uint32_t i = 0; i < nodes; i++)
		s.parents[i] = i;
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	uint64_t sets = 0;
	for (uint32_t i = 0; i < nodes; i++)
		sets += s.parents[i] == i;
	return kernel_finish(&kernel, sets);
}
