/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queens on a board by recursion over bits; threads take first moves from a counter. */
#include "examples/kernels/common/kernel.h"

struct shared {
	unsigned side;
	uint64_t next, solutions, boards;
};

static uint64_t place(unsigned all, unsigned columns, unsigned left, unsigned right)
{
	uint64_t count = 0;
	if (columns == all)
		return 1;
	for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
		unsigned bit = free & -free;
		count += place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
	}
	return count;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	(void)kernel;
	(void)thread;
	for (;;) {
		uint64_t i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
		if (i >= s->boards * s->side)
			return;
		unsigned bit = 1u << (i % s->side);
		uint64_t found = place((1u << s->side) - 1, bit, bit << 1, bit >> 1);
		__atomic_fetch_add(&s->solutions, found, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Places queens (threads).");
	struct shared s = { .side = 9, .boards = kernel_scaled(&kernel, 700) };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.solutions);
}
