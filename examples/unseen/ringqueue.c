/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of threads hand numbers over through a ring without locks; who finds it full or empty yields. One thread does both. */
#include "examples/kernels/common/kernel.h"

#include <stdbool.h>

#include <sched.h>

enum { SLOTS = 1024, NUMBERS = 3000000 };

struct ring {
	_Alignas(64) uint64_t head;
	_Alignas(64) uint64_t tail;
	_Alignas(64) uint64_t slots[SLOTS];
	uint64_t sum;
};

struct shared {
	struct ring *rings;
	size_t numbers;
};

static bool put(struct ring *r, uint64_t value)
{
	uint64_t head = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
	if (head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == SLOTS)
		return false;
	r->slots[head % SLOTS] = value;
	__atomic_store_n(&r->head, head + 1, __ATOMIC_RELEASE);
	return true;
}

static bool take(struct ring *r, uint64_t *ret)
{
	uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_RELAXED);
	if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == tail)
		return false;
	*ret = r->slots[tail % SLOTS];
	__atomic_store_n(&r->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

static uint64_t make(uint64_t i)
{
	uint64_t value = i;
	for (int k = 0; k < 12; k++)
		value = kernel_mix(value, i);
	return value;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t pairs = kernel->threads > 1 ? (size_t)kernel->threads / 2 : 1;
	struct ring *ring = &s->rings[(size_t)thread / 2];
	if ((size_t)thread / 2 >= pairs)
		return;
	uint64_t count = s->numbers / pairs, value = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (kernel->threads == 1 || thread % 2 == 0)
			for (uint64_t made = make(i); !put(ring, made);)
				sched_yield();
		if (kernel->threads == 1 || thread % 2 == 1) {
			while (!take(ring, &value))
				sched_yield();
			ring->sum += make(value) & 1;
		}
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Hands numbers over (threads).");
	struct shared s = { kernel_array((size_t)kernel.threads, sizeof(struct ring)),
		kernel_scaled(&kernel, NUMBERS) };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.numbers);
}
