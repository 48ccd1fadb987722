/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. A large instruction footprint: 512 functions of half a kilobyte, which macros make with
 * constants of their own, are called in turn for each item, several times the first-level cache.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { ITEMS = 32000, FUNCTIONS = 512 };

#define TURN(x, a, k) ((((x) << ((a) % 61 + 1)) | ((x) >> (63 - (a) % 61))) ^ (k))
#define STEP(n, k)                                                                                 \
	x = TURN(x, (n) + (k)*7, 0x9e3779b9U * ((n) + (k) + 1));                                   \
	y += x ^ (y >> ((n) % 13 + (k) % 5 + 1));
#define STEPS(n, k) STEP(n, k) STEP(n, (k) + 1) STEP(n, (k) + 2) STEP(n, (k) + 3)
#define FUNCTION(n)                                                                                \
	static uint64_t function_##n(uint64_t x, uint64_t y)                                       \
	{                                                                                          \
		STEPS(0x##n, 1)                                                                    \
		STEPS(0x##n, 5)                                                                    \
		if (x & 0x40)                                                                      \
			y ^= 0x##n;                                                                \
		STEPS(0x##n, 9)                                                                    \
		STEPS(0x##n, 13)                                                                   \
		return y;                                                                          \
	}

/* MAKE(FUNCTION, 0) and so on: names end in two more digits. */
#define MAKE4(F, n) F(n##0) F(n##1) F(n##2) F(n##3)
#define MAKE16(F, n)                                                                               \
	MAKE4(F, n)                                                                                \
	F(n##4)                                                                                    \
	F(n##5) F(n##6) F(n##7) F(n##8) F(n##9) F(n##a) F(n##b) F(n##c) F(n##d) F(n##e) F(n##f)
#define MAKE256(F, n)                                                                              \
	MAKE16(F, n##0)                                                                            \
	MAKE16(F, n##1)                                                                            \
	MAKE16(F, n##2)                                                                            \
	MAKE16(F, n##3)                                                                            \
	MAKE16(F, n##4)                                                                            \
	MAKE16(F, n##5)                                                                            \
	MAKE16(F, n##6)                                                                            \
	MAKE16(F, n##7)                                                                            \
	MAKE16(F, n##8)                                                                            \
	MAKE16(F, n##9)                                                                            \
	MAKE16(F, n##a)                                                                            \
	MAKE16(F, n##b)                                                                            \
	MAKE16(F, n##c)                                                                            \
	MAKE16(F, n##d)                                                                            \
	MAKE16(F, n##e)                                                                            \
	MAKE16(F, n##f)
#define NAME(n) function_##n,

MAKE256(FUNCTION, 0)
MAKE256(FUNCTION, 1)

static uint64_t (*const functions[FUNCTIONS])(
	uint64_t, uint64_t) = { MAKE256(NAME, 0) MAKE256(NAME, 1) };

/* An odd step reaches every function; it is another for each item. */
static uint64_t call_all(uint64_t item)
{
	uint64_t y = item;
	size_t step = 2 * (item % 16) + 1;
	for (size_t i = 0, at = 0; i < FUNCTIONS; i++, at = (at + step) % FUNCTIONS)
		y = functions[at](y, item + i);
	return y;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Much code (OpenMP).");
	size_t items = kernel_scaled(&kernel, ITEMS);
	uint64_t sum = 0;
	omp_set_num_threads(kernel.threads);
	kernel_begin_work(&kernel);
#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (size_t i = 0; i < items; i++)
		sum += call_all(i);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, sum));
}
