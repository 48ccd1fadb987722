/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenMP. Streaming: a = b + s c over arrays far larger than private caches; bandwidth, no reuse (STREAM). */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { ELEMENTS = 2000000, PASSES = 160 };

static void triad(
	double *restrict a, const double *restrict b, const double *restrict c, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] + 0.25 * c[i];
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Streams three arrays (OpenMP).");
	size_t count = kernel_scaled(&kernel, ELEMENTS);
	double *a = kernel_array(count, sizeof(*a));
	double *b = kernel_array(count, sizeof(*b));
	double *c = kernel_array(count, sizeof(*c));
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++) {
		b[i] = (double)(i % 1000);
		c[i] = (double)(i % 77);
	}
	kernel_begin_work(&kernel);
	for (int pass = 0; pass < PASSES; pass++)
		triad(pass % 2 ? b : a, pass % 2 ? a : b, c, count);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(kernel_hash(1, a, count), b, count));
}
