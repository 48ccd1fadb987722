/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Primes by a sieve in segments: bytes struck out at strides that are primes, segments taken as they come. */
#include "examples/kernels/common/kernel.h"

#include <string.h>

enum { SEGMENT = 1 << 16, LIMIT = 120000000, SMALL = 11000 };

struct shared {
	size_t limit, next, count;
	size_t primes[2000], prime_count;
};

static size_t strike(const struct shared *s, size_t low, char *is_out)
{
	size_t high = low + SEGMENT < s->limit ? low + SEGMENT : s->limit, found = 0;
	memset(is_out, 0, SEGMENT);
	for (size_t i = 0; i < s->prime_count && s->primes[i] * s->primes[i] < high; i++) {
		size_t p = s->primes[i], first = (low + p - 1) / p * p;
		for (size_t k = first < p * p ? p * p : first; k < high; k += p)
			is_out[k - low] = 1;
	}
	for (size_t k = low < 2 ? 2 : low; k < high; k++)
		found += !is_out[k - low];
	return found;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	(void)kernel;
	(void)thread;
	struct shared *s = data;
	static _Thread_local char is_out[SEGMENT];
	size_t found = 0, low;
	while ((low = __atomic_fetch_add(&s->next, SEGMENT, __ATOMIC_RELAXED)) < s->limit)
		found += strike(s, low, is_out);
	__atomic_fetch_add(&s->count, found, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Sieve in segments (threads).");
	static struct shared s;
	s.limit = kernel_scaled(&kernel, LIMIT);
	for (size_t p = 2; p < SMALL; p++) {
		size_t is_prime = 1;
		for (size_t i = 0; is_prime && i < s.prime_count && s.primes[i] * s.primes[i] <= p;
			i++)
			is_prime = p % s.primes[i] != 0;
		if (is_prime)
			s.primes[s.prime_count++] = p;
	}
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.count);
}
