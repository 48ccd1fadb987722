/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which requests to a disk a thread waited for, and where.
 *
 *	queued  q1 q2       q3                    (nothing)          q4
 *	thread  ---------[ waits, or calls ]------[ calls ]----------[ goes on ...
 *	ended          q1      q2 q3
 *	steps            q1, q2 background, q3    requests: 0        q4 background
 *
 * A step of input or output has those that were queued since it began, and those before it that were under way when it
 * began: the kernel tells that a thread waits only after it asked. A request that was over after the step, or
 * beside which its thread asked for another, did not keep its thread. A call that did not wait found all in the page cache.
 */
#include "builder/disk.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

static enum request_class class_of_request(const struct event *event)
{
	if (event->flags & (EVENT_WRITE | EVENT_FLUSH))
		return REQUEST_WRITE;
	if (event->flags & EVENT_METADATA)
		return REQUEST_METADATA;
	return event->flags & EVENT_AHEAD ? REQUEST_AHEAD : REQUEST_READ;
}

int build_trace_add_request(struct build_trace *trace, const struct event *event)
{
	if (event->kind == EVENT_DISK_QUEUE) {
		uint64_t *slot;
		if (mem_grow(&trace->requests, &trace->request_capacity, trace->request_count + 1,
			    sizeof *trace->requests) < 0 ||
			map_add(&trace->request_index, event->object, 0, 0, &slot) < 0)
			return -ENOMEM;
		*slot = trace->request_count;
		trace->requests[trace->request_count++] =
			(struct build_request){ .queued_ns = event->time_ns,
				.thread = build_find_thread(trace, event->pid, event->tid),
				.class = (uint8_t)class_of_request(event) };
		return 0;
	}
	const uint64_t *index = map_find(&trace->request_index, event->object, 0);
	if (!index)
		return 0;
	struct build_request *request = &trace->requests[*index];
	if (event->kind == EVENT_DISK_START)
		request->start_ns = event->time_ns;
	else
		request->end_ns = event->time_ns;
	return 0;
}

struct placer {
	struct build_trace *trace;
	uint32_t disk;
	const struct build_request **requests; /* by thread, then by when they were queued */
	size_t count;
	struct map sites; /* class of the first request that was waited for there */
	/* Of the thread at hand. */
	struct build_step *steps;
	size_t step_count, step_capacity;
};

static int compare_requests(const void *left, const void *right)
{
	const struct build_request *a = *(const struct build_request *const *)left;
	const struct build_request *b = *(const struct build_request *const *)right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int sort_requests(struct placer *placer)
{
	const struct build_trace *trace = placer->trace;
	placer->requests = calloc(trace->request_count + 1, sizeof(*placer->requests));
	if (!placer->requests)
		return -ENOMEM;
	for (size_t i = 0; i < trace->request_count; i++)
		if (trace->requests[i].end_ns > 0 && trace->requests[i].thread != BUILD_NONE)
			placer->requests[placer->count++] = &trace->requests[i];
	qsort(placer->requests, placer->count, sizeof(*placer->requests), compare_requests);
	return 0;
}

static int put_step(struct placer *placer, const struct build_step *step)
{
	if (mem_grow(&placer->steps, &placer->step_capacity, placer->step_count + 1,
		    sizeof *placer->steps) < 0)
		return -ENOMEM;
	placer->steps[placer->step_count++] = *step;
	return 0;
}

static uint64_t end_of(const struct build_step *step)
{
	return step->begin_ns + step->waited_ns;
}

static bool is_of_step(const struct build_request *request, const struct build_step *step)
{
	if (step->op != STEP_IO)
		return false;
	if (request->queued_ns >= step->begin_ns)
		return true;
	return (step->count == EVENT_IO_FILE || step->count == EVENT_IO_UNKNOWN) &&
	       request->end_ns > step->begin_ns;
}

/* Adds requests as steps, one for each run of a class; the CPU time of `like` is before the first. */
static int put_requests(struct placer *placer, const struct build_step *like,
	const struct build_request *const *requests, size_t count, bool are_waited_for)
{
	struct build_step step = { 0 };
	for (size_t i = 0; i < count; i++) {
		bool is_last = i + 1 == count || requests[i + 1]->queued_ns >= requests[i]->end_ns;
		bool is_waited_for =
			are_waited_for && is_last && requests[i]->end_ns <= end_of(like);
		uint8_t flags = is_waited_for ? STEP_WAITED : STEP_BACKGROUND;
		if (step.count > 0 && step.class == requests[i]->class && step.flags == flags) {
			step.count++;
			continue;
		}
		int code = step.count > 0 ? put_step(placer, &step) : 0;
		if (code < 0)
			return code;
		step = (struct build_step){ .begin_ns = requests[i]->queued_ns,
			.cpu_ns = i == 0 ? like->cpu_ns : 0,
			.section = i == 0 ? like->section : 0,
			.site = like->site,
			.object = placer->disk,
			.count = 1,
			.region = like->region,
			.op = STEP_DISK,
			.flags = flags,
			.class = requests[i]->class };
	}
	return count > 0 ? put_step(placer, &step) : 0;
}

static int remember_site(struct placer *placer, uint64_t site, uint8_t class)
{
	uint64_t *slot;
	int code = map_add(&placer->sites, site, 0, class, &slot);
	return code < 0 ? code : 0;
}

/* A step with the requests that were queued until it was over. */
static int place(struct placer *placer, const struct build_step *step,
	const struct build_request *const *requests, size_t count)
{
	size_t before = 0;
	while (before < count && !is_of_step(requests[before], step))
		before++;
	struct build_step rest = *step;
	int code = put_requests(placer, &rest, requests, before, false);
	if (before > 0)
		rest.cpu_ns = rest.section = 0;
	if (code < 0 || before == count)
		return code < 0 ? code : put_step(placer, &rest);
	const struct build_request *last = requests[count - 1];
	code = put_requests(placer, &rest, requests + before, count - before, true);
	if (code < 0)
		return code;
	if (last->end_ns <= end_of(step))
		return remember_site(placer, step->site, requests[before]->class);
	rest.cpu_ns = rest.section = 0; /* it waited for something else */
	return put_step(placer, &rest);
}

static int place_in_thread(struct placer *placer, uint32_t index, size_t *next)
{
	struct build_thread *thread = &placer->trace->threads[index];
	placer->steps = NULL;
	placer->step_count = placer->step_capacity = 0;
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code == 0; i++) {
		const struct build_step *step = &thread->steps[i];
		size_t first = *next;
		while (*next < placer->count && placer->requests[*next]->thread == index &&
			placer->requests[*next]->queued_ns <= end_of(step))
			(*next)++;
		code = place(placer, step, placer->requests + first, *next - first);
	}
	while (*next < placer->count && placer->requests[*next]->thread == index)
		(*next)++; /* after all that the thread is known to have done */
	if (code < 0) {
		free(placer->steps);
		return code;
	}
	free(thread->steps);
	thread->steps = placer->steps;
	thread->step_count = placer->step_count;
	thread->step_capacity = placer->step_capacity;
	return 0;
}

/* Calls that did not wait: of the class of those there that did; where none did any will do. */
static void find_hits(const struct placer *placer)
{
	uint64_t any = placer->count > 0 ? placer->requests[0]->class : (uint64_t)REQUEST_READ;
	for (size_t i = 0; i < placer->trace->thread_count; i++)
		for (size_t j = 0; j < placer->trace->threads[i].step_count; j++) {
			struct build_step *step = &placer->trace->threads[i].steps[j];
			const uint64_t *found = map_find(&placer->sites, step->site, 0);
			if (step->op != STEP_IO || build_has_blocked(step))
				continue;
			step->op = STEP_DISK;
			step->object = placer->disk;
			step->count = 0;
			step->class = (uint8_t)(found ? *found : any);
		}
}

int build_disk_place(struct build_trace *trace, uint32_t disk)
{
	struct placer placer = { .trace = trace, .disk = disk };
	size_t next = 0;
	int code = sort_requests(&placer);
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++)
		code = place_in_thread(&placer, i, &next);
	if (code == 0)
		find_hits(&placer);
	map_release(&placer.sites);
	free(placer.requests);
	return code;
}
