/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A synchronised queue: a ring of items under one mutex, with a condition for those who wait for an
 * item. As in most programs, the lock and the condition are all that shows that it is one.
 */
#ifndef EXAMPLES_QUEUE_H
#define EXAMPLES_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty;
	uint64_t *items;
	size_t capacity, head, count;
	bool is_closed;
};

/* `items`: room for `capacity`, which the caller keeps until the end. */
void queue_init(struct queue *queue, uint64_t *items, size_t capacity);

/* False: the queue is full. */
bool queue_put(struct queue *queue, uint64_t item);

/* Waits for an item; false: the queue is closed, and empty. */
bool queue_get(struct queue *queue, uint64_t *ret);

/* False: the queue is empty. */
bool queue_try_get(struct queue *queue, uint64_t *ret);

/* Nothing more will be put. */
void queue_close(struct queue *queue);

#endif
