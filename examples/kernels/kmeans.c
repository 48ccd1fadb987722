/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Clustering as Rodinia's kmeans: each point to the nearest centre, then centres move; a parallel
 * region with a reduction by hand, under a critical section, in each iteration. Whole numbers, so that
 * the order of summing does not matter.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>
#include <string.h>

enum { POINTS = 80000, FEATURES = 16, CENTRES = 12, ITERATIONS = 30 };

struct sums {
	int64_t features[CENTRES][FEATURES];
	int64_t count[CENTRES];
};

typedef int32_t point[FEATURES];

static size_t nearest(const point of, const point *centres)
{
	int32_t least = INT32_MAX;
	size_t best = 0;
	for (size_t c = 0; c < CENTRES; c++) {
		int32_t distance = 0;
		for (size_t f = 0; f < FEATURES; f++)
			distance += (of[f] - centres[c][f]) * (of[f] - centres[c][f]);
		if (distance < least) {
			least = distance;
			best = c;
		}
	}
	return best;
}

static void add(struct sums *sums, size_t centre, const point of)
{
	for (size_t f = 0; f < FEATURES; f++)
		sums->features[centre][f] += of[f];
	sums->count[centre]++;
}

static void add_sums(struct sums *to, const struct sums *from)
{
	for (size_t c = 0; c < CENTRES; c++) {
		to->count[c] += from->count[c];
		for (size_t f = 0; f < FEATURES; f++)
			to->features[c][f] += from->features[c][f];
	}
}

static void iterate(const point *points, size_t count, point *centres)
{
	struct sums all = { .count = { 0 } };
#pragma omp parallel
	{
		struct sums mine = { .count = { 0 } };
#pragma omp for schedule(static) nowait
		for (size_t i = 0; i < count; i++)
			add(&mine, nearest(points[i], centres), points[i]);
#pragma omp critical
		add_sums(&all, &mine);
	}
	for (size_t c = 0; c < CENTRES; c++)
		for (size_t f = 0; f < FEATURES && all.count[c] > 0; f++)
			centres[c][f] = (int32_t)(all.features[c][f] / all.count[c]);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Clusters points (OpenMP).");
	size_t count = kernel_scaled(&kernel, POINTS);
	point *points = kernel_array(count, sizeof(point)), centres[CENTRES];
	uint64_t seed = 9;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++)
		for (size_t f = 0; f < FEATURES; f++)
			points[i][f] = (int32_t)(next_random(&seed) % 800 + i % 11 * 20);
	for (size_t c = 0; c < CENTRES; c++)
		memcpy(centres[c], points[count / CENTRES * c], sizeof(point));
	kernel_begin_work(&kernel);
	for (int i = 0; i < ITERATIONS; i++)
		iterate(points, count, centres);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, centres, sizeof(centres)));
}
