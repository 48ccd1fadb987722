/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Producer and consumers: main makes rows of an image, THREADS consumers filter them, with
 * semaphores for full and for free places and a lock around the ring, as Parsec's vips works by rows.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <semaphore.h>

enum { ROWS = 20000, PIXELS = 1024, PLACES = 8, ROUNDS = 6 };

struct row {
	uint8_t pixels[PIXELS];
};

struct ring {
	sem_t full, free;
	pthread_mutex_t lock;
	struct row places[PLACES];
	size_t put, taken, rows;
	uint64_t sum;
};

static uint64_t filter(struct row *row)
{
	uint64_t sum = 0;
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 1; i + 1 < PIXELS; i++) {
			int sharp = 4 * row->pixels[i] - row->pixels[i - 1] - row->pixels[i + 1];
			row->pixels[i] = (uint8_t)(sharp < 0 ? 0 : sharp > 510 ? 255 : sharp / 2);
		}
	}
	for (size_t i = 0; i < PIXELS; i++)
		sum += row->pixels[i] * i;
	return sum;
}

static void consume(const struct kernel *kernel, int thread, void *shared)
{
	struct ring *ring = (struct ring *)shared;
	uint64_t sum = 0;
	(void)kernel;
	(void)thread;
	for (;;) {
		(void)sem_wait(&ring->full); /* no signal handler here */
		(void)pthread_mutex_lock(&ring->lock);
		if (ring->taken == ring->rows) {
			(void)pthread_mutex_unlock(&ring->lock);
			break;
		}
		struct row row = ring->places[ring->taken++ % PLACES];
		(void)pthread_mutex_unlock(&ring->lock);
		(void)sem_post(&ring->free);
		sum += filter(&row);
	}
	__atomic_fetch_add(&ring->sum, sum, __ATOMIC_RELAXED);
}

static void produce(const struct kernel *kernel, struct ring *ring)
{
	uint64_t seed = 17;
	struct row row;
	for (size_t i = 0; i < ring->rows; i++) {
		for (size_t p = 0; p < PIXELS; p += 8) {
			uint64_t random = next_random(&seed);
			for (size_t byte = 0; byte < 8; byte++)
				row.pixels[p + byte] = (uint8_t)(random >> (8 * byte));
		}
		(void)sem_wait(&ring->free);
		(void)pthread_mutex_lock(&ring->lock);
		ring->places[ring->put++ % PLACES] = row;
		(void)pthread_mutex_unlock(&ring->lock);
		(void)sem_post(&ring->full);
	}
	for (int i = 0; i < kernel->threads; i++)
		(void)sem_post(&ring->full);
}

/* Thread 0 is main. */
static void work(const struct kernel *kernel, int thread, void *shared)
{
	if (thread == 0)
		produce(kernel, (struct ring *)shared);
	else
		consume(kernel, thread, shared);
}

int main(int argc, char **argv)
{
	static struct ring ring;
	struct kernel kernel =
		kernel_start(argc, argv, "One producer, some consumers (POSIX threads).");
	struct kernel both = kernel;
	both.threads += 1;
	ring.rows = kernel_scaled(&kernel, ROWS);
	(void)sem_init(&ring.full, 0, 0); /* these cannot fail with such values */
	(void)sem_init(&ring.free, 0, PLACES);
	(void)pthread_mutex_init(&ring.lock, NULL);
	kernel_begin_work(&kernel);
	kernel_run_team(&both, work, &ring);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, ring.sum));
}
