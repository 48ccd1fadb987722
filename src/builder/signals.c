/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/signals.h"

/* Sending a signal, waking up for it, and a switch between the two. */
enum { JUST_BEFORE_NS = 1000000 };

/* The last thing that a thread waited for, if that was a signal. */
static struct build_step *find_last_wait(struct build_thread *thread)
{
	for (size_t i = thread->step_count; i-- > 0;) {
		struct build_step *step = &thread->steps[i];
		if (step->waited_ns > 0)
			return step->op == STEP_IO && step->count == EVENT_IO_SIGNAL ? step : NULL;
	}
	return NULL;
}

/* When a thread began to wait for the end of another one; UINT64_MAX: none had to. */
static uint64_t first_join(const struct build_trace *trace, uint32_t joined)
{
	uint64_t first_ns = UINT64_MAX;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op == STEP_JOIN && step->object == joined &&
				step->begin_ns < first_ns)
				first_ns = step->begin_ns;
		}
	return first_ns;
}

void build_leave_out_own_signals(struct build_trace *trace)
{
	for (uint32_t i = 0; i < trace->thread_count; i++) {
		struct build_thread *thread = &trace->threads[i];
		struct build_step *wait = thread->has_exited && thread->parent != BUILD_NONE
						  ? find_last_wait(thread)
						  : NULL;
		uint64_t join_ns = wait ? first_join(trace, i) : UINT64_MAX;
		if (join_ns == UINT64_MAX ||
			join_ns + JUST_BEFORE_NS < wait->begin_ns + wait->waited_ns)
			continue;
		wait->waited_ns = 0;
	}
}
