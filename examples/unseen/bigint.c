/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic of large integers: powers modulo numbers of 1,024 bits by Montgomery's multiplication; carries in chains. */
#include "examples/kernels/common/kernel.h"

#include <string.h>

enum { LIMBS = 16, POWERS = 600 };
typedef unsigned __int128 wide;

struct shared {
	size_t count;
	uint64_t *sums;
};

static void multiply(
	uint64_t *out, const uint64_t *a, const uint64_t *b, const uint64_t *n, uint64_t inverse)
{
	uint64_t t[LIMBS + 2] = { 0 };
	for (int i = 0; i < LIMBS; i++) {
		wide carry = 0;
		for (int j = 0; j < LIMBS; j++) {
			carry += (wide)a[j] * b[i] + t[j];
			t[j] = (uint64_t)carry;
			carry >>= 64;
		}
		carry += t[LIMBS];
		t[LIMBS] = (uint64_t)carry;
		t[LIMBS + 1] = (uint64_t)(carry >> 64);
		uint64_t m = t[0] * inverse;
		carry = ((wide)m * n[0] + t[0]) >> 64;
		for (int j = 1; j < LIMBS; j++) {
			carry += (wide)m * n[j] + t[j];
			t[j - 1] = (uint64_t)carry;
			carry >>= 64;
		}
		carry += t[LIMBS];
		t[LIMBS - 1] = (uint64_t)carry;
		t[LIMBS] = t[LIMBS + 1] + (uint64_t)(carry >> 64);
	}
	uint64_t less[LIMBS], borrow = 0;
	for (int j = 0; j < LIMBS; j++) {
		wide d = (wide)t[j] - n[j] - borrow;
		less[j] = (uint64_t)d;
		borrow = (uint64_t)(d >> 64) & 1;
	}
	memcpy(out, t[LIMBS] >= borrow ? less : t, sizeof(less));
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->count, thread);
	for (size_t i = part.begin; i < part.end; i++) {
		uint64_t n[LIMBS], x[LIMBS], r[LIMBS], inverse = 1;
		for (int j = 0; j < LIMBS; j++) {
			n[j] = kernel_mix(i, (uint64_t)j) | (j == 0) |
			       (uint64_t)(j == LIMBS - 1) << 63;
			x[j] = r[j] = kernel_mix(i + 7, (uint64_t)j) >> (j == LIMBS - 1);
		}
		for (int k = 0; k < 6; k++)
			inverse *= 2 - n[0] * inverse;
		for (int bit = 0; bit < 128; bit++) {
			multiply(r, r, r, n, -inverse);
			if (kernel_mix(i, 99) >> (bit % 64) & 1)
				multiply(r, r, x, n, -inverse);
		}
		s->sums[i] = kernel_hash(1, r, sizeof(r));
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Powers of large integers (threads).");
	struct shared s = { .count = 2 * kernel_scaled(&kernel, POWERS) };
	s.sums = kernel_array(s.count, 8);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.sums, s.count * 8));
}
