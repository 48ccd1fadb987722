/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/shutdown.h"

static uint64_t last_end_ns(const struct build_trace *trace)
{
	uint64_t last_ns = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op == STEP_END && step->begin_ns > last_ns)
				last_ns = step->begin_ns;
		}
	return last_ns;
}

/* It waits for another thread, and would for ever; a pause is at least so long. */
static bool waits_for_others(const struct build_step *step)
{
	return step->op != STEP_SLEEP && step->op != STEP_IO && step->op != STEP_DISK;
}

static void stop_at(struct build_thread *thread, uint64_t time_ns)
{
	size_t count = 0;
	while (count < thread->step_count && thread->steps[count].begin_ns <= time_ns &&
		thread->steps[count].begin_ns + thread->steps[count].waited_ns <= time_ns)
		count++;
	if (count == thread->step_count || thread->steps[count].op == STEP_EXIT)
		return;
	struct build_step *next = &thread->steps[count];
	if (next->begin_ns <= time_ns && next->waited_ns > 0) {
		if (waits_for_others(next))
			next->flags &= (uint8_t)~STEP_REFUSED; /* nobody closes it */
		count++;
	}
	thread->step_count = count;
	thread->has_exited = false;
	thread->end_ns = time_ns;
}

void build_leave_out_shutdown(struct build_trace *trace)
{
	uint64_t time_ns = last_end_ns(trace);
	for (size_t i = 0; i < trace->thread_count; i++)
		if (time_ns == 0 || trace->threads[i].start_ns > time_ns)
			return; /* it goes on to something else */
	for (size_t i = 0; i < trace->thread_count; i++)
		stop_at(&trace->threads[i], time_ns);
}
