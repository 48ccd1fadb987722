/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two threads take turns at locks that have no symbol of their own: members, elements, static
 * variables of functions, locks on the stack and on the heap, made by a function and statically.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TURNS = 3, HOLD_US = 2000, WORKERS = 4, LOCKS = 8 };

struct queue {
	int length;
	pthread_mutex_t lock;
};

struct worker {
	char name[20];
	struct queue inbox;
};

static struct {
	int version;
	struct queue queue;
} server = { .queue.lock = PTHREAD_MUTEX_INITIALIZER };

static struct worker workers[WORKERS];
static pthread_mutex_t grid[2][3];
static pthread_barrier_t together;

__attribute__((noinline)) static pthread_mutex_t *of_function(void)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	return &once;
}

__attribute__((noinline)) static struct queue *queue_new(void)
{
	struct queue *queue = calloc(1, sizeof *queue);
	if (!queue || pthread_mutex_init(&queue->lock, NULL) != 0)
		exit(1);
	return queue;
}

/* Two are made at one place, and used at two. */
__attribute__((noinline)) static pthread_mutex_t *lock_new(void)
{
	pthread_mutex_t *lock = calloc(1, sizeof *lock);
	if (!lock || pthread_mutex_init(lock, NULL) != 0)
		exit(1);
	return lock;
}

static pthread_mutex_t *full, *empty;

/* Both come at once, one has to wait for the other. */
static void *take_turns(void *argument)
{
	pthread_mutex_t **locks = argument;
	for (int i = 0; i < LOCKS; i++)
		for (int turn = 0; turn < TURNS; turn++) {
			(void)pthread_barrier_wait(&together); /* its result says who was last */
			pthread_mutex_lock(locks[i]);
			usleep(HOLD_US);
			pthread_mutex_unlock(locks[i]);
		}
	pthread_mutex_lock(full);
	pthread_mutex_unlock(full);
	pthread_mutex_lock(empty);
	pthread_mutex_unlock(empty);
	return NULL;
}

int main(void)
{
	struct queue local = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_mutex_t made;
	pthread_mutex_init(&made, NULL);
	pthread_mutex_init(&workers[3].inbox.lock, NULL);
	pthread_mutex_init(&grid[1][2], NULL);
	pthread_barrier_init(&together, NULL, 2);
	struct queue *queue = queue_new();
	full = lock_new();
	empty = lock_new();
	pthread_mutex_t *still = calloc(1, sizeof *still); /* as PTHREAD_MUTEX_INITIALIZER */
	pthread_mutex_t *locks[LOCKS] = { &server.queue.lock, &workers[3].inbox.lock, &grid[1][2],
		of_function(), &local.lock, &made, &queue->lock, still };
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		if (!still || pthread_create(&threads[i], NULL, take_turns, locks) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(still);
	free(full);
	free(empty);
	free(queue);
	puts("done");
	return 0;
}
