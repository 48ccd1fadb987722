/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Pointer chasing: each load needs the one before, and its place cannot be foreseen
 * (mcf-like). All nodes are one cycle, made by a linear congruential generator of full period.
 */
#include "examples/kernels/common/kernel.h"

enum { NODES = 2000000, CHAINS = 12, STEPS = 400000 };

struct node {
	struct node *next;
	uint64_t value;
};

struct list {
	struct node *nodes;
	size_t count, steps;
	uint64_t sums[CHAINS];
};

static void chase(const struct kernel *kernel, int thread, void *shared)
{
	struct list *list = (struct list *)shared;
	for (int chain = thread; chain < CHAINS; chain += kernel->threads) {
		const struct node *node = &list->nodes[list->count / CHAINS * (size_t)chain];
		uint64_t sum = 0;
		for (size_t i = 0; i < list->steps; i++) {
			sum += node->value;
			node = node->next;
		}
		list->sums[chain] = sum;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Follows pointers through memory (POSIX threads).");
	struct list list = { .count = 1, .steps = kernel_scaled(&kernel, STEPS) };
	while (list.count * 2 <= kernel_scaled(&kernel, NODES))
		list.count *= 2;
	list.nodes = kernel_array(list.count, sizeof(*list.nodes));
	for (size_t i = 0; i < list.count; i++) {
		size_t next = (i * 0xd1342543de82ef95U + 0xda3e39cb94b95bdbU) % list.count;
		list.nodes[i] = (struct node){ &list.nodes[next], i % 251 };
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, chase, &list);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, list.sums, sizeof(list.sums)));
}
