/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/tasks.h"

#include <errno.h>
#include <stdlib.h>

static bool is_let_go(const struct build_step *step)
{
	return step->op == STEP_ARRIVE && step->flags & STEP_WAITED &&
	       !(step->flags & STEP_BY_NOBODY);
}

int build_leave_out_broken_arrivals(struct build_trace *trace)
{
	AUTO_FREE bool *tell_wakers = calloc(trace->object_count + 1, sizeof *tell_wakers);
	if (!tell_wakers)
		return -ENOMEM;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++)
			if (is_let_go(&trace->threads[i].steps[j]))
				tell_wakers[trace->threads[i].steps[j].object] = true;
	for (size_t i = 0; i < trace->thread_count; i++) {
		struct build_rewrite rewrite = { .thread = &trace->threads[i] };
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			struct build_step step = trace->threads[i].steps[j];
			if (step.op == STEP_ARRIVE && step.flags & STEP_BY_NOBODY &&
				tell_wakers[step.object])
				rewrite_leave_out(&rewrite, step);
			else
				rewrite_keep(&rewrite, step);
		}
		rewrite_end(&rewrite);
	}
	return 0;
}
