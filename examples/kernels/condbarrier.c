/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. A barrier made of a mutex and a condition, which the last thread never waits on:
 * Algorithm 1 of De Pestel et al., RPPM (ISPASS 2019), as Parsec's facesim has it, with a number of
 * the round, so that waking without a reason does no harm. Between barriers a rope is relaxed.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { POINTS = 50000, SWEEPS = 8000, MIDDLE = 3 };

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	int count, here;
	uint64_t round;
};

struct rope {
	size_t points, sweeps;
	int32_t *heights[2];
	struct barrier barrier;
};

static void barrier_wait(struct barrier *barrier)
{
	(void)pthread_mutex_lock(&barrier->lock); /* a plain mutex: cannot fail */
	uint64_t round = barrier->round;
	if (++barrier->here < barrier->count) {
		while (round == barrier->round)
			(void)pthread_cond_wait(&barrier->all_here, &barrier->lock);
	} else {
		barrier->here = 0;
		barrier->round++;
		(void)pthread_cond_broadcast(&barrier->all_here);
	}
	(void)pthread_mutex_unlock(&barrier->lock);
}

static void relax(const int32_t *restrict from, int32_t *restrict to, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		int32_t pull = (from[i - 1] + from[i + 1] - 2 * from[i]) / MIDDLE;
		to[i] = from[i] + pull - (from[i] >> 12);
	}
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct rope *rope = (struct rope *)shared;
	struct kernel_part mine = kernel_part(kernel, rope->points - 2, thread);
	for (size_t sweep = 0; sweep < rope->sweeps; sweep++) {
		relax(rope->heights[sweep % 2], rope->heights[(sweep + 1) % 2], mine.begin + 1,
			mine.end + 1);
		barrier_wait(&rope->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "A barrier made of a condition (POSIX threads).");
	struct rope rope = { .points = POINTS, .sweeps = kernel_scaled(&kernel, SWEEPS) };
	uint64_t seed = 13;
	rope.heights[0] = kernel_array(rope.points, sizeof(int32_t));
	rope.heights[1] = kernel_array(rope.points, sizeof(int32_t));
	for (size_t i = 1; i + 1 < rope.points; i++)
		rope.heights[0][i] = (int32_t)(next_random(&seed) % 1000000);
	rope.barrier.count = kernel.threads;
	(void)pthread_mutex_init(&rope.barrier.lock, NULL); /* these cannot fail on Linux */
	(void)pthread_cond_init(&rope.barrier.all_here, NULL);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &rope);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel,
		kernel_hash(1, rope.heights[rope.sweeps % 2], rope.points * sizeof(int32_t)));
}
