/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All threads wait for one another after each round. */
#include "examples/meetings/meeting.h"

#include <pthread.h>
#include <stdatomic.h>

struct shared {
	size_t rounds; /* of each thread */
	_Atomic uint64_t last; /* how often a barrier told a thread that it is the one of a round */
	_Alignas(MEETING_APART) pthread_barrier_t barrier;
	_Alignas(MEETING_APART) _Atomic uint64_t generation;
	_Alignas(MEETING_APART) atomic_int arrived;
};

static void barrier(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = s->rounds;
	uint64_t x = (uint64_t)thread + 1, last = 0;
	(void)kernel;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 500);
		last += pthread_barrier_wait(&s->barrier) != 0;
	}
	meeting_keep(x);
	atomic_fetch_add(&s->last, last);
}

/* The first two threads have by turns three times as much to do. */
static void uneven_barrier(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = s->rounds;
	uint64_t x = (uint64_t)thread + 1, last = 0;
	(void)kernel;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, (size_t)thread == i % 2 ? 1500 : 500);
		last += pthread_barrier_wait(&s->barrier) != 0;
	}
	meeting_keep(x);
	atomic_fetch_add(&s->last, last);
}

static void spin_barrier(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = s->rounds;
	int others = kernel->threads - 1;
	uint64_t x = (uint64_t)thread + 1, last = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_work(x, 100);
		uint64_t generation = atomic_load(&s->generation);
		if (atomic_fetch_add(&s->arrived, 1) == others) {
			atomic_store(&s->arrived, 0);
			atomic_fetch_add(&s->generation, 1);
			last++;
		} else {
			while (atomic_load(&s->generation) == generation)
				meeting_pause();
		}
	}
	meeting_keep(x);
	atomic_fetch_add(&s->last, last);
}

static const struct meeting meetings[] = {
	{ "barrier", barrier, 1000000, "Equal work between barriers (threads)." },
	{ "uneven_barrier", uneven_barrier, 600000, "Uneven work between barriers (threads)." },
	{ "spin_barrier", spin_barrier, 5000000, "A barrier that spins (threads)." },
	{ 0 },
};

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	size_t rounds = kernel_scaled(&kernel, meeting->rounds);
	s.rounds = rounds / (size_t)kernel.threads;
	if (pthread_barrier_init(&s.barrier, NULL, (unsigned)kernel.threads) != 0)
		die(1, "%s: no barrier for %d threads", kernel.name, kernel.threads);
	meeting_run(&kernel, meeting, &s);
	return meeting_finish(&kernel, rounds, s.last, s.rounds);
}
