/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library with a thread of its own, in which no code of the program that uses it is on the stack. */
#include "queue_library.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int items;
};

static void *take_items(void *arg)
{
	struct queue *queue = arg;
	for (int left = QUEUE_ITEMS; left > 0; left--) {
		pthread_mutex_lock(&queue->lock);
		while (queue->items == 0)
			pthread_cond_wait(&queue->more, &queue->lock);
		queue->items--;
		pthread_mutex_unlock(&queue->lock);
	}
	return NULL;
}

void queue_run(void (*prepare)(void))
{
	struct queue *queue = calloc(1, sizeof *queue); /* all of it 0 as the initializers are */
	pthread_t taker;
	if (!queue || pthread_create(&taker, NULL, take_items, queue) != 0)
		abort();
	for (int i = 0; i < QUEUE_ITEMS; i++) {
		prepare();
		pthread_mutex_lock(&queue->lock);
		queue->items++;
		pthread_cond_signal(&queue->more);
		pthread_mutex_unlock(&queue->lock);
	}
	pthread_join(taker, NULL);
	free(queue);
}
