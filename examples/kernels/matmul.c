/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Dense algebra: a blocked product of matrices; high reuse, vector arithmetic. matmul_fma is the
 * same with fused multiply-add of 256 bits, which an emulator does in software.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { SIDE = 960, BLOCK = 32 };

struct product {
	size_t side;
	const double *a, *b;
	double *c;
};

static void add_block(const struct product *p, size_t y0, size_t z0, size_t x0)
{
	for (size_t y = y0; y < y0 + BLOCK; y++) {
		for (size_t z = z0; z < z0 + BLOCK; z++) {
			double factor = p->a[y * p->side + z];
			const double *restrict from = p->b + z * p->side + x0;
			double *restrict to = p->c + y * p->side + x0;
			for (size_t x = 0; x < BLOCK; x++)
				to[x] += factor * from[x];
		}
	}
}

static void multiply(const struct product *p)
{
#pragma omp parallel for schedule(dynamic)
	for (size_t y = 0; y < p->side; y += BLOCK)
		for (size_t z = 0; z < p->side; z += BLOCK)
			for (size_t x = 0; x < p->side; x += BLOCK)
				add_block(p, y, z, x);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Multiplies matrices by blocks (OpenMP).");
	size_t side = (kernel_side(&kernel, SIDE, 3) + BLOCK - 1) / BLOCK * BLOCK,
	       count = side * side;
	double *a = kernel_array(count, sizeof(*a));
	double *b = kernel_array(count, sizeof(*b));
	double *c = kernel_array(count, sizeof(*c));
	uint64_t seed = 3;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++) {
		/* Whole numbers: the product is exact, fused or not. */
		a[i] = (double)(next_random(&seed) % 128) - 64;
		b[i] = (double)(next_random(&seed) % 128) - 64;
	}
	struct product product = { side, a, b, c };
	kernel_begin_work(&kernel);
	multiply(&product);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, c, count * sizeof(*c)));
}
