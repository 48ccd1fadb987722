/* SPDX-License-Identifier: GPL-3.0-or-later */
/* omp_barriers THREADS COUNT: COUNT rounds of about 50 microseconds of work that end at a barrier. */
#include "base/number.h"

#include <omp.h>
#include <stdio.h>

enum { STEPS = 16000 };

static uint64_t work(uint64_t value)
{
	for (int i = 0; i < STEPS; i++)
		value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9U;
	return value;
}

int main(int argc, char **argv)
{
	uint32_t threads, count;
	if (argc != 3 || number_parse_u32(argv[1], &threads) < 0 || threads == 0 ||
		number_parse_u32(argv[2], &count) < 0) {
		fputs("usage: omp_barriers THREADS COUNT\n", stderr);
		return 2;
	}
	uint64_t sum = 0;
#pragma omp parallel num_threads((int)threads) reduction(+ : sum)
	for (uint32_t i = 0; i < count; i++) {
		sum += work(i + (uint64_t)omp_get_thread_num());
#pragma omp barrier
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
