/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Fine locks by the million as Parsec's fluidanimate: particles add to their cell and its
 * neighbours, each of which has a lock that is nearly always free; barriers between the phases of a step.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { SIDE = 64, CELLS = SIDE * SIDE, PARTICLES = 60000, STEPS = 72, NEIGHBOURS = 4 };

struct cell {
	pthread_mutex_t lock;
	uint64_t density, next;
};

struct particle {
	int32_t x, y; /* in 1/256 of a cell */
	int32_t across, along; /* velocity */
};

struct fluid {
	struct cell cells[CELLS];
	struct particle *particles;
	size_t count;
	pthread_barrier_t barrier;
};

static size_t cell_of(const struct particle *p, size_t neighbour)
{
	uint32_t x = (uint32_t)p->x / 256 + (neighbour & 1),
		 y = (uint32_t)p->y / 256 + neighbour / 2;
	return y % SIDE * SIDE + x % SIDE;
}

static void spread(struct fluid *fluid, const struct particle *p)
{
	uint32_t right = (uint32_t)p->x % 256, below = (uint32_t)p->y % 256;
	uint32_t weights[NEIGHBOURS] = { (256 - right) * (256 - below), right * (256 - below),
		(256 - right) * below, right * below };
	for (size_t i = 0; i < NEIGHBOURS; i++) {
		struct cell *cell = &fluid->cells[cell_of(p, i)];
		(void)pthread_mutex_lock(&cell->lock); /* a plain mutex: cannot fail */
		cell->next += weights[i];
		(void)pthread_mutex_unlock(&cell->lock);
	}
}

static void move(const struct fluid *fluid, struct particle *p)
{
	int64_t here = (int64_t)fluid->cells[cell_of(p, 0)].density;
	int64_t right = (int64_t)fluid->cells[cell_of(p, 1)].density;
	int64_t below = (int64_t)fluid->cells[cell_of(p, 2)].density;
	p->across = (int32_t)((p->across + (here - right) / 65536) % 512);
	p->along = (int32_t)((p->along + (here - below) / 65536) % 512);
	p->x = (int32_t)((uint32_t)(p->x + p->across) % (SIDE * 256));
	p->y = (int32_t)((uint32_t)(p->y + p->along) % (SIDE * 256));
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct fluid *fluid = (struct fluid *)shared;
	struct kernel_part mine = kernel_part(kernel, fluid->count, thread);
	struct kernel_part cells = kernel_part(kernel, CELLS, thread);
	for (int step = 0; step < STEPS; step++) {
		for (size_t i = mine.begin; i < mine.end; i++)
			spread(fluid, &fluid->particles[i]);
		(void)pthread_barrier_wait(&fluid->barrier); /* cannot fail */
		for (size_t i = cells.begin; i < cells.end; i++) {
			fluid->cells[i].density = fluid->cells[i].next;
			fluid->cells[i].next = 0;
		}
		(void)pthread_barrier_wait(&fluid->barrier);
		for (size_t i = mine.begin; i < mine.end; i++)
			move(fluid, &fluid->particles[i]);
	}
}

int main(int argc, char **argv)
{
	static struct fluid fluid;
	struct kernel kernel =
		kernel_start(argc, argv, "Particles with a lock for each cell (POSIX threads).");
	uint64_t seed = 11;
	fluid.count = kernel_scaled(&kernel, PARTICLES);
	fluid.particles = kernel_array(fluid.count, sizeof(*fluid.particles));
	for (size_t i = 0; i < fluid.count; i++) {
		/* From above to below: threads meet at the borders of their parts. */
		uint64_t random = next_random(&seed);
		fluid.particles[i] = (struct particle){ (int32_t)(random % (SIDE * 256)),
			(int32_t)(i * SIDE * 256 / fluid.count), (int32_t)((random >> 40) % 8),
			(int32_t)((random >> 48) % 8) };
	}
	for (size_t i = 0; i < CELLS; i++)
		(void)pthread_mutex_init(&fluid.cells[i].lock, NULL);
	(void)pthread_barrier_init(&fluid.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &fluid);
	kernel_end_work(&kernel);
	return kernel_finish(
		&kernel, kernel_hash(1, fluid.particles, fluid.count * sizeof(*fluid.particles)));
}
