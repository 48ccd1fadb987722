/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Dynamic programming as Rodinia's pathfinder: the cheapest way down a wall, row by row;
 * a barrier for each row, little work between two.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { COLUMNS = 100000, WALL_ROWS = 32, STEPS = 6000 };

struct wall {
	size_t columns;
	uint8_t *costs; /* WALL_ROWS rows, used in turn */
	int32_t *ways[2];
	pthread_barrier_t barrier;
};

static int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static void descend(const struct wall *wall, int step, struct kernel_part mine)
{
	const uint8_t *restrict costs = wall->costs + (size_t)(step % WALL_ROWS) * wall->columns;
	const int32_t *restrict from = wall->ways[step % 2];
	int32_t *restrict to = wall->ways[(step + 1) % 2];
	size_t last = wall->columns - 1;
	size_t begin = mine.begin > 0 ? mine.begin : 1, end = mine.end < last ? mine.end : last;
	if (mine.begin == 0)
		to[0] = least(from[0], from[1]) + costs[0];
	for (size_t x = begin; x < end; x++)
		to[x] = least(least(from[x - 1], from[x]), from[x + 1]) + costs[x];
	if (mine.end == last + 1)
		to[last] = least(from[last - 1], from[last]) + costs[last];
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct wall *wall = (struct wall *)shared;
	struct kernel_part mine = kernel_part(kernel, wall->columns, thread);
	for (int step = 0; step < STEPS; step++) {
		descend(wall, step, mine);
		(void)pthread_barrier_wait(&wall->barrier); /* cannot fail */
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "The cheapest way down a wall (POSIX threads).");
	struct wall wall = { .columns = kernel_scaled(&kernel, COLUMNS) };
	uint64_t seed = 8;
	wall.costs = kernel_array(wall.columns, WALL_ROWS);
	wall.ways[0] = kernel_array(wall.columns, sizeof(int32_t));
	wall.ways[1] = kernel_array(wall.columns, sizeof(int32_t));
	for (size_t i = 0; i < wall.columns * WALL_ROWS; i++)
		wall.costs[i] = next_random(&seed) % 10;
	(void)pthread_barrier_init(&wall.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, work, &wall);
	kernel_end_work(&kernel);
	return kernel_finish(
		&kernel, kernel_hash(1, wall.ways[STEPS % 2], wall.columns * sizeof(int32_t)));
}
