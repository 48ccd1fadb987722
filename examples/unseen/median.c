/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Medians of the neighbourhoods of an image's points, by a histogram that moves along; neighbours hand rows on by semaphores. */
#include "examples/kernels/common/kernel.h"

#include <semaphore.h>

enum { SIDE = 1800, RADIUS = 3, HALF = (2 * RADIUS + 1) * (2 * RADIUS + 1) / 2 };

struct shared {
	size_t side;
	uint8_t *from, *to;
	sem_t *tokens; /* a row may begin when the thread before has done its row */
};

static void column(const struct shared *s, uint16_t *counts, size_t x, size_t y, int change)
{
	for (size_t k = y - RADIUS; k <= y + RADIUS; k++)
		counts[s->from[k * s->side + x]] =
			(uint16_t)(counts[s->from[k * s->side + x]] + change);
}

static void row(const struct shared *s, size_t y)
{
	uint16_t counts[256] = { 0 };
	for (size_t x = 0; x < 2 * RADIUS; x++)
		column(s, counts, x, y, 1);
	for (size_t x = RADIUS; x < s->side - RADIUS; x++) {
		column(s, counts, x + RADIUS, y, 1);
		int sum = 0, value = 0;
		while ((sum += counts[value]) <= HALF)
			value++;
		s->to[y * s->side + x] = (uint8_t)value;
		column(s, counts, x - RADIUS, y, -1);
	}
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t threads = (size_t)kernel->threads, next = ((size_t)thread + 1) % threads;
	for (size_t y = RADIUS + (size_t)thread; y < s->side - RADIUS; y += threads) {
		while (sem_wait(&s->tokens[thread]) < 0)
			continue;
		(void)sem_post(&s->tokens[next]);
		row(s, y);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Medians of an image (threads, semaphores).");
	size_t side = kernel_side(&kernel, SIDE, 2) + 2 * RADIUS;
	struct shared s = { side, kernel_array(side, side), kernel_array(side, side),
		kernel_array((size_t)kernel.threads, sizeof(sem_t)) };
	for (size_t i = 0; i < side * side; i++)
		s.from[i] = (uint8_t)(i / side / 2 + kernel_mix(6, i) % 40);
	for (int t = 0; t < kernel.threads; t++)
		(void)sem_init(&s.tokens[t], 0, t == 0);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.to, side * side));
}
