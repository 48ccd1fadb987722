/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fast Fourier transforms of complex numbers, 4,096 points each: strides of powers of two, floating point. */
#include "examples/kernels/common/kernel.h"

#include <math.h>

enum { BITS = 12, POINTS = 1 << BITS, TRANSFORMS = 250 };

struct complex_number {
	double re, im;
};

struct shared {
	struct complex_number *points, *roots;
	size_t count;
};

static void transform(struct complex_number *v, const struct complex_number *roots)
{
	for (unsigned i = 0, j = 0; i < POINTS; i++) {
		if (i < j) {
			struct complex_number kept = v[i];
			v[i] = v[j];
			v[j] = kept;
		}
		unsigned bit = POINTS / 2;
		for (; j & bit; bit /= 2)
			j ^= bit;
		j |= bit;
	}
	for (unsigned length = 2; length <= POINTS; length *= 2)
		for (unsigned i = 0; i < POINTS; i += length)
			for (unsigned k = 0; k < length / 2; k++) {
				struct complex_number w = roots[k * (POINTS / length)];
				struct complex_number *a = &v[i + k], *b = &v[i + k + length / 2];
				double re = b->re * w.re - b->im * w.im,
				       im = b->re * w.im + b->im * w.re;
				*b = (struct complex_number){ a->re - re, a->im - im };
				*a = (struct complex_number){ a->re + re, a->im + im };
			}
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->count, thread);
	for (size_t i = part.begin; i < part.end; i++)
		transform(s->points + i * POINTS, s->roots);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Fourier transforms (threads).");
	struct shared s = { .count = 2 * kernel_scaled(&kernel, TRANSFORMS) };
	s.points = kernel_array(s.count * POINTS, sizeof(*s.points));
	s.roots = kernel_array(POINTS / 2, sizeof(*s.roots));
	for (unsigned i = 0; i < POINTS / 2; i++)
		s.roots[i] = (struct complex_number){ cos(i * 2 * 3.141592653589793 / POINTS),
			-sin(i * 2 * 3.141592653589793 / POINTS) };
	for (size_t i = 0; i < s.count * POINTS; i++)
		s.points[i].re = (double)(kernel_mix(1, i) >> 50);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	uint64_t sum = 0;
	for (size_t i = 0; i < s.count; i++)
		sum += (uint64_t)(int64_t)(s.points[i * POINTS + 5].re * 0.01);
	return kernel_finish(&kernel, sum);
}
