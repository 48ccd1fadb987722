/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/semaphores.h"

#include "base/map.h"
#include "builder/class.h"
#include "builder/uses.h"

#include <errno.h>
#include <stdlib.h>

static int collect(struct build_trace *trace, struct build_uses *ret)
{
	int code = 0;
	for (uint32_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count && code == 0; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			uint64_t time_ns = step->begin_ns + step->waited_ns;
			if (step->op == STEP_ACQUIRE || step->op == STEP_POST)
				code = build_uses_add(ret, (struct build_use){ step, time_ns, i });
		}
	if (code == 0)
		build_uses_sort(ret);
	return code;
}

/* A thread that waited in vain did nothing but that. */
static void change_timeouts(struct build_trace *trace)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step *step = &trace->threads[i].steps[j];
			if (step->op == STEP_ACQUIRE && step->flags & STEP_REFUSED)
				step->op = STEP_SLEEP;
		}
}

/*
 * What each thread takes once is no lock, but tells of its end, say; and a lock is not for several at once. `takers`: by thread, the
 * object it took last, plus 1.
 */
static bool is_lock(const struct build_trace *trace, const struct build_use *uses, size_t count,
	uint32_t *takers)
{
	bool is_taken_again = false;
	if (trace->objects[uses[0].step->object].first > 2)
		return false;
	for (size_t i = 0; i < count; i++) {
		bool is_post = i % 2 == 1;
		if ((uses[i].step->op == STEP_POST) != is_post ||
			(is_post && uses[i].thread != uses[i - 1].thread))
			return false;
		uint32_t *taken = &takers[uses[i].thread];
		is_taken_again |= !is_post && *taken == uses[i].step->object + 1;
		*taken = uses[i].step->object + 1;
	}
	return is_taken_again;
}

static void make_lock(struct build_trace *trace, const struct build_use *uses, size_t count)
{
	struct build_object *object = &trace->objects[uses[0].step->object];
	object->what = WHAT_MUTEX;
	for (size_t i = 0; i < count; i++) {
		if (i % 2 == 0)
			build_use_lock(object, uses[i].thread);
		uses[i].step->op = i % 2 == 0 ? STEP_LOCK : STEP_UNLOCK;
		uses[i].step->site = uses[i - i % 2].step->site;
	}
}

/* The last time that its only taker takes it; NULL: it is not one that a thread made to wait for itself. */
static const struct build_use *find_wait(
	const struct build_trace *trace, const struct build_use *uses, size_t count)
{
	uint32_t maker = trace->objects[uses[0].step->object].maker;
	const struct build_use *last = NULL;
	for (size_t i = 0; i < count; i++) {
		if (uses[i].step->op == STEP_POST)
			continue;
		if (uses[i].thread + 1 != maker)
			return NULL;
		last = &uses[i];
	}
	return last;
}

/* A post that is not by who made the semaphore. */
static bool is_of_other(const struct build_object *object, const struct build_use *use)
{
	return use->step->op == STEP_POST && use->thread + 1 != object->maker;
}

/*
 * What was there at first is left to nobody: the first takes have no post that they wait for. What its maker gives itself is for nobody, too
 * (Python gives a lock back before it throws it away).
 */
static void make_signals(struct build_trace *trace, const struct build_use *uses, size_t count)
{
	struct build_object *object = &trace->objects[uses[0].step->object];
	size_t takes = 0, posts = 0;
	for (size_t i = 0; i < count; i++) {
		posts += is_of_other(object, &uses[i]);
		takes += uses[i].step->op == STEP_ACQUIRE;
	}
	object->what = WHAT_QUEUE;
	object->are_signals = true;
	size_t first = takes > posts ? takes - posts : 0;
	for (size_t i = 0; i < count; i++) {
		struct build_step *step = uses[i].step;
		bool is_take = step->op == STEP_ACQUIRE;
		step->op = is_take                         ? STEP_GET
			   : is_of_other(object, &uses[i]) ? STEP_PUT
							   : STEP_NOTHING;
		if (is_take && first > 0) {
			step->op = STEP_NOTHING;
			first--;
		}
	}
}

/* Of who made it alone, which never waited for it: nothing depends on it. */
static bool is_alone(const struct build_trace *trace, const struct build_use *uses, size_t count)
{
	uint32_t maker = trace->objects[uses[0].step->object].maker;
	for (size_t i = 0; i < count; i++)
		if (uses[i].thread + 1 != maker || uses[i].step->waited_ns > 0)
			return false;
	return true;
}

static void leave_out(const struct build_use *uses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		uses[i].step->op = STEP_NOTHING;
}

static int change(struct build_trace *trace, const struct build_uses *uses)
{
	AUTO_RELEASE(map) struct map waits = { 0 }; /* how many semaphores, by thread and place */
	AUTO_FREE uint32_t *takers = calloc(trace->thread_count + 1, sizeof *takers);
	if (!takers)
		return -ENOMEM;
	for (size_t from = 0, to = 0; from < uses->count; from = to) {
		to = build_uses_end(uses, from);
		const struct build_use *wait = find_wait(trace, &uses->items[from], to - from);
		uint64_t *number;
		if (wait && map_add(&waits, wait->thread, wait->step->site, 0, &number) < 0)
			return -ENOMEM;
		if (wait)
			++*number;
	}
	for (size_t from = 0, to = 0; from < uses->count; from = to) {
		to = build_uses_end(uses, from);
		const struct build_use *of_object = &uses->items[from];
		const struct build_use *wait = find_wait(trace, of_object, to - from);
		if (is_alone(trace, of_object, to - from))
			leave_out(of_object, to - from);
		else if (is_lock(trace, of_object, to - from, takers))
			make_lock(trace, of_object, to - from);
		else if (wait && *map_find(&waits, wait->thread, wait->step->site) > CLASS_LEAST)
			make_signals(trace, of_object, to - from);
	}
	return 0;
}

int build_semaphores_by_use(struct build_trace *trace)
{
	struct build_uses uses = { 0 };
	change_timeouts(trace);
	int code = collect(trace, &uses);
	if (code == 0)
		code = change(trace, &uses);
	free(uses.items);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		rewrite_without_nothing(&trace->threads[i]);
	return code;
}
