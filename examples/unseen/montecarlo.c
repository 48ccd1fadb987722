/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of a price by the C library's exp, log, sqrt and cos. */
#include "examples/kernels/common/kernel.h"

#include <math.h>

enum { PATHS = 120000, STEPS = 16 };

struct shared {
	size_t paths;
	double *ends;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->paths, thread);
	for (size_t i = part.begin; i < part.end; i++) {
		double price = 100, sum = 0;
		for (uint64_t step = 0; step < STEPS; step++) {
			double u = (double)((kernel_mix(i, step) >> 11) + 1) * 0x1p-53;
			double v = (double)(kernel_mix(i + 1, step) >> 11) * 0x1p-53;
			double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
			price *= exp(0.0001 + 0.02 * normal);
			sum += price;
		}
		s->ends[i] = sum / STEPS > 100 ? sum / STEPS - 100 : 0;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Random paths (threads).");
	struct shared s = { .paths = kernel_scaled(&kernel, PATHS) };
	s.ends = kernel_array(s.paths, 8);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	double sum = 0;
	for (size_t i = 0; i < s.paths; i++)
		sum += s.ends[i];
	return kernel_finish(&kernel, (uint64_t)sum);
}
