/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks that are taken in both orders. A program that does not deadlock takes the one of them by a try, which
 * a recording that saw it succeed cannot tell from a lock: of the two orders the rarer one that never
 * waited is left out, and its sections with it, because two simulated threads would wait for each other there.
 * So is a second lock of a class that a thread takes while it holds one of them, if that never waited.
 */
#include "builder/parts.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* By the class that is held and the one that is taken. */
struct orders {
	struct map takes, waits;
};

struct held_lock {
	uint32_t class, object;
	bool is_left_out;
};

/* What a thread holds: a program may lock all of a table. */
struct held {
	struct held_lock *locks;
	size_t count, capacity;
};

static void held_release(struct held *held)
{
	free(held->locks);
}

static bool is_lock(const struct build_step *step)
{
	return (step->op == STEP_LOCK || step->op == STEP_READ_LOCK) && step->object != BUILD_NONE;
}

static int hold(struct held *held, const struct held_lock *lock)
{
	if (mem_grow(&held->locks, &held->capacity, held->count + 1, sizeof *held->locks) < 0)
		return -ENOMEM;
	held->locks[held->count++] = *lock;
	return 0;
}

/* Follows a step: 1 if it is the unlock of a lock that was left out, else 0; -ENOMEM. */
static int follow(const struct build_trace *trace, struct held *held, const struct build_step *step,
	bool is_left_out)
{
	if (is_lock(step))
		return hold(held, &(struct held_lock){ build_class_of(trace, step->object),
					  step->object, is_left_out });
	if (step->op != STEP_UNLOCK)
		return 0;
	for (size_t i = held->count; i-- > 0;) {
		if (held->locks[i].object != step->object)
			continue;
		bool was_left_out = held->locks[i].is_left_out;
		held->locks[i] = held->locks[--held->count];
		return was_left_out;
	}
	return 0;
}

static int count_thread(
	const struct build_trace *trace, const struct build_thread *thread, struct orders *orders)
{
	AUTO_RELEASE(held) struct held held = { 0 };
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code >= 0; i++) {
		const struct build_step *step = &thread->steps[i];
		uint64_t *takes, *waits;
		for (size_t j = 0; is_lock(step) && j < held.count && code >= 0; j++) {
			uint32_t taken = build_class_of(trace, step->object);
			uint32_t first = held.locks[j].class;
			code = map_add(&orders->takes, first, taken, 0, &takes);
			if (code >= 0) {
				++*takes;
				code = map_add(&orders->waits, first, taken, 0, &waits);
			}
			if (code >= 0)
				*waits += (step->flags & STEP_WAITED) > 0;
		}
		if (code >= 0)
			code = follow(trace, &held, step, false);
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

/* Adds how many to *tries. 0 or -ENOMEM. */
static int leave_out_tries(const struct build_trace *trace, struct build_thread *thread,
	const struct orders *orders, uint64_t *tries)
{
	AUTO_RELEASE(held) struct held held = { 0 };
	struct build_rewrite rewrite = { .thread = thread };
	int is_its_end = 0;
	for (size_t i = 0; i < thread->step_count && is_its_end >= 0; i++) {
		struct build_step step = thread->steps[i];
		bool is_try = false;
		for (size_t j = 0; is_lock(&step) && j < held.count && !is_try; j++)
			is_try = !held.locks[j].is_left_out &&
				 is_by_try(orders, held.locks[j].class,
					 build_class_of(trace, step.object));
		*tries += is_try;
		is_its_end = follow(trace, &held, &step, is_try);
		if (is_try || is_its_end > 0)
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
	return is_its_end < 0 ? is_its_end : 0;
}

int build_leave_out_tries(struct build *build)
{
	struct build_trace *trace = &build->trace;
	struct orders orders = { 0 };
	int code = 0;
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		code = count_thread(trace, &trace->threads[i], &orders);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		code = leave_out_tries(trace, &trace->threads[i], &orders, &build->tries);
	map_release(&orders.takes);
	map_release(&orders.waits);
	return code;
}
