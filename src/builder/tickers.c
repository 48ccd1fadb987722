/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/tickers.h"

/* Of the run: what may be left of the first thread when its ticker has ended. */
enum { END_PART = 20 };

/* The longest time from a sleep at the site of the last one to the next; 0: it is no ticker. */
static uint64_t longest_round(const struct build_thread *thread)
{
	const struct build_step *last = NULL;
	uint64_t longest_ns = 0, previous_ns = 0;
	size_t ticks = 0;
	for (size_t i = 0; i < thread->step_count; i++)
		if (thread->steps[i].op == STEP_SLEEP)
			last = &thread->steps[i];
	for (size_t i = 0; last && i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->op != STEP_SLEEP && step->op != STEP_LOCK && step->waited_ns > 0)
			return 0;
		if (step->op != STEP_SLEEP || step->site != last->site)
			continue;
		if (ticks++ > 0 && step->begin_ns - previous_ns > longest_ns)
			longest_ns = step->begin_ns - previous_ns;
		previous_ns = step->begin_ns;
	}
	return ticks >= TICKS_LEAST ? longest_ns : 0;
}

/* Whether the thread's step joins this one, which ends at once, and then the thread does, too. */
static bool ends_it(const struct build_trace *trace, const struct build_thread *thread,
	const struct build_step *step, uint32_t ticker)
{
	const struct build_thread *joined = &trace->threads[ticker];
	uint64_t rest_ns = (trace->end_ns - trace->start_ns) / END_PART;
	if (joined->pid != thread->pid || joined->is_cut || !joined->has_exited ||
		step->begin_ns > joined->end_ns ||
		joined->steps[joined->step_count - 1].op != STEP_EXIT)
		return false;
	return thread->end_ns - joined->end_ns <= rest_ns &&
	       joined->end_ns - step->begin_ns <= longest_round(joined);
}

static void find_of(struct build_trace *trace, struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		uint32_t ticker = step.object;
		if (step.op != STEP_JOIN || ticker == BUILD_NONE ||
			!ends_it(trace, thread, &step, ticker)) {
			rewrite_keep(&rewrite, step);
			continue;
		}
		trace->threads[ticker].is_cut = true;
		trace->threads[ticker].step_count--; /* its end */
		rewrite_leave_out(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

void build_tickers_find(struct build_trace *trace)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		if (trace->threads[i].parent == BUILD_NONE)
			find_of(trace, &trace->threads[i]);
}
