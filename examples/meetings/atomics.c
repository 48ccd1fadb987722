/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Atomic operations on one word, alone or with a little work between them, and a sequence lock. */
#include "examples/meetings/meeting.h"

#include <stdatomic.h>

enum { NODES = 64, VALUES = 8, READS_A_WRITE = 20 };

struct node {
	struct node *next;
	uint64_t value;
};

struct shared {
	size_t rounds;
	_Atomic uint64_t put; /* by all threads, once they end */
	_Alignas(MEETING_APART) _Atomic uint64_t counter;
	_Alignas(MEETING_APART) _Atomic(struct node *) top;
	_Alignas(MEETING_APART) atomic_uint sequence;
	_Alignas(MEETING_APART) _Atomic uint64_t values[VALUES];
};

static void atomic_add(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	for (size_t i = 0; i < rounds; i++)
		atomic_fetch_add(&s->counter, 1);
	atomic_fetch_add(&s->put, rounds);
}

static void atomic_work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 20);
		atomic_fetch_add(&s->counter, x % 4);
		put += x % 4;
	}
	atomic_fetch_add(&s->put, put);
}

/* Who is quick does more rounds; each thread counts once past the last. */
static void shared_counter(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = s->rounds;
	uint64_t x = (uint64_t)thread + 1, put = 0;
	(void)kernel;
	for (;;) {
		size_t i = atomic_fetch_add(&s->counter, 1);
		put++;
		if (i >= rounds)
			break;
		x = meeting_work(x + i, 50);
	}
	meeting_keep(x);
	atomic_fetch_add(&s->put, put);
}

static void compare_swap(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 10);
		uint64_t step = x % 8 + 1, old = atomic_load(&s->counter);
		while (!atomic_compare_exchange_weak(&s->counter, &old, old + step)) {
		}
		put += step;
	}
	atomic_fetch_add(&s->put, put);
}

/*
 * Nodes are pushed again and again, none is taken off: no list is left, but the distances from each top
 * to the next add up to the last one.
 */
static void treiber_stack(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct node *nodes = kernel_array(NODES, sizeof(*nodes));
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, put = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct node *node = &nodes[i % NODES];
		x = meeting_work(x, 10);
		node->value = x;
		struct node *old = atomic_load(&s->top);
		do
			node->next = old;
		while (!atomic_compare_exchange_weak(&s->top, &old, node));
		put += (uintptr_t)node - (uintptr_t)old;
	}
	atomic_fetch_add(&s->put, put);
}

static void write_values(struct shared *s, size_t writes)
{
	uint64_t x = 1;
	for (size_t i = 0; i < writes; i++) {
		x = meeting_work(x, 100);
		atomic_fetch_add(&s->sequence, 1);
		for (int k = 0; k < VALUES; k++)
			atomic_store_explicit(&s->values[k], x, memory_order_relaxed);
		atomic_fetch_add(&s->sequence, 1);
	}
}

/* The sum of the values, all of one write. */
static inline uint64_t read_values(struct shared *s)
{
	unsigned sequence;
	uint64_t sum;
	do {
		do
			sequence = atomic_load(&s->sequence);
		while (sequence % 2 != 0);
		sum = 0;
		for (int k = 0; k < VALUES; k++)
			sum += atomic_load_explicit(&s->values[k], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load(&s->sequence) != sequence);
	return sum;
}

/*
 * The first of several threads writes. The sum of eight equal values is a multiple of eight; mixed ones
 * seldom have such a sum.
 */
static void seqlock(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	if (thread == 0 && kernel->threads > 1) {
		write_values(s, s->rounds / READS_A_WRITE);
		return;
	}
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, mixed = 0;
	for (size_t i = 0; i < rounds; i++) {
		uint64_t sum = read_values(s);
		x = meeting_work(x + sum, 10);
		mixed |= sum % VALUES;
	}
	meeting_keep(x);
	atomic_fetch_add(&s->put, mixed);
}

static const struct meeting meetings[] = {
	{ "atomic_add", atomic_add, 200000000, "Adds atomically, and nothing else (threads)." },
	{ "atomic_work", atomic_work, 40000000, "Adds atomically, after some work (threads)." },
	{ "shared_counter", shared_counter, 20000000, "Grabs work by a counter (threads)." },
	{ "compare_swap", compare_swap, 40000000, "Adds by compare and swap (threads)." },
	{ "treiber_stack", treiber_stack, 40000000, "Pushes to a stack without locks (threads)." },
	{ "seqlock", seqlock, 50000000, "Reads under a sequence lock (threads)." },
	{ 0 },
};

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	s.rounds = kernel_scaled(&kernel, meeting->rounds);
	meeting_run(&kernel, meeting, &s);
	return meeting_finish(&kernel, s.rounds, s.counter + (uintptr_t)s.top, s.put);
}
