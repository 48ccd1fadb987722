/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/limits.h"

static bool is_refused_take(const struct build_step *step)
{
	return step->op == STEP_TAKE && step->flags & STEP_REFUSED;
}

static bool is_reached(const struct build_trace *trace)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++)
			if (is_refused_take(&trace->threads[i].steps[j]))
				return true;
	return false;
}

static void leave_out(struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		if (step.op == STEP_TAKE || step.op == STEP_GIVE)
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

static void mark_failures(struct build_thread *thread)
{
	bool is_refused = false;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step *step = &thread->steps[i];
		is_refused |= is_refused_take(step);
		if (step->op == STEP_END && is_refused)
			step->op = STEP_FAIL;
		if (step->op == STEP_END || step->op == STEP_FAIL || step->op == STEP_GET)
			is_refused = false;
	}
}

bool build_limits_find(struct build_trace *trace)
{
	bool is_kept = is_reached(trace);
	for (size_t i = 0; i < trace->thread_count; i++)
		if (is_kept)
			mark_failures(&trace->threads[i]);
		else
			leave_out(&trace->threads[i]);
	return is_kept;
}
