/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Dense algebra as Rodinia's lud: elimination without pivoting, rows dealt to threads in
 * turn, a barrier for each column; work shrinks from column to column.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { SIDE = 1300 };

struct matrix {
	size_t side;
	double *cells;
	pthread_barrier_t barrier;
};

static void eliminate(const struct matrix *matrix, size_t column, size_t row)
{
	const double *restrict pivot = matrix->cells + column * matrix->side;
	double *restrict cells = matrix->cells + row * matrix->side;
	double factor = cells[column] / pivot[column];
	cells[column] = factor;
	for (size_t x = column + 1; x < matrix->side; x++)
		cells[x] -= factor * pivot[x];
}

static void decompose(const struct kernel *kernel, int thread, void *shared)
{
	struct matrix *matrix = (struct matrix *)shared;
	size_t threads = (size_t)kernel->threads;
	for (size_t column = 0; column + 1 < matrix->side; column++) {
		size_t first = column + 1;
		first += ((size_t)thread + threads - first % threads) % threads;
		for (size_t row = first; row < matrix->side; row += threads)
			eliminate(matrix, column, row);
		(void)pthread_barrier_wait(&matrix->barrier); /* cannot fail */
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Decomposes a matrix, LU (POSIX threads).");
	struct matrix matrix = { .side = kernel_side(&kernel, SIDE, 3) };
	uint64_t seed = 4;
	matrix.cells = kernel_array(matrix.side * matrix.side, sizeof(double));
	for (size_t y = 0; y < matrix.side; y++)
		for (size_t x = 0; x < matrix.side; x++)
			matrix.cells[y * matrix.side + x] =
				next_uniform(&seed) + (x == y ? (double)matrix.side : 0);
	(void)pthread_barrier_init(&matrix.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, decompose, &matrix);
	kernel_end_work(&kernel);
	return kernel_finish(
		&kernel, kernel_hash(1, matrix.cells, matrix.side * matrix.side * sizeof(double)));
}
