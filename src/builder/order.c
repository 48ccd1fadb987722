/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks that are taken in both orders. A program that does not deadlock takes the one of them by a try, which
 * a recording that saw it succeed cannot tell from a lock: of the two orders the rarer one that never
 * waited is left out, and its sections with it, because two simulated threads would wait for each other there.
 * So is a second lock of a class that a thread takes while it holds one of them, if that never waited.
 */
#include "builder/parts.h"

#include "base/map.h"

#include <errno.h>

enum { HELD_MAX = 32 };

/* By the class that is held and the one that is taken. */
struct orders {
	struct map takes, waits;
};

struct held {
	uint32_t classes[HELD_MAX], objects[HELD_MAX];
	bool are_left_out[HELD_MAX];
	size_t count;
};

static bool is_lock(const struct build_step *step)
{
	return (step->op == STEP_LOCK || step->op == STEP_READ_LOCK) && step->object != BUILD_NONE;
}

/* Follows a step; true if it is the unlock of a lock that was left out. */
static bool follow(const struct build_trace *trace, struct held *held,
	const struct build_step *step, bool is_left_out)
{
	if (is_lock(step) && held->count < HELD_MAX) {
		held->classes[held->count] = build_class_of(trace, step->object);
		held->objects[held->count] = step->object;
		held->are_left_out[held->count++] = is_left_out;
	}
	if (step->op != STEP_UNLOCK)
		return false;
	for (size_t i = held->count; i-- > 0;) {
		if (held->objects[i] != step->object)
			continue;
		bool was_left_out = held->are_left_out[i];
		held->count--;
		held->classes[i] = held->classes[held->count];
		held->objects[i] = held->objects[held->count];
		held->are_left_out[i] = held->are_left_out[held->count];
		return was_left_out;
	}
	return false;
}

static int count_thread(
	const struct build_trace *trace, const struct build_thread *thread, struct orders *orders)
{
	struct held held = { .count = 0 };
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code >= 0; i++) {
		const struct build_step *step = &thread->steps[i];
		uint64_t *takes, *waits;
		for (size_t j = 0; is_lock(step) && j < held.count && code >= 0; j++) {
			uint32_t taken = build_class_of(trace, step->object);
			code = map_add(&orders->takes, held.classes[j], taken, 0, &takes);
			if (code >= 0) {
				++*takes;
				code = map_add(&orders->waits, held.classes[j], taken, 0, &waits);
			}
			if (code >= 0)
				*waits += (step->flags & STEP_WAITED) > 0;
		}
		(void)follow(trace, &held, step, false);
	}
	return code < 0 ? code : 0;
}

static uint64_t count_of(const struct map *map, uint32_t held, uint32_t taken)
{
	const uint64_t *count = map_find(map, held, taken);
	return count ? *count : 0;
}

static bool is_by_try(const struct orders *orders, uint32_t held, uint32_t taken)
{
	uint64_t here = count_of(&orders->takes, held, taken);
	uint64_t there = count_of(&orders->takes, taken, held);
	if (count_of(&orders->waits, held, taken) > 0 || there == 0)
		return false;
	if (held == taken || here < there || count_of(&orders->waits, taken, held) > 0)
		return true;
	return here == there && held > taken;
}

static uint64_t leave_out_tries(
	const struct build_trace *trace, struct build_thread *thread, const struct orders *orders)
{
	struct held held = { .count = 0 };
	struct build_rewrite rewrite = { .thread = thread };
	uint64_t left_out = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		bool is_try = false;
		for (size_t j = 0; is_lock(&step) && j < held.count; j++)
			is_try |= !held.are_left_out[j] &&
				  is_by_try(orders, held.classes[j],
					  build_class_of(trace, step.object));
		left_out += is_try;
		bool is_its_end = follow(trace, &held, &step, is_try);
		if (is_try || is_its_end)
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
	return left_out;
}

int build_leave_out_tries(struct build *build)
{
	struct build_trace *trace = &build->trace;
	struct orders orders = { 0 };
	int code = 0;
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		code = count_thread(trace, &trace->threads[i], &orders);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		build->tries += leave_out_tries(trace, &trace->threads[i], &orders);
	map_release(&orders.takes);
	map_release(&orders.waits);
	return code;
}
