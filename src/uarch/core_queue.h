/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of a core's queues that are given back in order: place n is free when its last user says. */
#ifndef UARCH_CORE_QUEUE_H
#define UARCH_CORE_QUEUE_H

#include "uarch/core.h"

#include <errno.h>
#include <stdlib.h>

struct queue {
	int64_t *free_at;
	uint8_t *component; /* what its last user waited for */
	uint32_t size, next;
};

/* 0 or -ENOMEM; either way it is to be released. */
static inline int queue_init(struct queue *queue, uint32_t size)
{
	*queue = (struct queue){ .size = size };
	queue->free_at = calloc(size + (size_t)1, sizeof(*queue->free_at));
	queue->component = calloc(size + (size_t)1, sizeof(*queue->component));
	return queue->free_at && queue->component ? 0 : -ENOMEM;
}

static inline void queue_release(struct queue *queue)
{
	free(queue->free_at);
	free(queue->component);
}

static inline void queue_start(struct queue *queue)
{
	for (uint32_t i = 0; i < queue->size; i++)
		queue->free_at[i] = 0;
	queue->next = 0;
}

/* How many places are not free at a cycle, of a queue whose users leave in order. */
static inline uint32_t queue_kept(const struct queue *queue, int64_t at)
{
	uint32_t from = 0, to = queue->size;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2, place = queue->next + middle;
		if (queue->free_at[place < queue->size ? place : place - queue->size] <= at)
			from = middle + 1;
		else
			to = middle;
	}
	return queue->size - from;
}

static inline void queue_push(struct queue *queue, int64_t free_at, enum core_component component)
{
	queue->free_at[queue->next] = free_at;
	queue->component[queue->next] = (uint8_t)component;
	queue->next = queue->next + 1 == queue->size ? 0 : queue->next + 1;
}

#endif
