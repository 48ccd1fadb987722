/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/cut.h"

#include "base/mem.h"

#include <errno.h>

/* Whether the lock that the thread takes in a step is given back after it. */
static bool is_given_back(const struct build_thread *thread, size_t lock)
{
	size_t held = 1;
	for (size_t i = lock + 1; i < thread->step_count && held > 0; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->object != thread->steps[lock].object)
			continue;
		held += step->op == STEP_LOCK || step->op == STEP_READ_LOCK;
		held -= step->op == STEP_UNLOCK;
	}
	return held == 0;
}

static int give_back(struct build_thread *thread)
{
	for (size_t i = thread->step_count; i-- > 0;) {
		struct build_step step = thread->steps[i];
		if ((step.op != STEP_LOCK && step.op != STEP_READ_LOCK) || is_given_back(thread, i))
			continue;
		if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
			    sizeof *thread->steps) < 0)
			return -ENOMEM;
		step.op = STEP_UNLOCK;
		step.begin_ns = thread->end_ns;
		step.cpu_ns = step.waited_ns = 0;
		step.flags = 0;
		thread->steps[thread->step_count++] = step;
	}
	return 0;
}

int build_give_back_cut(struct build_trace *trace)
{
	int code = 0;
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++)
		if (trace->threads[i].is_cut)
			code = give_back(&trace->threads[i]);
	return code;
}
