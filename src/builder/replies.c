/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/replies.h"

#include "base/map.h"
#include "builder/uses.h"

#include <errno.h>
#include <stdlib.h>

enum {
	EACH_LEAST = 4, /* answers to each thread */
	SECTION = 2, /* steps from a get to the end of its section */
	NEAR = 64, /* steps in which it is looked for what was asked */
	PARTS = 20, /* of which all but one have to be as expected */
};

/* Places at which threads with one routine wait, at call sites that they have in common. */
struct place {
	uint32_t next; /* towards the first of its set; its own: it is the first */
	bool is_open; /* for answers: what is put there is got once, by another thread */
	uint64_t gets, asked; /* of the set's first: of all; those that follow a question */
	uint32_t taker; /* a thread that gets there; plus 1 */
	bool are_several; /* others do, too */
};

struct replies {
	struct build_trace *trace;
	struct build_uses uses; /* of what may be a place for answers */
	struct place *places; /* by object */
};

static bool is_get(const struct build_step *step)
{
	return (step->op == STEP_GET || step->op == STEP_ACQUIRE) && step->object != BUILD_NONE;
}

/* When a thread had what it gets, at the latest: in a section (steps.h) it may have waited until its end. */
static uint64_t had_ns(const struct build_thread *thread, size_t index)
{
	const struct build_step *step = &thread->steps[index];
	if (!is_get(step))
		return step->begin_ns;
	for (size_t i = index + 1; i < thread->step_count && i <= index + SECTION; i++)
		if (thread->steps[i].op == STEP_UNLOCK)
			return thread->steps[i].begin_ns;
		else if (thread->steps[i].op != STEP_LOCK)
			break;
	return step->begin_ns + step->waited_ns;
}

/* Queues for one item, and semaphores with nothing at first. */
static bool may_hold_replies(const struct build_object *object)
{
	return (object->what == WHAT_QUEUE && !object->is_drain && !object->is_pipe) ||
	       (object->what == WHAT_SEM && object->first <= 1);
}

static int collect(struct replies *replies)
{
	struct build_trace *trace = replies->trace;
	for (uint32_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			if ((!is_get(step) && !build_gives(step)) ||
				!may_hold_replies(&trace->objects[step->object]))
				continue;
			const struct build_use use = { step, had_ns(&trace->threads[i], j), i };
			if (build_uses_add(&replies->uses, use) < 0)
				return -ENOMEM;
		}
	return 0;
}

/* Whether one answer is put, and then got by another thread, again and again. */
static bool is_answered(const struct build_use *uses, size_t count)
{
	if (count < 2 || count % 2)
		return false;
	for (size_t i = 0; i < count; i += 2)
		if (is_get(uses[i].step) || !is_get(uses[i + 1].step) ||
			uses[i].thread == uses[i + 1].thread || uses[i].step->count > 1)
			return false;
	return true;
}

static uint32_t first_of(struct place *places, uint32_t object)
{
	while (places[object].next != object)
		object = places[object].next = places[places[object].next].next;
	return object;
}

/* Open places at which threads with the same routine get at the same call site belong together. */
static int join_places(struct replies *replies)
{
	AUTO_RELEASE(map) struct map sites = { 0 };
	for (size_t i = 0; i < replies->uses.count; i++) {
		const struct build_use *use = &replies->uses.items[i];
		uint32_t object = use->step->object;
		uint64_t *other;
		if (!is_get(use->step) || !replies->places[object].is_open)
			continue;
		int code = map_add(&sites, use->step->site,
			replies->trace->threads[use->thread].routine, object, &other);
		if (code < 0)
			return code;
		uint32_t a = first_of(replies->places, object);
		uint32_t b = first_of(replies->places, (uint32_t)*other);
		replies->places[a > b ? a : b].next = a > b ? b : a;
	}
	return 0;
}

/* How many steps of a thread are before a time. */
static size_t steps_before(const struct build_thread *thread, uint64_t time_ns)
{
	size_t from = 0, to = thread->step_count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (thread->steps[middle].begin_ns < time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_at(struct replies *replies, const struct build_step *step, uint32_t places)
{
	return (is_get(step) || build_gives(step)) &&
	       first_of(replies->places, step->object) == places;
}

/* Whether a thread put something there before it was got, since it had its last answer. */
static bool has_put(struct replies *replies, const struct build_thread *thread, size_t before,
	uint32_t places, uint32_t queue, uint64_t until_ns)
{
	for (size_t i = before; i-- > 0 && before - i <= NEAR;) {
		const struct build_step *step = &thread->steps[i];
		if (is_at(replies, step, places))
			return false;
		if (build_gives(step) && step->object == queue && step->begin_ns <= until_ns)
			return true;
	}
	return false;
}

/* Whether who answers got, since its last answer, something where the other one had put something, since its last one. */
static bool was_asked(
	struct replies *replies, const struct build_use *put, const struct build_use *get)
{
	uint32_t places = first_of(replies->places, get->step->object);
	const struct build_thread *client = &replies->trace->threads[get->thread];
	const struct build_thread *server = &replies->trace->threads[put->thread];
	size_t asked = steps_before(client, get->step->begin_ns);
	size_t answers = steps_before(server, put->time_ns);
	for (size_t i = answers; i-- > 0 && answers - i <= NEAR;) {
		const struct build_step *step = &server->steps[i];
		if (is_at(replies, step, places))
			return false;
		if (is_get(step) &&
			has_put(replies, client, asked, places, step->object, had_ns(server, i)))
			return true;
	}
	return false;
}

static void judge(struct replies *replies)
{
	for (size_t from = 0, to = 0; from < replies->uses.count; from = to) {
		to = build_uses_end(&replies->uses, from);
		uint32_t object = replies->uses.items[from].step->object;
		if (!replies->places[object].is_open)
			continue;
		struct place *first = &replies->places[first_of(replies->places, object)];
		for (size_t i = from; i < to; i += 2) {
			const struct build_use *get = &replies->uses.items[i + 1];
			first->gets++;
			first->asked += was_asked(replies, get - 1, get);
			first->are_several |= first->taker > 0 && first->taker != get->thread + 1;
			first->taker = get->thread + 1;
		}
	}
}

static bool are_replies(const struct place *first)
{
	return first->are_several && first->gets >= 2 * EACH_LEAST &&
	       first->asked * PARTS >= first->gets * (PARTS - 1);
}

static void change(struct replies *replies)
{
	for (size_t i = 0; i < replies->uses.count; i++) {
		struct build_step *step = replies->uses.items[i].step;
		uint32_t first = first_of(replies->places, step->object);
		if (!replies->places[step->object].is_open || !are_replies(&replies->places[first]))
			continue;
		struct build_object *object = &replies->trace->objects[first];
		object->what = WHAT_QUEUE;
		object->are_replies = true;
		object->are_signals = object->is_gate = false;
		step->op = is_get(step) ? STEP_GET : STEP_PUT;
		step->flags &= (uint8_t)~STEP_REFUSED;
		step->count = 1;
		step->object = first;
	}
}

int build_replies_find(struct build_trace *trace)
{
	AUTO_FREE struct place *places = calloc(trace->object_count + 1, sizeof *places);
	struct replies replies = { .trace = trace, .places = places };
	int code = places ? collect(&replies) : -ENOMEM;
	if (code == 0 && replies.uses.count > 0) {
		for (uint32_t i = 0; i < trace->object_count; i++)
			places[i].next = i;
		build_uses_sort(&replies.uses);
		for (size_t from = 0, to = 0; from < replies.uses.count; from = to) {
			to = build_uses_end(&replies.uses, from);
			places[replies.uses.items[from].step->object].is_open =
				is_answered(&replies.uses.items[from], to - from);
		}
		code = join_places(&replies);
	}
	if (code == 0) {
		judge(&replies);
		change(&replies);
	}
	free(replies.uses.items);
	return code;
}
