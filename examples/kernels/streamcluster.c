/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Clustering as Parsec's streamcluster: whether one more centre would pay is asked again
 * and again, with three barriers each time, thousands in all, and a decision by one thread in between.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <stdbool.h>

enum { POINTS = 6000, FEATURES = 16, CANDIDATES = 8000, PRICE = 60000 };

struct slot {
	int64_t gain;
	char alone[KERNEL_LINE - sizeof(int64_t)];
};

struct cluster {
	int32_t (*points)[FEATURES];
	int32_t *costs; /* distance of each point to its centre */
	size_t count, candidates;
	struct slot slots[KERNEL_THREADS_MAX];
	bool is_opened;
	uint64_t opened;
	pthread_barrier_t barrier;
};

static int32_t distance(const int32_t *a, const int32_t *b)
{
	int32_t sum = 0;
	for (size_t f = 0; f < FEATURES; f++)
		sum += (a[f] - b[f]) * (a[f] - b[f]);
	return sum;
}

static int64_t gain_of(const struct cluster *cluster, struct kernel_part mine, size_t candidate)
{
	int64_t gain = 0;
	for (size_t i = mine.begin; i < mine.end; i++) {
		int32_t cost = distance(cluster->points[i], cluster->points[candidate]);
		gain += cost < cluster->costs[i] ? cluster->costs[i] - cost : 0;
	}
	return gain;
}

static void reassign(struct cluster *cluster, struct kernel_part mine, size_t candidate)
{
	for (size_t i = mine.begin; i < mine.end; i++) {
		int32_t cost = distance(cluster->points[i], cluster->points[candidate]);
		cluster->costs[i] = cost < cluster->costs[i] ? cost : cluster->costs[i];
	}
}

static void decide(const struct kernel *kernel, struct cluster *cluster, size_t candidate)
{
	int64_t gain = -PRICE;
	for (int i = 0; i < kernel->threads; i++)
		gain += cluster->slots[i].gain;
	cluster->is_opened = gain > 0;
	if (gain > 0)
		cluster->opened = kernel_mix(cluster->opened, candidate);
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct cluster *cluster = (struct cluster *)shared;
	struct kernel_part mine = kernel_part(kernel, cluster->count, thread);
	for (size_t i = 0; i < cluster->candidates; i++) {
		size_t candidate = i * 7919 % cluster->count;
		cluster->slots[thread].gain = gain_of(cluster, mine, candidate);
		(void)pthread_barrier_wait(&cluster->barrier); /* cannot fail */
		if (thread == 0)
			decide(kernel, cluster, candidate);
		(void)pthread_barrier_wait(&cluster->barrier);
		if (cluster->is_opened)
			reassign(cluster, mine, candidate);
		(void)pthread_barrier_wait(&cluster->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Opens centres of a cluster (POSIX threads).");
	static struct cluster cluster = { .count = POINTS };
	uint64_t seed = 10;
	cluster.candidates = kernel_scaled(&kernel, CANDIDATES);
	cluster.points = kernel_array(cluster.count, sizeof(*cluster.points));
	cluster.costs = kernel_array(cluster.count, sizeof(*cluster.costs));
	for (size_t i = 0; i < cluster.count; i++)
		for (size_t f = 0; f < FEATURES; f++)
			cluster.points[i][f] = (int32_t)(next_random(&seed) % 256);
	for (size_t i = 0; i < cluster.count; i++)
		cluster.costs[i] = distance(cluster.points[i], cluster.points[0]);
	(void)pthread_barrier_init(&cluster.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &cluster);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel,
		kernel_hash(cluster.opened, cluster.costs, cluster.count * sizeof(*cluster.costs)));
}
