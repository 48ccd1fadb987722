/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sparse triangular system, solved level by level with a barrier after each; rows are gathered from all over. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { LEVELS = 60, ROWS = 200000, FILLED = 8, ROUNDS = 10 };

struct shared {
	uint32_t *columns;
	double *values, *x, *b;
	size_t rows;
	pthread_barrier_t barrier;
};

static void solve(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t level_rows = s->rows / LEVELS;
	struct kernel_part part = kernel_part(kernel, level_rows, thread);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t level = 0; level < LEVELS; level++) {
			for (size_t i = part.begin; i < part.end; i++) {
				size_t row = level * level_rows + i;
				double sum = s->b[row];
				for (size_t k = row * FILLED; level > 0 && k < (row + 1) * FILLED;
					k++)
					sum -= s->values[k] * s->x[s->columns[k]];
				s->x[row] = sum / (1.5 + (double)(row % 3));
			}
			(void)pthread_barrier_wait(&s->barrier);
		}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Solves a triangular system (threads).");
	static struct shared s;
	s.rows = LEVELS * (1 + kernel_scaled(&kernel, ROWS) / LEVELS);
	s.columns = kernel_array(s.rows * FILLED, 4);
	s.values = kernel_array(s.rows * FILLED, 8);
	s.x = kernel_array(s.rows, 8);
	s.b = kernel_array(s.rows, 8);
	for (size_t i = 0; i < s.rows; i++) {
		size_t before = i / (s.rows / LEVELS) * (s.rows / LEVELS);
		s.b[i] = (double)(i % 7);
		for (size_t k = i * FILLED; before > 0 && k < (i + 1) * FILLED; k++) {
			s.columns[k] = (uint32_t)((kernel_mix(1, k) >> 10) % before);
			s.values[k] = 1.0 / (double)(9 + k % 11);
		}
	}
	(void)pthread_barrier_init(&s.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, solve, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.x, s.rows * 8));
}
