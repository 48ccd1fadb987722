/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making what threads wait for. */
#include "sim/engine.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A new element of a table, zeroed but for its object; NULL without memory. */
static void *add(struct sim *sim, void *table, size_t *count, size_t *capacity, size_t size,
	const char *name, uint32_t *ret)
{
	char *copy = name ? strdup(name) : NULL;
	if ((name && !copy) || mem_grow(table, capacity, *count + 1, size) < 0) {
		free(copy);
		return NULL;
	}
	char *all;
	memcpy(&all, table, sizeof all);
	struct object *object = (void *)(all + *count * size);
	object->name = copy;
	object->length_ns = sim->now_ns;
	*ret = (uint32_t)(*count)++;
	return object;
}

#define ADD(table, name, ret)                                                                      \
	add(sim, &(table).all, &(table).count, &(table).capacity, sizeof *(table).all, name, ret)

/* While it runs, a new object's name is told at once. */
static int tell(struct sim *sim, uint8_t what, uint32_t number, const char *name)
{
	if (sim->is_running)
		emit_name(sim, what, (uint64_t)number + 1, name);
	return 0;
}

int sim_add_mutex(struct sim *sim, const char *name, uint32_t *ret)
{
	return ADD(sim->mutexes, name, ret) ? tell(sim, WHAT_MUTEX, *ret, name) : -ENOMEM;
}

int sim_add_spin(struct sim *sim, const char *name, uint32_t *ret)
{
	return ADD(sim->spins, name, ret) ? tell(sim, WHAT_SPIN, *ret, name) : -ENOMEM;
}

int sim_add_rwlock(struct sim *sim, const char *name, bool writers_first, uint32_t *ret)
{
	struct rwlock *rwlock = ADD(sim->rwlocks, name, ret);
	if (!rwlock)
		return -ENOMEM;
	rwlock->writers_first = writers_first;
	return tell(sim, WHAT_RWLOCK, *ret, name);
}

int sim_add_barrier(struct sim *sim, const char *name, uint32_t threads, uint32_t *ret)
{
	if (threads == 0)
		return -EINVAL;
	struct barrier *barrier = ADD(sim->barriers, name, ret);
	if (!barrier)
		return -ENOMEM;
	barrier->threads = threads;
	barrier->refills = SIM_NONE;
	return tell(sim, WHAT_BARRIER, *ret, name);
}

int sim_add_cond(struct sim *sim, const char *name, uint32_t *ret)
{
	return ADD(sim->conds, name, ret) ? tell(sim, WHAT_COND, *ret, name) : -ENOMEM;
}

int sim_add_sem(struct sim *sim, const char *name, uint64_t value, uint32_t *ret)
{
	struct sem *sem = ADD(sim->sems, name, ret);
	if (!sem)
		return -ENOMEM;
	sem->value = value;
	return tell(sim, WHAT_SEM, *ret, name);
}

int sim_add_queue(struct sim *sim, const char *name, uint64_t capacity, uint32_t *ret)
{
	struct queue *queue = ADD(sim->queues, name, ret);
	if (!queue)
		return -ENOMEM;
	queue->capacity = capacity;
	queue->held_source = SIM_NONE;
	queue->next_refill = SIM_NONE;
	return tell(sim, WHAT_QUEUE, *ret, name);
}

int sim_add_limit(struct sim *sim, const char *name, uint64_t count, uint32_t *ret)
{
	struct limit *limit = ADD(sim->limits, name, ret);
	if (!limit)
		return -ENOMEM;
	limit->count = count;
	return 0;
}

static int disk_fill(
	struct sim *sim, struct disk *disk, uint32_t number, const struct sim_disk_options *options)
{
	uint32_t places = options->parallelism ? options->parallelism : 1;
	disk->service = calloc(options->class_count, sizeof *disk->service);
	disk->serving = calloc(places, sizeof *disk->serving);
	disk->free_places = calloc(places, sizeof *disk->free_places);
	if (!disk->service || !disk->serving || !disk->free_places)
		return -ENOMEM;
	disk->parallelism = places;
	disk->order = options->order;
	disk->latency_ns = options->latency_ns;
	for (uint32_t i = 0; i < options->class_count; i++) {
		int code = dist_copy(&options->service[i], &disk->service[i]);
		if (code < 0)
			return code;
		disk->class_count++;
	}
	for (uint32_t i = 0; i < places; i++) {
		uint32_t timer;
		int code = timer_new(sim, TIMER_DISK, number, i, &timer);
		if (code < 0)
			return code;
		if (i == 0)
			disk->first_timer = timer;
		disk->free_places[i] = places - 1 - i;
	}
	return 0;
}

int sim_add_disk(
	struct sim *sim, const char *name, const struct sim_disk_options *options, uint32_t *ret)
{
	if (options->class_count == 0 || options->parallelism > SIM_DISK_PARALLELISM_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < options->class_count; i++)
		if (dist_check(&options->service[i], "service time", NULL) < 0)
			return -EINVAL;
	uint32_t number;
	struct disk *disk = ADD(sim->disks, name, &number);
	int code = disk ? disk_fill(sim, disk, number, options) : -ENOMEM;
	if (code < 0)
		return code;
	*ret = number;
	return tell(sim, WHAT_DISK, number, name);
}

static bool is_good_source(const struct sim *sim, const struct sim_source_options *options)
{
	if (options->queue >= sim->queues.count ||
		(options->queues > 1 && options->queues > sim->queues.count - options->queue) ||
		(options->queues > 1 && options->does_wait_for_room) ||
		(options->resource != SIM_NONE && options->resource >= sim->limits.count))
		return false;
	switch (options->kind) {
	case SIM_POISSON:
	case SIM_INTERVALS:
		return dist_check(&options->interval, "interval", NULL) == 0;
	case SIM_CLOSED:
		return options->population > 0 && options->population < PENDING_SLOTS_MAX &&
		       dist_check(&options->interval, "think time", NULL) == 0;
	case SIM_ARRIVALS:
		for (uint64_t i = 1; i < options->limit; i++)
			if (options->times[i] < options->times[i - 1])
				return false;
		return options->times || options->limit == 0;
	case SIM_BATCH:
		return true;
	}
	return false;
}

static int source_fill(struct sim *sim, struct source *source, uint32_t number,
	const struct sim_source_options *options)
{
	source->options = *options;
	source->options.interval.values = NULL;
	if (options->kind == SIM_POISSON)
		source->options.interval.kind = SIM_EXPONENTIAL;
	int code = 0;
	if (options->kind == SIM_POISSON || options->kind == SIM_INTERVALS ||
		options->kind == SIM_CLOSED)
		code = dist_copy(&options->interval, &source->options.interval);
	if (options->kind == SIM_POISSON)
		source->options.interval.kind = SIM_EXPONENTIAL;
	uint32_t clients = options->kind == SIM_CLOSED ? options->population : 1;
	source->held_capacity = clients;
	source->held = options->does_wait_for_room ? calloc(clients, sizeof *source->held) : NULL;
	if (code == 0 && options->does_wait_for_room && !source->held)
		code = -ENOMEM;
	for (uint32_t i = 0; i < clients && code == 0; i++) {
		uint32_t timer;
		code = timer_new(sim, TIMER_SOURCE, number, i, &timer);
		if (i == 0)
			source->first_timer = timer;
	}
	return code;
}

int sim_add_source(
	struct sim *sim, const char *name, const struct sim_source_options *options, uint32_t *ret)
{
	if (!is_good_source(sim, options))
		return -EINVAL;
	uint32_t number;
	struct source *source = ADD(sim->sources, name, &number);
	int code = source ? source_fill(sim, source, number, options) : -ENOMEM;
	if (code < 0)
		return code;
	*ret = number;
	return sim->is_running ? source_start(sim, number) : 0;
}

int sim_set_spinning(struct sim *sim, enum sim_object_kind kind, uint32_t object, uint64_t spin_ns)
{
	struct object *found = NULL;
	if (kind == SIM_MUTEX && object < sim->mutexes.count)
		found = &sim->mutexes.all[object].object;
	else if (kind == SIM_BARRIERS && object < sim->barriers.count)
		found = &sim->barriers.all[object].object;
	else if (kind == SIM_SEM && object < sim->sems.count)
		found = &sim->sems.all[object].object;
	if (!found || spin_ns > TIME_MAX_NS)
		return -EINVAL;
	found->spin_ns = spin_ns;
	return 0;
}
