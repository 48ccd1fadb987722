/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that take turns around a ring by a condition variable, with a little work each. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { TURNS = 40000, WORK = 200 };

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t turn_over;
	size_t turn, turns;
	uint64_t hash;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	(void)pthread_mutex_lock(&s->lock);
	while (s->turn < s->turns) {
		if (s->turn % (size_t)kernel->threads != (size_t)thread) {
			(void)pthread_cond_wait(&s->turn_over, &s->lock);
			continue;
		}
		for (uint64_t i = 0; i < WORK; i++)
			s->hash = kernel_mix(s->hash, i);
		s->turn++;
		(void)pthread_cond_broadcast(&s->turn_over);
	}
	(void)pthread_mutex_unlock(&s->lock);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Threads take turns (threads).");
	struct shared s = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0,
		kernel_scaled(&kernel, TURNS), 1 };
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.hash);
}
