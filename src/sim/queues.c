/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues of items, bounded or not, and limits. */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>

static struct subject subject_of(const struct sim_thread *thread)
{
	return (struct subject){ .what = WHAT_QUEUE, .object = (uint64_t)thread->op.object + 1 };
}

static bool is_full(const struct queue *queue)
{
	return queue->capacity > 0 && queue->count >= queue->capacity;
}

static int ring_grow(struct queue *queue)
{
	if (queue->count < queue->ring_capacity)
		return 0;
	size_t capacity = queue->ring_capacity ? 2 * queue->ring_capacity : 16;
	struct queue_item *items = malloc(capacity * sizeof *items);
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < queue->count; i++)
		items[i] = queue->items[(queue->first + i) & (queue->ring_capacity - 1)];
	free(queue->items);
	queue->items = items;
	queue->ring_capacity = capacity;
	queue->first = 0;
	return 0;
}

int queue_put(struct sim *sim, struct queue *queue, uint64_t item, uint32_t waker)
{
	if (queue->is_closed)
		return -EPIPE;
	if (is_full(queue))
		return -EAGAIN;
	int code = ring_grow(queue);
	if (code < 0)
		return code;
	queue->items[(queue->first + queue->count++) & (queue->ring_capacity - 1)] =
		(struct queue_item){ item, sim->now_ns };
	object_set_length(sim, &queue->object, queue->count);
	return wake_first(sim, &queue->getters, waker);
}

void queue_drop_first(struct sim *sim, struct queue *queue)
{
	queue->object.held_ns += sim->now_ns - queue->items[queue->first].since_ns;
	queue->first = (queue->first + 1) & (queue->ring_capacity - 1);
	queue->count--;
	object_set_length(sim, &queue->object, queue->count);
}

int queue_refill(struct sim *sim, struct queue *queue, uint32_t waker)
{
	while (queue->count > queue->refill)
		queue_drop_first(sim, queue);
	int code = 0;
	while (queue->count < queue->refill && code == 0)
		code = queue_put(sim, queue, 0, waker);
	return code == -ENOMEM ? code : 0; /* closed, or full: as many as there is room for */
}

int sim_set_refill(struct sim *sim, uint32_t queue, uint32_t barrier, uint64_t items)
{
	if (queue >= sim->queues.count || barrier >= sim->barriers.count ||
		sim->queues.all[queue].refill > 0)
		return -EINVAL;
	sim->queues.all[queue].refill = items;
	sim->queues.all[queue].next_refill = sim->barriers.all[barrier].refills;
	sim->barriers.all[barrier].refills = queue;
	return 0;
}

static int find(struct sim *sim, const struct sim_thread *thread)
{
	return thread->op.object < sim->queues.count
		       ? 0
		       : op_error(sim, thread, -EINVAL, "uses queue %u, which there is not",
				 thread->op.object);
}

uint32_t sim_waiting_for(struct sim *sim, uint32_t queue)
{
	uint32_t count = 0;
	if (queue >= sim->queues.count)
		return 0;
	for (uint32_t tid = sim->queues.all[queue].getters.head; tid; count++)
		tid = thread_of(sim, tid)->next;
	return count;
}

int op_put(struct sim *sim, struct sim_thread *thread)
{
	int code = find(sim, thread);
	if (code < 0)
		return code;
	struct queue *queue = &sim->queues.all[thread->op.object];
	struct subject subject = subject_of(thread);
	if (queue->is_closed) {
		thread->result.status = -EPIPE;
		pass(sim, thread, NULL, &subject);
		return OP_DONE;
	}
	if (is_full(queue)) {
		if (thread->op.kind == SIM_PUT)
			return wait_begin(sim, thread, &queue->putters, &queue->object, &subject);
		queue->object.refused++;
		thread->result.status = -EAGAIN;
		emit(sim, thread, EVENT_TRY_FAILED, &subject);
		return OP_DONE;
	}
	pass(sim, thread, &queue->object, &subject);
	emit(sim, thread, EVENT_RELEASE, &subject);
	return queue_put(sim, queue, thread->op.item, thread->tid);
}

int op_get(struct sim *sim, struct sim_thread *thread)
{
	int code = find(sim, thread);
	if (code < 0)
		return code;
	struct queue *queue = &sim->queues.all[thread->op.object];
	struct subject subject = subject_of(thread);
	if (queue->count == 0 && queue->is_closed) {
		thread->result.status = -EPIPE;
		pass(sim, thread, NULL, &subject);
		return OP_DONE;
	}
	if (queue->count == 0) {
		if (thread->op.kind == SIM_GET)
			return wait_begin(sim, thread, &queue->getters, NULL, &subject);
		thread->result.status = -EAGAIN;
		emit(sim, thread, EVENT_TRY_FAILED, &subject);
		return OP_DONE;
	}
	thread->result.item = queue->items[queue->first].item;
	queue_drop_first(sim, queue);
	queue->lender.taken++;
	pass(sim, thread, NULL, &subject);
	if (queue->capacity == 0)
		return OP_DONE;
	emit(sim, thread, EVENT_RELEASE, &subject); /* there is room */
	if (queue->putters.head)
		return wake_first(sim, &queue->putters, thread->tid);
	return source_has_room(sim, queue);
}

int op_close(struct sim *sim, struct sim_thread *thread)
{
	int code = find(sim, thread);
	if (code < 0)
		return code;
	struct queue *queue = &sim->queues.all[thread->op.object];
	queue->is_closed = true;
	struct subject subject = subject_of(thread);
	subject.flags = EVENT_ALL;
	emit(sim, thread, EVENT_RELEASE, &subject);
	code = wake_all(sim, &queue->getters, thread->tid);
	return code < 0 ? code : wake_all(sim, &queue->putters, thread->tid);
}

int op_take(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->limits.count)
		return op_error(sim, thread, -EINVAL, "takes of limit %u, which there is not",
			thread->op.object);
	struct limit *limit = &sim->limits.all[thread->op.object];
	if (!limit_take(sim, limit))
		thread->result.status = -EMFILE;
	return OP_DONE;
}

bool limit_take(struct sim *sim, struct limit *limit)
{
	if (limit->used >= limit->count) {
		limit->object.refused++;
		return false;
	}
	limit->object.uses++;
	limit->lender.taken++;
	object_set_length(sim, &limit->object, ++limit->used);
	return true;
}

int op_give(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->limits.count)
		return op_error(sim, thread, -EINVAL, "gives back to limit %u, which there is not",
			thread->op.object);
	struct limit *limit = &sim->limits.all[thread->op.object];
	if (limit->used == 0 && lender_lends(sim, &limit->lender))
		return OP_DONE;
	if (limit->used == 0)
		return op_error(sim, thread, -EINVAL,
			"gives back to limit '%s' more than was taken", limit->object.name ?: "");
	object_set_length(sim, &limit->object, --limit->used);
	return OP_DONE;
}
