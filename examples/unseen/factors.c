/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Greatest common divisors and powers modulo numbers: divisions that wait for one another. */
#include "examples/kernels/common/kernel.h"

enum { NUMBERS = 1600000 };

struct shared {
	size_t numbers;
	uint64_t *sums;
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus)
{
	uint64_t result = 1;
	for (base %= modulus; exponent; exponent >>= 1) {
		if (exponent & 1)
			result = result * base % modulus;
		base = base * base % modulus;
	}
	return result;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->numbers, thread);
	uint64_t sum = 0;
	for (size_t i = part.begin; i < part.end; i++) {
		uint64_t n = (kernel_mix(3, i) >> 33) | 1, m = kernel_mix(4, i) >> 34;
		sum += gcd(n, m);
		if (i % 4 == 0)
			sum += power(m, n - 1, n) == 1;
	}
	s->sums[(size_t)thread * 8] = sum;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Divisors and powers (threads).");
	struct shared s = { kernel_scaled(&kernel, NUMBERS),
		kernel_array((size_t)kernel.threads, KERNEL_LINE) };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_sum_of_lines(&kernel, s.sums));
}
