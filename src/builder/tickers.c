/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/tickers.h"

/* Of the run: what may be left of the first thread when its ticker has ended. */
enum { END_PART = 20 };

/* What ends by itself, after a time. */
static bool is_pause(const struct build_step *step)
{
	return step->op == STEP_SLEEP || build_has_timed_out(step);
}

static const struct build_step *last_pause(const struct build_thread *thread)
{
	for (size_t i = thread->step_count; i-- > 0;)
		if (is_pause(&thread->steps[i]))
			return &thread->steps[i];
	return NULL;
}

/* The first wait for a condition that somebody ended; the number of steps if there is none. */
static size_t find_told(const struct build_thread *thread)
{
	size_t i = 0;
	while (i < thread->step_count &&
		(thread->steps[i].op != STEP_COND_WAIT || is_pause(&thread->steps[i])))
		i++;
	return i;
}

/* The last wait for the same condition that timed out. */
static const struct build_step *find_like(const struct build_thread *thread, size_t told)
{
	for (size_t i = told; i-- > 0;)
		if (thread->steps[i].op == STEP_COND_WAIT &&
			thread->steps[i].object == thread->steps[told].object &&
			thread->steps[i].site == thread->steps[told].site)
			return &thread->steps[i];
	return NULL;
}

/*
 * The longest time from a pause at the site of the last one to the next; 0: it is no ticker. Who was told goes no further than the end
 * of that round.
 */
static uint64_t longest_round(const struct build_thread *thread)
{
	const struct build_step *last = last_pause(thread);
	uint64_t longest_ns = 0, previous_ns = 0;
	size_t ticks = 0, ticks_told = 0, told = find_told(thread);
	if (told < thread->step_count && !find_like(thread, told))
		return 0;
	for (size_t i = 0; last && i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (!is_pause(step) && step->op != STEP_LOCK && i != told && step->waited_ns > 0)
			return 0;
		if (!is_pause(step) || step->site != last->site)
			continue;
		ticks_told += i > told;
		if (ticks++ > 0 && step->begin_ns - previous_ns > longest_ns)
			longest_ns = step->begin_ns - previous_ns;
		previous_ns = step->begin_ns;
	}
	return ticks >= TICKS_LEAST && ticks_told <= 1 ? longest_ns : 0;
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

/* Its end is left out; being told becomes one more pause, in which it is when the process ends. */
static void let_go_on(struct build_thread *ticker)
{
	size_t told = find_told(ticker);
	const struct build_step *like = told < ticker->step_count ? find_like(ticker, told) : NULL;
	ticker->is_cut = ticker->goes_on = true;
	ticker->stopped_by = BUILD_NONE;
	if (!like) {
		ticker->step_count--;
		return;
	}
	ticker->stopped_by = ticker->steps[told].object;
	ticker->steps[told].waited_ns = like->waited_ns;
	ticker->steps[told].flags |= STEP_REFUSED;
	ticker->step_count = told + 1;
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
		let_go_on(&trace->threads[ticker]);
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
