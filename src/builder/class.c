/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/class.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool is_lock(const struct build_trace *trace, const struct build_step *step)
{
	if ((step->op != STEP_LOCK && step->op != STEP_READ_LOCK) || step->object == BUILD_NONE)
		return false;
	uint8_t what = trace->objects[step->object].what;
	return what == WHAT_MUTEX || what == WHAT_SPIN || what == WHAT_RWLOCK;
}

static bool is_get(const struct build_trace *trace, const struct build_step *step)
{
	return (step->op == STEP_GET || step->op == STEP_TRY_GET) && step->object != BUILD_NONE &&
	       trace->objects[step->object].what == WHAT_QUEUE;
}

/* Keys of places: the site; whose uses there count together, and what is used. */
static uint64_t place_key(
	const struct build_trace *trace, const struct build_step *step, uint32_t scope)
{
	return (uint64_t)scope << 8 | trace->objects[step->object].what;
}

struct places {
	struct map count; /* different objects, by place */
	struct map seen; /* by object, and place */
	struct map first; /* an object, by place */
	struct map are_common; /* places where two threads take the same object */
	/* Of places with few objects: an object's number there, a thread's last one, plus one, and how often which came after which. */
	struct map numbers, last, pairs;
};

/* Two numbers below CLASS_LEAST as one. */
static uint64_t pair_key(uint64_t place, uint64_t from, uint64_t to)
{
	return place * (CLASS_LEAST * CLASS_LEAST) + from * CLASS_LEAST + to;
}

static uint64_t place_hash(const struct build_step *step, uint64_t key)
{
	return step->site * 0x9e3779b97f4a7c15U ^ key;
}

/* Which of a place's few objects a thread takes after which. */
static int count_pairs(struct places *places, const struct build_trace *trace,
	const struct build_step *step, uint32_t scope, size_t thread)
{
	uint64_t key = place_key(trace, step, scope), place = place_hash(step, key);
	uint64_t *number, *last, *pairs, objects = *map_find(&places->count, step->site, key);
	if (objects < 2 || objects > CLASS_LEAST)
		return 0;
	int code = map_add(&places->numbers, step->object, place, UINT64_MAX, &number);
	if (code > 0) {
		uint64_t *next;
		code = map_add(&places->numbers, UINT64_MAX, place, 0, &next);
		number = map_find(&places->numbers, step->object, place);
		if (code >= 0)
			*number = (*next)++;
	}
	if (code >= 0)
		code = map_add(&places->last, place, thread, 0, &last);
	if (code < 0)
		return code;
	uint64_t before = *last, now = *map_find(&places->numbers, step->object, place);
	*last = now + 1;
	if (before == 0)
		return 0;
	code = map_add(&places->pairs, pair_key(place, before - 1, now), 0, 0, &pairs);
	if (code >= 0)
		++*pairs;
	return code < 0 ? code : 0;
}

/* Whether each of a place's few objects is taken whatever was taken there before: then only how often counts. */
static bool is_random(const struct places *places, uint64_t place, uint64_t objects)
{
	enum { EACH_LEAST = 5 }; /* pairs that are expected */
	static const double significant_deviations = 3; /* as in graph.c */
	double rows[CLASS_LEAST] = { 0 }, columns[CLASS_LEAST] = { 0 }, sum = 0, squared = 0;
	double table[CLASS_LEAST][CLASS_LEAST] = { { 0 } };
	for (uint64_t i = 0; i < objects; i++)
		for (uint64_t j = 0; j < objects; j++) {
			const uint64_t *pairs = map_find(&places->pairs, pair_key(place, i, j), 0);
			table[i][j] = pairs ? (double)*pairs : 0;
			rows[i] += table[i][j];
			columns[j] += table[i][j];
			sum += table[i][j];
		}
	for (uint64_t i = 0; i < objects; i++)
		for (uint64_t j = 0; j < objects; j++) {
			double expected = rows[i] * columns[j] / sum;
			if (!(expected >= EACH_LEAST))
				return false;
			squared += (table[i][j] - expected) * (table[i][j] - expected) / expected;
		}
	double degrees = (double)((objects - 1) * (objects - 1));
	return squared <= degrees + significant_deviations * sqrt(2 * degrees);
}

static int count_step(const struct build_trace *trace, struct places *places,
	const struct build_step *step, uint32_t scope, size_t thread)
{
	uint64_t *count, *seen, *first, key = place_key(trace, step, scope);
	uint64_t place = place_hash(step, key);
	int code = map_add(&places->seen, step->object, place, thread, &seen);
	if (code == 0 && *seen != thread)
		code = map_add(&places->are_common, step->site, key, 1, &first);
	else if (code > 0) {
		code = map_add(&places->count, step->site, key, 0, &count);
		if (code >= 0) {
			++*count;
			code = map_add(&places->first, step->site, key, step->object, &first);
		}
	}
	return code < 0 ? code : 0;
}

static void join(struct build_trace *trace, uint32_t a, uint32_t b)
{
	a = build_class_of(trace, a);
	b = build_class_of(trace, b);
	if (a < b)
		trace->objects[b].class = a;
	else
		trace->objects[a].class = b;
}

/* `threads`: how many the scope has. */
static void join_step(const struct places *places, struct build_trace *trace,
	const struct build_step *step, uint32_t scope, size_t threads, bool joins_many)
{
	uint64_t key = place_key(trace, step, scope);
	bool are_common = map_find(&places->are_common, step->site, key);
	uint64_t count = *map_find(&places->count, step->site, key);
	bool are_many = joins_many && count > CLASS_LEAST;
	bool are_drawn = joins_many && !are_many && count > 1 &&
			 is_random(places, place_hash(step, key), count);
	if (are_many || are_drawn || (count == threads && threads > 1 && !are_common))
		join(trace, (uint32_t)*map_find(&places->first, step->site, key), step->object);
}

/*
 * Locks count for a group, queues for each thread that takes from them; of either each thread of a group may have
 * its own.
 */
enum pass { PASS_COUNT, PASS_PAIRS, PASS_JOIN, PASSES };

static int visit(const struct build_groups *groups, struct places *places,
	struct build_trace *trace, size_t thread, enum pass pass)
{
	int code = 0;
	uint32_t group = groups->of_thread[thread];
	size_t threads = groups->items[group].count;
	for (size_t i = 0; i < trace->threads[thread].step_count && code == 0; i++) {
		const struct build_step *step = &trace->threads[thread].steps[i];
		uint32_t own = (uint32_t)(groups->count + thread);
		bool is_queue = is_get(trace, step);
		if (!is_queue && !is_lock(trace, step))
			continue;
		if (pass == PASS_JOIN)
			join_step(places, trace, step, group, threads, !is_queue);
		else if (pass == PASS_COUNT)
			code = count_step(trace, places, step, group, thread);
		else if (!is_queue)
			code = count_pairs(places, trace, step, group, thread);
		if (is_queue && pass == PASS_JOIN)
			join_step(places, trace, step, own, 1, true);
		else if (is_queue && pass == PASS_COUNT && code == 0)
			code = count_step(trace, places, step, own, thread);
	}
	return code;
}

/* The only thread that puts into each object, plus 1; 0: none does, UINT32_MAX: several. */
static void find_putters(const struct build_trace *trace, uint32_t *ret)
{
	for (uint32_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_PUT || step->object == BUILD_NONE)
				continue;
			uint32_t *putter = &ret[step->object];
			*putter = *putter == 0 || *putter == i + 1 ? i + 1 : UINT32_MAX;
		}
}

/* Of queues with one putter each, that a thread gets from at one call site: how many of which group, and the first. */
struct results {
	const struct build_groups *groups;
	const uint32_t *putters;
	struct map seen, count, first;
};

/* BUILD_NONE: what the step gets comes from no single thread of a pool. */
static uint32_t maker_group(const struct build_trace *trace, const struct results *results,
	const struct build_step *step)
{
	uint32_t putter = is_get(trace, step) ? results->putters[step->object] : 0;
	if (putter == 0 || putter == UINT32_MAX)
		return BUILD_NONE;
	uint32_t group = results->groups->of_thread[putter - 1];
	return results->groups->items[group].count > 1 ? group : (uint32_t)BUILD_NONE;
}

static int visit_result(struct build_trace *trace, struct results *results,
	const struct build_step *step, uint64_t thread, bool joins)
{
	uint32_t group = maker_group(trace, results, step);
	uint64_t *slot, *count, key = thread << 32 | group;
	if (group == BUILD_NONE)
		return 0;
	if (joins) {
		if (*map_find(&results->count, step->site, key) ==
			results->groups->items[group].count)
			join(trace, (uint32_t)*map_find(&results->first, step->site, key),
				step->object);
		return 0;
	}
	int code = map_add(&results->seen, step->object, place_hash(step, key), 1, &slot);
	if (code <= 0)
		return code;
	code = map_add(&results->count, step->site, key, 0, &count);
	if (code >= 0) {
		++*count;
		code = map_add(&results->first, step->site, key, step->object, &slot);
	}
	return code < 0 ? code : 0;
}

/* Where each thread of a pool has a queue for its results, and one thread gets from all of them at one place, they are one. */
static int join_results(struct build_trace *trace, const struct build_groups *groups)
{
	AUTO_FREE uint32_t *putters = calloc(trace->object_count + 1, sizeof *putters);
	struct results results = { .groups = groups, .putters = putters };
	int code = putters ? 0 : -ENOMEM;
	if (putters)
		find_putters(trace, putters);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < trace->thread_count && code == 0; i++)
			for (size_t j = 0; j < trace->threads[i].step_count && code == 0; j++)
				code = visit_result(
					trace, &results, &trace->threads[i].steps[j], i, pass == 1);
	map_release(&results.seen);
	map_release(&results.count);
	map_release(&results.first);
	return code;
}

/* How each queue is used. */
struct queue_use {
	uint32_t gets, gates; /* gates: gets of what is closed once for all */
	bool is_in_class;
};

static void note_use(struct queue_use *uses, const struct build_step *step)
{
	if (step->op != STEP_GET)
		return;
	uses[step->object].gets++;
	uses[step->object].gates += (step->flags & STEP_REFUSED) != 0;
}

/* In a class of queues a gate that is opened once is an item for each who passes it. */
static void change_gate(struct build_step *step, const struct queue_use *use)
{
	if (!use->is_in_class || use->gets == 0 || use->gates < use->gets)
		return;
	if (step->op == STEP_GET)
		step->flags &= (uint8_t)~STEP_REFUSED;
	if (step->op == STEP_CLOSE) {
		step->op = STEP_PUT;
		step->count = use->gets;
	}
}

static int change_gates(struct build_trace *trace)
{
	AUTO_FREE struct queue_use *uses = calloc(trace->object_count + 1, sizeof *uses);
	if (!uses)
		return -ENOMEM;
	for (size_t i = 0; i < trace->object_count; i++) {
		const struct build_object *object = &trace->objects[i];
		if (object->what == WHAT_QUEUE && object->class != i)
			uses[i].is_in_class = uses[object->class].is_in_class = true;
	}
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < trace->thread_count; i++)
			for (size_t j = 0; j < trace->threads[i].step_count; j++) {
				struct build_step *step = &trace->threads[i].steps[j];
				if (step->op != STEP_GET && step->op != STEP_CLOSE)
					continue;
				if (pass == 0)
					note_use(uses, step);
				else
					change_gate(step, &uses[step->object]);
			}
	return 0;
}

int build_classes_find(struct build_trace *trace, const struct build_groups *groups)
{
	struct places places = { 0 };
	int code = 0;
	for (int pass = 0; pass < PASSES && code == 0; pass++)
		for (size_t i = 0; i < trace->thread_count && code == 0; i++)
			code = visit(groups, &places, trace, i, (enum pass)pass);
	map_release(&places.count);
	map_release(&places.seen);
	map_release(&places.first);
	map_release(&places.are_common);
	map_release(&places.numbers);
	map_release(&places.last);
	map_release(&places.pairs);
	if (code >= 0)
		code = join_results(trace, groups);
	/* Each object directly below the first of its class, for who asks often. */
	for (uint32_t i = 0; i < trace->object_count; i++)
		trace->objects[i].class = build_class_of(trace, i);
	return code < 0 ? code : change_gates(trace);
}

static int compare_uses(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a > b ? -1 : a < b;
}

/* How many that are used equally often collide as often as these. */
static double equal_instances(const double *uses, size_t count)
{
	double sum = 0, pairs = 0;
	for (size_t i = 0; i < count; i++) {
		sum += uses[i];
		pairs += uses[i] * (uses[i] - 1);
	}
	double equal = pairs > 0 ? sum * (sum - 1) / pairs : (double)count;
	return equal < (double)count ? equal : (double)count;
}

static int collect_uses(
	const struct build_trace *trace, uint32_t object, double **ret, size_t *ret_count)
{
	size_t capacity = 0;
	for (size_t i = 0; i < trace->object_count; i++) {
		if (trace->objects[i].class != object || trace->objects[i].uses == 0)
			continue;
		if (mem_grow(ret, &capacity, *ret_count + 1, sizeof **ret) < 0)
			return -ENOMEM;
		(*ret)[(*ret_count)++] = (double)trace->objects[i].uses;
	}
	return 0;
}

int build_class_instances(
	const struct build_trace *trace, uint32_t object, struct build_instances *ret)
{
	static const double significant_deviations = 3; /* as in graph.c */
	AUTO_FREE double *uses = NULL;
	double sum = 0, left;
	size_t count = 0, first = 0;
	*ret = (struct build_instances){ .count = 1 };
	if (collect_uses(trace, object, &uses, &count) < 0)
		return -ENOMEM;
	if (count < 2)
		return 0;
	qsort(uses, count, sizeof *uses, compare_uses);
	for (size_t i = 0; i < count; i++)
		sum += uses[i];
	for (left = sum; first < CLASS_SHARES && first + 1 < count; first++) {
		double mean = (left - uses[first]) / (double)(count - first - 1);
		if (uses[first] <= mean + significant_deviations * sqrt(mean))
			break;
		left -= uses[first];
		ret->shares[first] = uses[first] / sum;
	}
	ret->share_count = (uint32_t)first;
	ret->count =
		ret->share_count + (uint32_t)(equal_instances(uses + first, count - first) + 0.5);
	return 0;
}
