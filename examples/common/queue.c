/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "queue.h"

/* Plain mutexes and conditions, used as they should be: none of their functions can fail. */

void queue_init(struct queue *queue, uint64_t *items, size_t capacity)
{
	*queue = (struct queue){ .items = items, .capacity = capacity };
	(void)pthread_mutex_init(&queue->lock, NULL);
	(void)pthread_cond_init(&queue->not_empty, NULL);
}

bool queue_put(struct queue *queue, uint64_t item)
{
	(void)pthread_mutex_lock(&queue->lock);
	bool has_room = queue->count < queue->capacity;
	if (has_room) {
		queue->items[(queue->head + queue->count++) % queue->capacity] = item;
		(void)pthread_cond_signal(&queue->not_empty);
	}
	(void)pthread_mutex_unlock(&queue->lock);
	return has_room;
}

static bool take_first(struct queue *queue, uint64_t *ret)
{
	if (queue->count == 0)
		return false;
	*ret = queue->items[queue->head];
	queue->head = (queue->head + 1) % queue->capacity;
	queue->count--;
	return true;
}

bool queue_get(struct queue *queue, uint64_t *ret)
{
	(void)pthread_mutex_lock(&queue->lock);
	while (queue->count == 0 && !queue->is_closed)
		(void)pthread_cond_wait(&queue->not_empty, &queue->lock);
	bool is_taken = take_first(queue, ret);
	(void)pthread_mutex_unlock(&queue->lock);
	return is_taken;
}

bool queue_try_get(struct queue *queue, uint64_t *ret)
{
	(void)pthread_mutex_lock(&queue->lock);
	bool is_taken = take_first(queue, ret);
	(void)pthread_mutex_unlock(&queue->lock);
	return is_taken;
}

void queue_close(struct queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
	queue->is_closed = true;
	(void)pthread_cond_broadcast(&queue->not_empty);
	(void)pthread_mutex_unlock(&queue->lock);
}
