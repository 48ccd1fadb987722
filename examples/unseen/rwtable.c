/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table that many read and few change, under a lock for readers and writers. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { OPERATIONS = 6000000, KEYS = 8192, LOOK = 24 };

struct shared {
	pthread_rwlock_t lock;
	size_t operations;
	uint32_t *keys; /* in order, so that a search halves them */
	uint64_t *values, *sums;
};

static size_t find(const uint32_t *keys, uint32_t wanted)
{
	size_t low = 0, count = KEYS;
	while (count > 1) {
		size_t half = count / 2;
		if (keys[low + half] <= wanted)
			low += half;
		count -= half;
	}
	return low;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->operations / LOOK, thread);
	uint64_t sum = 0;
	for (size_t i = part.begin; i < part.end; i++) {
		int is_change = kernel_mix(5, i) % 32 == 0;
		(void)(is_change ? pthread_rwlock_wrlock(&s->lock)
				 : pthread_rwlock_rdlock(&s->lock));
		for (size_t k = 0; k < LOOK; k++) {
			size_t at = find(s->keys, (uint32_t)(kernel_mix(i, k) >> 35));
			if (is_change)
				s->values[at] += i;
			else
				sum += at ^ (s->values[at] & 0);
		}
		(void)pthread_rwlock_unlock(&s->lock);
	}
	s->sums[(size_t)thread * 8] = sum;
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Readers and writers of a table (threads).");
	struct shared s = { .operations = kernel_scaled(&kernel, OPERATIONS),
		.keys = kernel_array(KEYS, 4),
		.values = kernel_array(KEYS, 8),
		.sums = kernel_array((size_t)kernel.threads, KERNEL_LINE) };
	(void)pthread_rwlock_init(&s.lock, NULL);
	for (uint32_t i = 0; i < KEYS; i++)
		s.keys[i] = i << 16;
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	uint64_t sum = kernel_sum_of_lines(&kernel, s.sums);
	return kernel_finish(&kernel, sum + kernel_hash(1, s.values, KEYS * 8));
}
