/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Nearest neighbours as Rodinia's nn: distances from a place to all records are computed, and the
 * least few kept by each thread, then by all, under a lock.
 */
#include "examples/kernels/common/kernel.h"

#include <math.h>
#include <omp.h>

enum { RECORDS = 400000, QUERIES = 600, KEPT = 8 };

struct record {
	float latitude, longitude;
};

struct near {
	float distances[KEPT]; /* the least first */
	uint32_t records[KEPT];
};

/* Of two at the same distance the first record is nearer: the order of asking does not matter. */
static void keep(struct near *near, float distance, uint32_t record)
{
	int at = KEPT;
	for (; at > 0; at--) {
		float other = near->distances[at - 1];
		if (distance > other || (distance == other && record > near->records[at - 1]))
			break;
		if (at < KEPT) {
			near->distances[at] = other;
			near->records[at] = near->records[at - 1];
		}
	}
	if (at < KEPT) {
		near->distances[at] = distance;
		near->records[at] = record;
	}
}

static struct near nothing_near(void)
{
	struct near near;
	for (int i = 0; i < KEPT; i++) {
		near.distances[i] = INFINITY;
		near.records[i] = UINT32_MAX;
	}
	return near;
}

static struct near query(
	const struct record *records, uint32_t count, struct record place, omp_lock_t *lock)
{
	struct near all = nothing_near();
#pragma omp parallel
	{
		struct near mine = nothing_near();
#pragma omp for schedule(static) nowait
		for (uint32_t i = 0; i < count; i++) {
			float dy = records[i].latitude - place.latitude;
			float dx = records[i].longitude - place.longitude;
			float distance = sqrtf(dx * dx + dy * dy);
			if (distance <= mine.distances[KEPT - 1])
				keep(&mine, distance, i);
		}
		omp_set_lock(lock);
		for (int i = 0; i < KEPT; i++)
			keep(&all, mine.distances[i], mine.records[i]);
		omp_unset_lock(lock);
	}
	return all;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Nearest neighbours (OpenMP).");
	uint32_t count = (uint32_t)kernel_scaled(&kernel, RECORDS);
	struct record *records = kernel_array(count, sizeof(*records));
	uint64_t seed = 20, checksum = 1;
	omp_lock_t lock;
	omp_set_num_threads(kernel.threads);
	omp_init_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		records[i] = (struct record){ (float)(180 * next_uniform(&seed) - 90),
			(float)(360 * next_uniform(&seed) - 180) };
	kernel_begin_work(&kernel);
	for (uint32_t i = 0; i < QUERIES; i++) {
		struct near near = query(records, count, records[count / QUERIES * i], &lock);
		checksum = kernel_hash(checksum, near.records, sizeof(near.records));
	}
	kernel_end_work(&kernel);
	omp_destroy_lock(&lock);
	return kernel_finish(&kernel, checksum);
}
