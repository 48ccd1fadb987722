/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planted: a pipeline of THREADS stages with bounded queues between them, of which the one in the
 * middle (stage-1 of 2, stage-4 of 8) needs 16 times as long for an item as the others.
 * Fixed: the same work, split evenly over the stages.
 */
#include "team.h"

enum { ITEMS = 1600, QUICK_US = 12, SLOWNESS = 16, ROOM = 8 };

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t has_item, has_room;
	uint64_t items[ROOM];
	int first, count;
};

static struct queue queues[PLANT_THREADS_MAX]; /* queues[i] is what stage-i reads */

static void queue_put(struct queue *queue, uint64_t item)
{
	(void)pthread_mutex_lock(&queue->lock); /* none of these can fail on such objects */
	while (queue->count == ROOM)
		(void)pthread_cond_wait(&queue->has_room, &queue->lock);
	queue->items[(queue->first + queue->count++) % ROOM] = item;
	(void)pthread_cond_signal(&queue->has_item);
	(void)pthread_mutex_unlock(&queue->lock);
}

static uint64_t queue_get(struct queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock); /* as above */
	while (queue->count == 0)
		(void)pthread_cond_wait(&queue->has_item, &queue->lock);
	uint64_t item = queue->items[queue->first];
	queue->first = (queue->first + 1) % ROOM;
	queue->count--;
	(void)pthread_cond_signal(&queue->has_room);
	(void)pthread_mutex_unlock(&queue->lock);
	return item;
}

static double item_us(const struct member *member)
{
	int stages = member->plant->threads;
	if (member->plant->is_fixed)
		return (double)QUICK_US * (stages - 1 + SLOWNESS) / stages;
	return member->index == stages / 2 ? QUICK_US * SLOWNESS : QUICK_US;
}

static void stage(struct member *member)
{
	int items = plant_count(member->plant, ITEMS);
	for (int i = 0; i < items; i++) {
		uint64_t item = (uint64_t)i;
		if (member->index > 0)
			item = queue_get(&queues[member->index]);
		member->sum += plant_work(member->plant, member->name, item, item_us(member));
		if (member->index + 1 < member->plant->threads)
			queue_put(&queues[member->index + 1], item);
	}
}

int main(int argc, char **argv)
{
	static struct team team;
	struct plant plant = plant_begin(argc, argv,
		"A pipeline of THREADS stages, of which one takes 16 times as long as the others.");
	for (int i = 0; i < plant.threads; i++)
		queues[i] = (struct queue){ .lock = PTHREAD_MUTEX_INITIALIZER,
			.has_item = PTHREAD_COND_INITIALIZER,
			.has_room = PTHREAD_COND_INITIALIZER };
	team_start_range(&team, &plant, 0, plant.threads, "stage", stage);
	return plant_end(&plant, team_join(&team));
}
