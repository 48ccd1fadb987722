/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/tasks.h"

#include <errno.h>
#include <stdlib.h>

static bool is_let_go(const struct build_step *step)
{
	return step->op == STEP_ARRIVE && step->flags & STEP_WAITED &&
	       !(step->flags & STEP_BY_NOBODY);
}

/* What is known of those who waited at each object: somebody, or nobody let them go. */
enum { BY_SOMEBODY = 1, BY_NOBODY = 2 };

/* Whether the recorder tells, in that process, who lets go whom. */
static bool tells_wakers(const struct build_trace *trace, const uint8_t *ends, uint32_t pid)
{
	for (size_t i = 0; i < trace->object_count; i++)
		if (trace->objects[i].pid == pid && ends[i] & BY_SOMEBODY)
			return true;
	return false;
}

static void find_ends(const struct build_trace *trace, uint8_t *ends)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_ARRIVE)
				continue;
			ends[step->object] |= is_let_go(step) ? BY_SOMEBODY : 0;
			ends[step->object] |= step->flags & STEP_BY_NOBODY ? BY_NOBODY : 0;
		}
}

static bool is_broken(const struct build_step *step, const uint8_t *ends, const bool *are_waits)
{
	if (step->op != STEP_ARRIVE)
		return false;
	return are_waits[step->object] ||
	       (step->flags & STEP_BY_NOBODY && ends[step->object] & BY_SOMEBODY);
}

int build_leave_out_broken_arrivals(struct build_trace *trace)
{
	AUTO_FREE uint8_t *ends = calloc(trace->object_count + 1, sizeof *ends);
	AUTO_FREE bool *are_waits = calloc(trace->object_count + 1, sizeof *are_waits);
	if (!ends || !are_waits)
		return -ENOMEM;
	find_ends(trace, ends);
	for (size_t i = 0; i < trace->object_count; i++)
		are_waits[i] =
			ends[i] == BY_NOBODY && tells_wakers(trace, ends, trace->objects[i].pid);
	for (size_t i = 0; i < trace->thread_count; i++) {
		struct build_rewrite rewrite = { .thread = &trace->threads[i] };
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step step = trace->threads[i].steps[j];
			if (is_broken(&step, ends, are_waits))
				rewrite_leave_out(&rewrite, step);
			else
				rewrite_keep(&rewrite, step);
		}
		rewrite_end(&rewrite);
	}
	return 0;
}
