/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/answers.h"

#include "base/cleanup.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

enum {
	FAR = 10000, /* steps from a request to its answer: more are not looked through */
	RARE = 100, /* one request in so many may still be under way when the thread waits and takes another */
};

/* Steps of a thread in another order. */
struct answers {
	struct build_thread *thread;
	bool *is_moved; /* by step: it has been done already */
	struct map ends; /* request -> 1 + step that ends it */
	struct map late; /* requests that are under way while another one begins */
	struct build_step *steps;
	size_t count;
};

static void answers_release(struct answers *answers)
{
	free(answers->is_moved);
	free(answers->steps);
	map_release(&answers->ends);
	map_release(&answers->late);
}

/* For something else than room to write, or a core in the middle of a call. */
static bool waits(const struct build_step *step)
{
	bool is_io = step->op == STEP_IO && step->count != EVENT_IO_POLL;
	return !is_io &&
	       (step->flags & STEP_WAITED || step->op == STEP_SLEEP || step->op == STEP_JOIN);
}

static int find_ends(struct answers *answers)
{
	const struct build_thread *thread = answers->thread;
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		uint64_t *slot;
		if (step->op == STEP_END && build_came_over(step) &&
			map_add(&answers->ends, step->section, 0, i + 1, &slot) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The step that answers a request, if the thread does not wait from `after` to there; SIZE_MAX: there is none. */
static size_t find_answer(const struct answers *answers, uint64_t request, size_t after)
{
	const uint64_t *end = map_find(&answers->ends, request, 0);
	if (!end || *end - 1 < after || *end - 1 > after + FAR || answers->is_moved[*end - 1])
		return SIZE_MAX;
	for (size_t i = after; i < *end - 1; i++)
		if (waits(&answers->thread->steps[i]))
			return SIZE_MAX;
	return *end - 1;
}

/* Each request is answered before the next one begins, if that can be. */
static int order(struct answers *answers)
{
	const struct build_thread *thread = answers->thread;
	uint64_t open = 0;
	bool is_open = false;
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		bool is_begin = step->op == STEP_BEGIN && build_came_over(step);
		size_t answer = is_begin && is_open ? find_answer(answers, open, i) : SIZE_MAX;
		uint64_t *slot;
		if (answer != SIZE_MAX) {
			answers->steps[answers->count++] = thread->steps[answer];
			answers->is_moved[answer] = true;
		} else if (is_begin && is_open && map_add(&answers->late, open, 0, 0, &slot) < 0) {
			return -ENOMEM;
		}
		if (answers->is_moved[i])
			continue;
		answers->steps[answers->count++] = *step;
		if (is_begin)
			open = step->section;
		if (is_begin || step->op == STEP_END)
			is_open = is_begin;
	}
	return 0;
}

/* A client that sends half of what it asks, say: a model's threads do one thing after the other. */
static void leave_out_late(struct build_thread *thread, const struct map *late)
{
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step *step = &thread->steps[i];
		bool is_mark = step->op == STEP_BEGIN || step->op == STEP_END;
		if (is_mark && build_came_over(step) && map_find(late, step->section, 0))
			step->op = STEP_NOTHING;
	}
	rewrite_without_nothing(thread);
}

int build_answers_order(struct build_thread *thread)
{
	AUTO_RELEASE(answers)
	struct answers answers = {
		.thread = thread,
		.is_moved = calloc(thread->step_count + 1, sizeof *answers.is_moved),
		.steps = calloc(thread->step_count + 1, sizeof *answers.steps),
	};
	if (!answers.is_moved || !answers.steps || find_ends(&answers) < 0 || order(&answers) < 0)
		return -ENOMEM;
	struct build_step *before = thread->steps;
	thread->steps = answers.steps;
	thread->step_capacity = thread->step_count + 1;
	answers.steps = before;
	if (answers.late.count > 0 && answers.late.count * RARE < answers.ends.count)
		leave_out_late(thread, &answers.late);
	return 0;
}
