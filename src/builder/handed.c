/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/handed.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEAR = 64, /* steps between a get and the request */
	PARTS = 20, /* of which all but one have to be as expected */
};

/* A put or a get of the queue. */
struct use {
	uint64_t time_ns;
	size_t step;
	size_t begin; /* GET: step that begins the request behind it; SIZE_MAX: none does */
	uint32_t thread;
};

struct uses {
	struct use *items;
	size_t count, capacity;
};

static bool begins(const struct build_step *step)
{
	return step->op == STEP_BEGIN && build_came_over(step);
}

static bool waits_for_input(const struct build_step *step)
{
	return step->op == STEP_IO &&
	       (step->count == EVENT_IO_POLL || step->count == EVENT_IO_ACCEPT);
}

/* The get that brought the request which that step begins; SIZE_MAX: it came otherwise. */
static size_t find_get(const struct build_thread *thread, size_t begin)
{
	for (size_t i = begin; i-- > 0 && begin - i <= NEAR;) {
		const struct build_step *step = &thread->steps[i];
		if (step->op == STEP_GET && step->object != BUILD_NONE)
			return i;
		if (waits_for_input(step) || begins(step) || step->op == STEP_END ||
			step->op == STEP_SLEEP || step->op == STEP_COND_WAIT)
			break;
	}
	return SIZE_MAX;
}

/* The queue from which nearly all requests of a thread come; BUILD_NONE. */
static uint32_t find_queue(const struct build_trace *trace, const struct build_thread *thread)
{
	uint32_t queue = BUILD_NONE;
	size_t begun = 0, got = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		if (!begins(&thread->steps[i]))
			continue;
		size_t get = find_get(thread, i);
		begun++;
		if (get != SIZE_MAX && queue == BUILD_NONE)
			queue = thread->steps[get].object;
		got += get != SIZE_MAX && thread->steps[get].object == queue;
	}
	bool is_known = queue != BUILD_NONE && !trace->objects[queue].are_signals;
	return is_known && got * PARTS >= begun * (PARTS - 1) ? queue : BUILD_NONE;
}

static int add_uses(
	const struct build_trace *trace, uint32_t queue, enum step_op op, struct uses *ret)
{
	for (uint32_t i = 0; i < trace->thread_count; i++) {
		const struct build_thread *thread = &trace->threads[i];
		for (size_t j = 0; j < thread->step_count; j++) {
			const struct build_step *step = &thread->steps[j];
			if (step->op != op || step->object != queue || step->flags & STEP_REFUSED)
				continue;
			if (mem_grow(&ret->items, &ret->capacity, ret->count + 1,
				    sizeof *ret->items) < 0)
				return -ENOMEM;
			ret->items[ret->count++] =
				(struct use){ step->begin_ns + step->waited_ns, j, SIZE_MAX, i };
		}
	}
	return 0;
}

static int compare_uses(const void *left, const void *right)
{
	const struct use *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Marks the requests behind gets. */
static void find_begins(const struct build_trace *trace, struct uses *gets)
{
	for (size_t i = 0; i < gets->count; i++) {
		struct use *get = &gets->items[i];
		const struct build_thread *thread = &trace->threads[get->thread];
		for (size_t j = get->step + 1; j < thread->step_count && j <= get->step + NEAR; j++)
			if (begins(&thread->steps[j]) && find_get(thread, j) == get->step)
				get->begin = j;
	}
}

/* Whether who puts items there waits for input, and begins no requests. */
static bool are_from_loops(const struct build_trace *trace, const struct uses *puts)
{
	for (size_t i = 0; i < puts->count; i++) {
		const struct use *put = &puts->items[i];
		const struct build_thread *thread = &trace->threads[put->thread];
		bool waits = false;
		if (thread->steps[put->step].count != 1)
			return false;
		if (i > 0 && put->thread == puts->items[i - 1].thread)
			continue;
		for (size_t j = 0; j < thread->step_count; j++) {
			waits |= waits_for_input(&thread->steps[j]);
			if (begins(&thread->steps[j]))
				return false;
		}
		if (!waits)
			return false;
	}
	return puts->count > 0;
}

/* A thread's steps with requests that begin before some of its puts: in order of steps. */
static int insert_begins(struct build_trace *trace, uint32_t thread_index, const struct uses *puts,
	const struct uses *gets)
{
	struct build_thread *thread = &trace->threads[thread_index];
	struct build_step *steps = calloc(thread->step_count + gets->count, sizeof *steps);
	size_t count = 0, at = 0;
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < puts->count && i < gets->count; i++) {
		const struct use *put = &puts->items[i], *get = &gets->items[i];
		if (put->thread != thread_index || get->begin == SIZE_MAX)
			continue;
		while (at < put->step)
			steps[count++] = thread->steps[at++];
		steps[count] = trace->threads[get->thread].steps[get->begin];
		steps[count].begin_ns = thread->steps[at].begin_ns;
		steps[count].cpu_ns = steps[count].waited_ns = 0;
		steps[count].wakes = 0;
		steps[count++].region = thread->steps[at].region;
	}
	while (at < thread->step_count)
		steps[count++] = thread->steps[at++];
	free(thread->steps);
	thread->steps = steps;
	thread->step_capacity = thread->step_count + gets->count;
	thread->step_count = count;
	return 0;
}

/* Of all threads, the requests that have been moved. */
static void leave_out_moved(
	struct build_trace *trace, const struct uses *puts, const struct uses *gets)
{
	for (size_t i = 0; i < puts->count && i < gets->count; i++) {
		const struct use *get = &gets->items[i];
		if (get->begin != SIZE_MAX)
			trace->threads[get->thread].steps[get->begin].op = STEP_NOTHING;
	}
	for (size_t i = 0; i < trace->thread_count; i++)
		rewrite_without_nothing(&trace->threads[i]);
}

/*
 * What is handed over and no request (a connection that was closed): in a model, where an item without one could meet the way of those
 * with one, requests would be lost. Where they are few.
 */
static void leave_out_others(
	struct build_trace *trace, const struct uses *puts, const struct uses *gets)
{
	size_t count = puts->count < gets->count ? puts->count : gets->count, others = 0;
	for (size_t i = 0; i < count; i++)
		others += gets->items[i].begin == SIZE_MAX;
	for (size_t i = 0; i < count && others * PARTS < count; i++) {
		const struct use *put = &puts->items[i], *get = &gets->items[i];
		struct build_step *steps = trace->threads[put->thread].steps;
		if (get->begin != SIZE_MAX)
			continue;
		trace->threads[get->thread].steps[get->step].op = STEP_NOTHING;
		steps[put->step].op = STEP_NOTHING;
		if (put->step > 0 && waits_for_input(&steps[put->step - 1]))
			steps[put->step - 1].op = STEP_NOTHING;
	}
}

static bool ends(const struct build_step *step)
{
	return (step->op == STEP_END || step->op == STEP_FAIL) && build_came_over(step);
}

/*
 * What a thread read by itself, next to the request that it got: the one behind it, which was there already. In a model it would wait for any
 * request to come, while those that come wait in the queue. They are few, and become a part of the one before.
 */
static void leave_out_read_ahead(struct build_trace *trace, uint32_t thread_index)
{
	struct build_thread *thread = &trace->threads[thread_index];
	for (size_t i = 0; i < thread->step_count; i++) {
		uint64_t request = thread->steps[i].section;
		if (!begins(&thread->steps[i]))
			continue;
		thread->steps[i].op = STEP_NOTHING;
		for (size_t j = i + 1; j < thread->step_count; j++)
			if (ends(&thread->steps[j]) && thread->steps[j].section == request) {
				thread->steps[j].op = STEP_NOTHING;
				break;
			}
	}
	rewrite_without_nothing(thread);
}

/* In the order in which threads got hold of the queue. */
static int pair(struct build_trace *trace, uint32_t queue, struct uses *puts, struct uses *gets)
{
	int code = add_uses(trace, queue, STEP_PUT, puts);
	if (code == 0)
		code = add_uses(trace, queue, STEP_GET, gets);
	/* Each thread may be waiting for one more in the end. */
	if (code < 0 || !are_from_loops(trace, puts) ||
		gets->count > puts->count + trace->thread_count)
		return code;
	find_begins(trace, gets);
	qsort(puts->items, puts->count, sizeof *puts->items, compare_uses);
	if (gets->count > 0)
		qsort(gets->items, gets->count, sizeof *gets->items, compare_uses);
	leave_out_others(trace, puts, gets);
	AUTO_FREE bool *is_done = calloc(trace->thread_count + 1, sizeof *is_done);
	if (!is_done)
		return -ENOMEM;
	for (size_t i = 0; i < puts->count && code == 0; i++) {
		uint32_t thread = puts->items[i].thread;
		if (!is_done[thread])
			code = insert_begins(trace, thread, puts, gets);
		is_done[thread] = true;
	}
	if (code == 0)
		leave_out_moved(trace, puts, gets);
	memset(is_done, 0, trace->thread_count * sizeof *is_done);
	for (size_t i = 0; i < gets->count && code == 0; i++) {
		uint32_t thread = gets->items[i].thread;
		if (!is_done[thread])
			leave_out_read_ahead(trace, thread);
		is_done[thread] = true;
	}
	return code;
}

int build_handed_find(struct build_trace *trace)
{
	int code = 0;
	for (size_t i = 0; i < trace->thread_count && code == 0; i++) {
		struct uses puts = { 0 }, gets = { 0 };
		uint32_t queue = find_queue(trace, &trace->threads[i]);
		if (queue != BUILD_NONE)
			code = pair(trace, queue, &puts, &gets);
		free(puts.items);
		free(gets.items);
	}
	return code;
}
