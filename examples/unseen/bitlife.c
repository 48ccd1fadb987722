/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The game of life, 64 cells to a word: sums of neighbours by bit logic, a barrier after each generation. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <stdlib.h>

enum { ROWS = 512, WORDS = 32, GENERATIONS = 900 };

struct shared {
	pthread_barrier_t barrier;
	size_t generations;
	uint64_t (*now)[WORDS], (*next)[WORDS];
};

struct sum {
	uint64_t ones, twos;
};

static struct sum add_three(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t half = a ^ b;
	return (struct sum){ half ^ c, (a & b) | (half & c) };
}

static struct sum row_sum(const uint64_t *row, size_t w, uint64_t middle)
{
	uint64_t before = row[(w + WORDS - 1) % WORDS], after = row[(w + 1) % WORDS];
	return add_three(row[w] << 1 | before >> 63, middle, row[w] >> 1 | after << 63);
}

static uint64_t step(const uint64_t *up, const uint64_t *here, const uint64_t *down, size_t w)
{
	struct sum a = row_sum(up, w, up[w]), b = row_sum(here, w, 0),
		   c = row_sum(down, w, down[w]);
	struct sum low = add_three(a.ones, b.ones, c.ones);
	struct sum high = add_three(a.twos, b.twos, c.twos);
	uint64_t twos = high.ones ^ low.twos, fours = high.twos | (high.ones & low.twos);
	return twos & ~fours & (low.ones | here[w]);
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, ROWS, thread);
	uint64_t(*now)[WORDS] = s->now, (*next)[WORDS] = s->next;
	for (size_t g = 0; g < s->generations; g++) {
		for (size_t y = part.begin; y < part.end; y++)
			for (size_t w = 0; w < WORDS; w++)
				next[y][w] = step(
					now[(y + ROWS - 1) % ROWS], now[y], now[(y + 1) % ROWS], w);
		uint64_t(*swap)[WORDS] = now;
		now = next;
		next = swap;
		(void)pthread_barrier_wait(&s->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Game of life by bits (threads, barriers).");
	struct shared s = { .generations = kernel_scaled(&kernel, GENERATIONS),
		.now = kernel_array(ROWS, sizeof(*s.now)),
		.next = kernel_array(ROWS, sizeof(*s.now)) };
	(void)pthread_barrier_init(&s.barrier, NULL, (unsigned)kernel.threads);
	for (size_t i = 0; i < (size_t)ROWS * WORDS; i++)
		s.now[i / WORDS][i % WORDS] = kernel_mix(7, i) & kernel_mix(8, i);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	const void *last = s.generations % 2 ? s.next : s.now;
	return kernel_finish(&kernel, kernel_hash(1, last, sizeof(*s.now) * ROWS));
}
