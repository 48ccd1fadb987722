/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Graph search as Rodinia's bfs: level by level over random edges; nodes are claimed by
 * compare and exchange, two barriers a level, levels of very different size.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { NODES = 250000, DEGREE = 6, ROOTS = 48, TAKEN = 256 };

struct search {
	uint32_t nodes;
	uint32_t *edges; /* DEGREE for each node */
	uint32_t *depths; /* 0: not reached in this search */
	uint32_t *levels[2];
	size_t counts[2], next;
	uint64_t sum;
	pthread_barrier_t barrier;
};

struct found {
	uint32_t nodes[TAKEN];
	size_t count;
};

static void hand_over(struct search *search, int to, struct found *found)
{
	size_t at = __atomic_fetch_add(&search->counts[to], found->count, __ATOMIC_RELAXED);
	memcpy(search->levels[to] + at, found->nodes, found->count * sizeof(found->nodes[0]));
	found->count = 0;
}

static void visit(struct search *search, uint32_t node, uint32_t depth, int to, struct found *found)
{
	for (size_t i = 0; i < DEGREE; i++) {
		uint32_t other = search->edges[(size_t)node * DEGREE + i], unreached = 0;
		if (__atomic_load_n(&search->depths[other], __ATOMIC_RELAXED) != 0)
			continue;
		if (!__atomic_compare_exchange_n(&search->depths[other], &unreached, depth + 1,
			    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		found->nodes[found->count++] = other;
		if (found->count == TAKEN)
			hand_over(search, to, found);
	}
}

static void search_from(struct search *search, struct kernel_part mine, int thread, uint32_t root)
{
	struct found found = { .count = 0 };
	memset(search->depths + mine.begin, 0, (mine.end - mine.begin) * sizeof(search->depths[0]));
	(void)pthread_barrier_wait(&search->barrier); /* cannot fail */
	if (thread == 0) {
		search->depths[root] = 1;
		search->levels[0][0] = root;
		search->counts[0] = 1;
	}
	for (uint32_t depth = 1;; depth++) {
		int from = (depth + 1) % 2, to = depth % 2;
		if (thread == 0)
			search->counts[to] = search->next = 0;
		(void)pthread_barrier_wait(&search->barrier);
		if (search->counts[from] == 0)
			break;
		for (size_t at; (at = __atomic_fetch_add(&search->next, TAKEN, __ATOMIC_RELAXED)) <
				search->counts[from];)
			for (size_t i = at; i < at + TAKEN && i < search->counts[from]; i++)
				visit(search, search->levels[from][i], depth, to, &found);
		hand_over(search, to, &found);
		(void)pthread_barrier_wait(&search->barrier);
	}
	uint64_t sum = 0;
	for (size_t i = mine.begin; i < mine.end; i++)
		sum += (uint64_t)search->depths[i] * (i % 1000);
	__atomic_fetch_add(&search->sum, sum, __ATOMIC_RELAXED);
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct search *search = (struct search *)shared;
	for (uint32_t i = 0; i < ROOTS; i++)
		search_from(search, kernel_part(kernel, search->nodes, thread), thread,
			search->nodes / ROOTS * i);
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Searches a graph by levels (POSIX threads).");
	struct search search = { .nodes = (uint32_t)kernel_scaled(&kernel, NODES) };
	uint64_t seed = 6;
	search.edges = kernel_array((size_t)search.nodes * DEGREE, sizeof(uint32_t));
	search.depths = kernel_array(search.nodes, sizeof(uint32_t));
	search.levels[0] = kernel_array(search.nodes, sizeof(uint32_t));
	search.levels[1] = kernel_array(search.nodes, sizeof(uint32_t));
	for (size_t i = 0; i < (size_t)search.nodes * DEGREE; i++)
		search.edges[i] = (uint32_t)(next_random(&seed) % search.nodes);
	(void)pthread_barrier_init(&search.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &search);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, search.sum));
}
