/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. A pipeline as Parsec's dedup: main reads chunks, THREADS workers digest them, a writer
 * collects; bounded queues with one mutex and two conditions each, written by hand.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { CHUNKS = 24000, WORDS = 512, ROUNDS = 16, PLACES = 16 };

struct chunk {
	uint64_t words[WORDS];
	uint64_t digest;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full;
	struct chunk *places[PLACES];
	size_t head, count;
};

struct pipeline {
	struct queue raw, digested, free;
	size_t chunks;
	uint64_t sum;
};

static void queue_init(struct queue *queue)
{
	(void)pthread_mutex_init(&queue->lock, NULL); /* none of these can fail on Linux */
	(void)pthread_cond_init(&queue->not_empty, NULL);
	(void)pthread_cond_init(&queue->not_full, NULL);
}

static void put(struct queue *queue, struct chunk *chunk)
{
	(void)pthread_mutex_lock(&queue->lock);
	while (queue->count == PLACES)
		(void)pthread_cond_wait(&queue->not_full, &queue->lock);
	queue->places[(queue->head + queue->count++) % PLACES] = chunk;
	(void)pthread_cond_signal(&queue->not_empty);
	(void)pthread_mutex_unlock(&queue->lock);
}

static struct chunk *get(struct queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
	while (queue->count == 0)
		(void)pthread_cond_wait(&queue->not_empty, &queue->lock);
	struct chunk *chunk = queue->places[queue->head];
	queue->head = (queue->head + 1) % PLACES;
	queue->count--;
	(void)pthread_cond_signal(&queue->not_full);
	(void)pthread_mutex_unlock(&queue->lock);
	return chunk;
}

static void digest(struct chunk *chunk)
{
	uint64_t hash = 1;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < WORDS; i++)
			hash = kernel_mix(hash, chunk->words[i]);
	chunk->digest = hash;
}

/* NULL is the end: there is one for each worker. */
static void work(struct pipeline *pipeline)
{
	struct chunk *chunk = NULL;
	while ((chunk = get(&pipeline->raw)) != NULL) {
		digest(chunk);
		put(&pipeline->digested, chunk);
	}
}

static void write_all(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->chunks; i++) {
		struct chunk *chunk = get(&pipeline->digested);
		pipeline->sum += chunk->digest;
		put(&pipeline->free, chunk);
	}
}

/* Thread 0 reads, 1 writes, the others work. */
static void stage(const struct kernel *kernel, int thread, void *shared)
{
	struct pipeline *pipeline = (struct pipeline *)shared;
	uint64_t seed = 12;
	if (thread > 1) {
		work(pipeline);
		return;
	}
	if (thread == 1) {
		write_all(pipeline);
		return;
	}
	for (size_t i = 0; i < pipeline->chunks; i++) {
		struct chunk *chunk = get(&pipeline->free);
		for (size_t word = 0; word < WORDS; word++)
			chunk->words[word] = next_random(&seed) >> (word % 32);
		put(&pipeline->raw, chunk);
	}
	for (int i = 2; i < kernel->threads; i++)
		put(&pipeline->raw, NULL);
}

int main(int argc, char **argv)
{
	static struct pipeline pipeline;
	struct kernel kernel =
		kernel_start(argc, argv, "Chunks through a pipeline (POSIX threads).");
	struct kernel stages = kernel;
	stages.threads += 2;
	pipeline.chunks = kernel_scaled(&kernel, CHUNKS);
	queue_init(&pipeline.raw);
	queue_init(&pipeline.digested);
	queue_init(&pipeline.free);
	struct chunk *chunks = kernel_array(PLACES, sizeof(*chunks));
	for (size_t i = 0; i < PLACES; i++)
		put(&pipeline.free, &chunks[i]);
	kernel_begin_work(&kernel);
	kernel_run_team(&stages, stage, &pipeline);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(1, pipeline.sum));
}
