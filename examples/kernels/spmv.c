/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Sparse algebra: y = A x again and again, in compressed rows of uneven length, half near the
 * diagonal and half anywhere; rows are handed out as threads ask.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { ROWS = 120000, SHORTEST = 4, SPREAD = 24, BAND = 256, PASSES = 96, CHUNK = 512 };

struct sparse {
	size_t rows;
	size_t *begins;
	uint32_t *columns;
	double *values;
};

static struct sparse make_matrix(size_t rows)
{
	struct sparse a = { .rows = rows };
	size_t most = rows * (SHORTEST + SPREAD), count = 0;
	uint64_t seed = 5;
	a.begins = kernel_array(rows + 1, sizeof(*a.begins));
	a.columns = kernel_array(most, sizeof(*a.columns));
	a.values = kernel_array(most, sizeof(*a.values));
	for (size_t row = 0; row < rows; row++) {
		uint64_t random = next_random(&seed);
		size_t length = SHORTEST + random % SPREAD;
		for (size_t i = 0; i < length; i++, count++) {
			random = next_random(&seed);
			size_t near = row + (random >> 32) % BAND, far = random >> 32;
			a.columns[count] = (uint32_t)((i % 2 ? far : near) % rows);
			a.values[count] = (double)(random % 100) / 1600.0;
		}
		a.begins[row + 1] = count;
	}
	return a;
}

static void multiply(const struct sparse *a, const double *x, double *y)
{
#pragma omp parallel for schedule(dynamic, CHUNK)
	for (size_t row = 0; row < a->rows; row++) {
		double sum = 0;
		for (size_t i = a->begins[row]; i < a->begins[row + 1]; i++)
			sum += a->values[i] * x[a->columns[i]];
		y[row] = sum;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Multiplies a sparse matrix by a vector (OpenMP).");
	struct sparse a = make_matrix(kernel_scaled(&kernel, ROWS));
	double *x[2] = { kernel_array(a.rows, sizeof(double)),
		kernel_array(a.rows, sizeof(double)) };
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < a.rows; i++)
		x[0][i] = 1.0;
	kernel_begin_work(&kernel);
	for (int pass = 0; pass < PASSES; pass++)
		multiply(&a, x[pass % 2], x[(pass + 1) % 2]);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, x[PASSES % 2], a.rows * sizeof(double)));
}
