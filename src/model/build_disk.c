/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/build_disk.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEVELS = 32, /* of how many others were in the device; more count as the last */
	LEVEL_LEAST = 20, /* requests from which a median is taken */
};

struct request {
	uint64_t begin_ns, end_ns;
	struct build_step *step;
	uint32_t level; /* others in the device when it came */
};

struct requests {
	struct request *items; /* by end */
	uint64_t *begins, *services; /* begins: ascending; services: room */
	size_t count;
};

static void requests_release(struct requests *requests)
{
	free(requests->items);
	free(requests->begins);
	free(requests->services);
}

void build_disk_release(struct build_disk *disk)
{
	free(disk->service_s);
	*disk = (struct build_disk){ 0 };
}

static int compare_ns(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

static int compare_ends(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int collect(struct build_trace *trace, struct requests *ret)
{
	size_t capacity = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_IO || step->count != EVENT_IO_FILE)
				continue;
			if (mem_grow(&ret->items, &capacity, ret->count + 1, sizeof *ret->items) <
				0)
				return -ENOMEM;
			uint64_t cpu_ns = step->section < step->waited_ns ? step->section : 0;
			ret->items[ret->count++] = (struct request){
				.begin_ns = step->begin_ns + cpu_ns,
				.end_ns = step->begin_ns + step->waited_ns,
				.step = step,
			};
		}
	if (ret->count == 0)
		return 0;
	ret->begins = calloc(ret->count, sizeof *ret->begins);
	ret->services = calloc(ret->count, sizeof *ret->services);
	return ret->begins && ret->services ? 0 : -ENOMEM;
}

/* Begins before it less ends before it. */
static void find_levels(struct requests *requests)
{
	qsort(requests->items, requests->count, sizeof *requests->items, compare_ends);
	for (size_t i = 0; i < requests->count; i++)
		requests->begins[i] = requests->items[i].begin_ns;
	qsort(requests->begins, requests->count, sizeof *requests->begins, compare_ns);
	for (size_t i = 0; i < requests->count; i++) {
		uint64_t at = requests->items[i].begin_ns;
		size_t begun = 0, ended = 0;
		for (size_t low = 0, high = requests->count; low < high;) {
			size_t middle = low + (high - low) / 2;
			if (requests->begins[middle] < at)
				low = begun = middle + 1;
			else
				high = middle;
		}
		for (size_t low = 0, high = requests->count; low < high;) {
			size_t middle = low + (high - low) / 2;
			if (requests->items[middle].end_ns <= at)
				low = ended = middle + 1;
			else
				high = middle;
		}
		size_t level = begun > ended ? begun - ended : 0;
		requests->items[i].level = level < LEVELS ? (uint32_t)level : LEVELS - 1;
	}
}

static uint64_t service_of(const struct requests *requests, size_t i, uint32_t parallel)
{
	const struct request *request = &requests->items[i];
	uint64_t start_ns = request->begin_ns;
	if (i >= parallel && requests->items[i - parallel].end_ns > start_ns)
		start_ns = requests->items[i - parallel].end_ns;
	return request->end_ns > start_ns ? request->end_ns - start_ns : 0;
}

/*
 * How much services depend on the level: the mean distance of the levels' medians from their mean, of
 * that. Negative: only one level has enough requests.
 */
static double dependence(struct requests *requests, uint32_t parallel)
{
	double medians[LEVELS], weights[LEVELS], sum = 0, weight = 0, distance = 0;
	uint32_t used = 0;
	for (uint32_t level = 0; level < LEVELS; level++) {
		size_t count = 0;
		for (size_t i = 0; i < requests->count; i++)
			if (requests->items[i].level == level)
				requests->services[count++] = service_of(requests, i, parallel);
		if (count < LEVEL_LEAST)
			continue;
		qsort(requests->services, count, sizeof *requests->services, compare_ns);
		medians[used] = (double)requests->services[count / 2];
		weights[used] = (double)count;
		sum += medians[used] * weights[used];
		weight += weights[used++];
	}
	if (used < 2 || sum <= 0)
		return -1;
	double mean = sum / weight;
	for (uint32_t i = 0; i < used; i++) {
		double apart = medians[i] - mean;
		distance += weights[i] * (apart < 0 ? -apart : apart);
	}
	return distance / weight / mean;
}

static void find_parallel(struct requests *requests, struct build_disk *ret)
{
	uint32_t most = 1;
	for (size_t i = 0; i < requests->count; i++)
		if (requests->items[i].level + 1 > most)
			most = requests->items[i].level + 1;
	ret->parallel = 1;
	double best = dependence(requests, 1);
	ret->is_guessed = best < 0;
	for (uint32_t parallel = 2; parallel <= most && best > 0; parallel++) {
		double score = dependence(requests, parallel);
		if (score < 0 || score >= best)
			continue;
		best = score;
		ret->parallel = parallel;
	}
}

static int add_disk(struct build_trace *trace, uint32_t *ret)
{
	size_t count = trace->object_count;
	if (count >= BUILD_NONE || mem_grow(&trace->objects, &trace->object_capacity, count + 1,
					   sizeof *trace->objects) < 0)
		return -ENOMEM;
	trace->objects[count] = (struct build_object){
		.what = WHAT_DISK, .name = "disk", .class = (uint32_t)count
	};
	trace->object_count++;
	*ret = (uint32_t)count;
	return 0;
}

int build_disk_find(struct build_trace *trace, struct build_disk *ret)
{
	struct requests requests = { 0 };
	ret->object = BUILD_NONE;
	int code = collect(trace, &requests);
	if (code == 0 && requests.count > 0)
		code = add_disk(trace, &ret->object);
	if (code == 0 && requests.count > 0) {
		ret->service_s = calloc(requests.count, sizeof *ret->service_s);
		code = ret->service_s ? 0 : -ENOMEM;
	}
	if (code == 0 && requests.count > 0) {
		find_levels(&requests);
		find_parallel(&requests, ret);
		uint64_t before_ns = 0;
		for (size_t i = 0; i < requests.count; i++) {
			struct request *request = &requests.items[i];
			uint64_t from_ns =
				request->begin_ns > before_ns ? request->begin_ns : before_ns;
			ret->busy_s += (double)(request->end_ns - from_ns) * 1e-9;
			before_ns = request->end_ns;
			request->step->op = STEP_DISK;
			request->step->object = ret->object;
			request->step->waited_ns = service_of(&requests, i, ret->parallel);
			ret->service_s[ret->count++] = (double)request->step->waited_ns * 1e-9;
		}
	}
	requests_release(&requests);
	return code;
}
