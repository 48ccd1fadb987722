/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A disk: the queue of the I/O scheduler before a device that serves several requests at once (Tarvo and
 * Reiss, 4.1.3). A request's service time is drawn when the device takes it, from the distribution of
 * its class. An operation of k requests issues them one after the other, each when the one before is
 * done, or, if nobody waits for them, all at once.
 *
 * In order of SIM_DISK_BATCH the device tells of ends only when it has nothing left to do, as virtual disks do whose host
 * answers with one interrupt. Its requests stay in the queue until then.
 *
 * A latency keeps the thread, not the device.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>

/* The device takes a request. */
static int serve(struct sim *sim, struct disk *disk, struct disk_request request)
{
	uint32_t place = disk->free_places[disk->parallelism - ++disk->busy];
	disk->object.waited_ns += sim->now_ns - request.since_ns;
	request.since_ns = sim->now_ns;
	disk->serving[place] = request;
	uint64_t service_ns = sim_draw(&disk->service[request.class], &sim->rng);
	return timer_set(sim, disk->first_timer + place, sim->now_ns + service_ns);
}

static int queue_grow(struct disk *disk)
{
	if (disk->queue_count < disk->queue_capacity)
		return 0;
	size_t capacity = disk->queue_capacity ? 2 * disk->queue_capacity : 16;
	struct disk_request *queue = calloc(capacity, sizeof *queue);
	if (!queue)
		return -ENOMEM;
	for (size_t i = 0; i < disk->queue_count; i++)
		queue[i] = disk->queue[(disk->queue_first + i) & (disk->queue_capacity - 1)];
	free(disk->queue);
	disk->queue = queue;
	disk->queue_capacity = capacity;
	disk->queue_first = 0;
	return 0;
}

static void push(struct disk *disk, const struct disk_request *request)
{
	size_t mask = disk->queue_capacity - 1;
	disk->queue[(disk->queue_first + disk->queue_count++) & mask] = *request;
}

/* Its turn comes after all that are there, whose end it puts off. */
static int join_batch(struct sim *sim, struct disk *disk, struct disk_request request)
{
	uint64_t turn_ns = disk->batch_count > 0 ? disk->batch_end_ns : sim->now_ns;
	disk->object.waits += disk->batch_count > 0;
	disk->object.waited_ns += turn_ns - sim->now_ns;
	request.since_ns = turn_ns;
	request.service_ns = sim_draw(&disk->service[request.class], &sim->rng);
	disk->batch_end_ns = turn_ns + request.service_ns / disk->parallelism;
	disk->batch_count++;
	push(disk, &request);
	return timer_set(sim, disk->first_timer, disk->batch_end_ns);
}

static int submit(struct sim *sim, struct disk *disk, uint32_t class, uint32_t tid)
{
	struct disk_request request = { .since_ns = sim->now_ns, .class = class, .tid = tid };
	bool is_batch = disk->order == SIM_DISK_BATCH;
	disk->object.uses++;
	object_set_length(sim, &disk->object, disk->object.length + 1);
	if (!is_batch && disk->busy < disk->parallelism)
		return serve(sim, disk, request);
	int code = queue_grow(disk);
	if (code < 0 || is_batch)
		return code < 0 ? code : join_batch(sim, disk, request);
	push(disk, &request);
	disk->object.waits++;
	return 0;
}

/* The next of the queue: the first, or any, as blocks that are near are not known. */
static struct disk_request take(struct sim *sim, struct disk *disk)
{
	size_t mask = disk->queue_capacity - 1;
	struct disk_request *first = &disk->queue[disk->queue_first], request = *first;
	if (disk->order == SIM_DISK_RANDOM) {
		size_t offset = (size_t)rng_below(&sim->rng, disk->queue_count);
		struct disk_request *taken = &disk->queue[(disk->queue_first + offset) & mask];
		request = *taken;
		*taken = *first;
	}
	disk->queue_first = (disk->queue_first + 1) & mask;
	disk->queue_count--;
	return request;
}

/* Who waits for the request asks for its next one, or goes on. */
int disk_told(struct sim *sim, struct sim_thread *thread)
{
	struct disk *disk = &sim->disks.all[thread->op.object];
	if (--thread->requests_left > 0)
		return submit(sim, disk, thread->op.class, thread->tid);
	return wake(sim, thread->tid, 0);
}

static int tell_end(struct sim *sim, struct disk *disk, const struct disk_request *request)
{
	if (request->tid == 0)
		return 0;
	struct sim_thread *thread = thread_of(sim, request->tid);
	return disk->latency_ns ? timer_set(sim, thread->timer, sim->now_ns + disk->latency_ns)
				: disk_told(sim, thread);
}

/* Who is told may ask for more, which is the next batch. */
static int end_batch(struct sim *sim, struct disk *disk)
{
	size_t count = disk->batch_count;
	int code = 0;
	disk->batch_count = 0;
	for (size_t i = 0; i < count && code == 0; i++) {
		struct disk_request request = disk->queue[disk->queue_first];
		uint64_t since_ns = sim->now_ns - request.since_ns;
		disk->object.held_ns +=
			since_ns < request.service_ns ? since_ns : request.service_ns;
		object_set_length(sim, &disk->object, disk->object.length - 1);
		disk->queue_first = (disk->queue_first + 1) & (disk->queue_capacity - 1);
		disk->queue_count--;
		code = tell_end(sim, disk, &request);
	}
	return code;
}

int disk_timer(struct sim *sim, uint32_t number, uint32_t place)
{
	struct disk *disk = &sim->disks.all[number];
	if (disk->order == SIM_DISK_BATCH)
		return end_batch(sim, disk);
	struct disk_request request = disk->serving[place];
	disk->object.held_ns += sim->now_ns - request.since_ns;
	object_set_length(sim, &disk->object, disk->object.length - 1);
	disk->free_places[disk->parallelism - disk->busy--] = place;
	int code = disk->queue_count > 0 ? serve(sim, disk, take(sim, disk)) : 0;
	return code < 0 ? code : tell_end(sim, disk, &request);
}

int op_disk(struct sim *sim, struct sim_thread *thread)
{
	if (thread->op.object >= sim->disks.count)
		return op_error(sim, thread, -EINVAL, "uses disk %u, which there is not",
			thread->op.object);
	struct disk *disk = &sim->disks.all[thread->op.object];
	if (thread->op.class >= disk->class_count)
		return op_error(sim, thread, -EINVAL,
			"asks disk '%s' for class %u of requests: it has %u",
			disk->object.name ?: "", thread->op.class, disk->class_count);
	struct subject subject = { .what = WHAT_DISK, .object = (uint64_t)thread->op.object + 1 };
	bool is_over = thread->stage == 1 || thread->op.amount == 0;
	bool is_background = thread->op.other == SIM_BACKGROUND;
	int code = 0;
	for (uint64_t i = 0; is_background && i < thread->op.amount && code == 0; i++)
		code = submit(sim, disk, thread->op.class, 0);
	if (is_over || is_background) {
		pass(sim, thread, NULL, &subject);
		return code;
	}
	thread->stage = 1;
	thread->requests_left = thread->op.amount;
	code = wait_begin(sim, thread, NULL, NULL, &subject);
	return code < 0 ? code : submit(sim, disk, thread->op.class, thread->tid) ?: OP_WAITS;
}
