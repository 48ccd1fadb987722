/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/patience.h"

/* Of the time that ran out: what is done until it is begun again. */
enum { AGAIN_PART = 50 };

/* Nobody else sees it. */
static bool is_silent(const struct build_step *step)
{
	return step->op == STEP_NOTHING ||
	       ((step->op == STEP_LOCK || step->op == STEP_UNLOCK) && step->waited_ns == 0);
}

/* The wait that begins the one at `at` again; 0: none does. */
static size_t find_again(const struct build_thread *thread, size_t at)
{
	const struct build_step *wait = &thread->steps[at];
	uint64_t cpu_ns = 0;
	for (size_t i = at + 1; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		cpu_ns += step->cpu_ns;
		if (cpu_ns > wait->waited_ns / AGAIN_PART)
			return 0;
		if (step->op == STEP_COND_WAIT && step->object == wait->object)
			return i;
		if (!is_silent(step))
			return 0;
	}
	return 0;
}

/* The last of the waits that begin this one again. */
static size_t find_last(const struct build_thread *thread, size_t at)
{
	size_t again = at;
	while (again > 0 && build_has_timed_out(&thread->steps[at])) {
		again = find_again(thread, at);
		at = again > 0 ? again : at;
	}
	return at;
}

static void find_of(struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step first = thread->steps[i];
		size_t last = find_last(thread, i);
		bool is_told = !build_has_timed_out(&thread->steps[last]);
		for (; i < last; i++)
			if (is_told)
				rewrite_leave_out(&rewrite, thread->steps[i]);
			else
				rewrite_keep(&rewrite, thread->steps[i]);
		struct build_step step = thread->steps[i];
		if (is_told) {
			step.waited_ns += step.begin_ns - first.begin_ns;
			step.begin_ns = first.begin_ns;
		}
		rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

void build_patience_find(struct build_trace *trace)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		find_of(&trace->threads[i]);
}
