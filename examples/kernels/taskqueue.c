/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. A queue of tasks as in Parsec's bodytrack: for each frame main hands out tasks of uneven
 * size and waits on a condition until all are done, while workers wait on another for tasks.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <stdbool.h>

enum { FRAMES = 320, TASKS = 48, STEPS = 3000 };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t has_tasks, is_done;
	size_t next, left; /* tasks of this frame: not taken, not done */
	size_t frames, frame;
	bool is_over;
	uint64_t weights[TASKS];
};

/* How well a guess fits: a walk through numbers that depends on the frame. */
static uint64_t try_guess(size_t frame, size_t task)
{
	uint64_t seed = frame * 1000 + task, best = 0;
	size_t steps = STEPS + STEPS * (task % 3);
	for (size_t i = 0; i < steps; i++) {
		double u = next_uniform(&seed), v = next_uniform(&seed);
		uint64_t score = (uint64_t)(1e6 * u * v / (1.0 + u * u + v * v));
		best = score > best ? score : best;
	}
	return best;
}

/* Called with the lock, which it gives up while it works. */
static void do_task(struct pool *pool)
{
	size_t task = --pool->next, frame = pool->frame;
	(void)pthread_mutex_unlock(&pool->lock);
	uint64_t weight = try_guess(frame, task);
	(void)pthread_mutex_lock(&pool->lock);
	pool->weights[task] = kernel_mix(pool->weights[task], weight);
	if (--pool->left == 0)
		(void)pthread_cond_signal(&pool->is_done);
}

static void *work(void *arg)
{
	struct pool *pool = (struct pool *)arg;
	(void)pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (pool->next == 0 && !pool->is_over)
			(void)pthread_cond_wait(&pool->has_tasks, &pool->lock);
		if (pool->next == 0)
			break;
		do_task(pool);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void hand_out(struct pool *pool)
{
	for (size_t frame = 0; frame < pool->frames; frame++) {
		(void)pthread_mutex_lock(&pool->lock);
		pool->frame = frame;
		pool->next = pool->left = TASKS;
		(void)pthread_cond_broadcast(&pool->has_tasks);
		while (pool->left > 0)
			(void)pthread_cond_wait(&pool->is_done, &pool->lock);
		(void)pthread_mutex_unlock(&pool->lock);
	}
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_over = true;
	(void)pthread_cond_broadcast(&pool->has_tasks);
	(void)pthread_mutex_unlock(&pool->lock);
}

int main(int argc, char **argv)
{
	static struct pool pool;
	static pthread_t workers[KERNEL_THREADS_MAX];
	struct kernel kernel =
		kernel_start(argc, argv, "A queue of tasks, frame by frame (POSIX threads).");
	pool.frames = kernel_scaled(&kernel, FRAMES);
	(void)pthread_mutex_init(&pool.lock, NULL); /* none of these can fail on Linux */
	(void)pthread_cond_init(&pool.has_tasks, NULL);
	(void)pthread_cond_init(&pool.is_done, NULL);
	kernel_begin_work(&kernel);
	for (int i = 0; i < kernel.threads; i++)
		if (pthread_create(&workers[i], NULL, work, &pool) != 0)
			die(1, "cannot start thread %d", i);
	hand_out(&pool);
	for (int i = 0; i < kernel.threads; i++)
		(void)pthread_join(workers[i], NULL); /* fails only for a thread not ours */
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, pool.weights, sizeof(pool.weights)));
}
