/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of the processors others used while the run was recorded. Of n threads that do not wait at
 * a moment, min(n, cores) could run; the time that this adds up to less the CPU time that they had
 * is what others had, but for what waking up takes, and threads that wait beside an idle core: no more than the recorder saw
 * others have, where it looked.
 */
#include "builder/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct change {
	uint64_t time_ns;
	int64_t by;
};

struct changes {
	struct change *items;
	size_t count, capacity;
};

static int add_change(struct changes *changes, uint64_t time_ns, int64_t by)
{
	if (mem_grow(&changes->items, &changes->capacity, changes->count + 1,
		    sizeof *changes->items) < 0)
		return -ENOMEM;
	changes->items[changes->count++] = (struct change){ time_ns, by };
	return 0;
}

/*
 * When a thread's wait was over. A sleep is as long as was asked, and timers are late: what lies between it and the CPU time of the next step is
 * theirs, up to the kernel's slack and a wake-up.
 */
static uint64_t end_of_wait(const struct build_thread *thread, size_t step, uint64_t late_ns)
{
	const struct build_step *wait = &thread->steps[step], *next = wait + 1;
	uint64_t end_ns = wait->begin_ns + wait->waited_ns;
	if (wait->op != STEP_SLEEP || step + 1 == thread->step_count ||
		next->begin_ns < end_ns + next->cpu_ns)
		return end_ns;
	uint64_t gap_ns = next->begin_ns - next->cpu_ns - end_ns;
	return end_ns + (gap_ns < late_ns ? gap_ns : late_ns);
}

static int add_thread(struct changes *changes, const struct build_thread *thread, uint64_t late_ns)
{
	int code = add_change(changes, thread->start_ns, 1);
	for (size_t i = 0; i < thread->step_count && code == 0; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->waited_ns == 0)
			continue;
		code = add_change(changes, step->begin_ns, -1);
		if (code == 0)
			code = add_change(changes, end_of_wait(thread, i, late_ns), 1);
	}
	return code < 0 ? code : add_change(changes, thread->end_ns, -1);
}

static int compare(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Within a time. */
static double most_of_others(const struct trace_others *others, double time_ns)
{
	return others->wall_ns > 0 ? time_ns * (double)others->cpu_ns / (double)others->wall_ns
				   : INFINITY;
}

int build_taken(struct build *build)
{
	enum { TIMER_SLACK_NS = 50000 }; /* Linux's default: prctl(2), PR_SET_TIMERSLACK */
	uint64_t late_ns = TIMER_SLACK_NS + build->opts.wakes.latency_ns;
	struct changes changes = { 0 };
	double could_ns = 0, had_ns = (double)build_trace_cpu_ns(&build->trace);
	int64_t active = 0;
	int code = 0;
	build->taken = build->taken_of_run = 0;
	for (size_t i = 0; i < build->trace.thread_count && code == 0; i++)
		code = add_thread(&changes, &build->trace.threads[i], late_ns);
	if (code == 0 && changes.count > 0)
		qsort(changes.items, changes.count, sizeof *changes.items, compare);
	for (size_t i = 0; i + 1 < changes.count && code == 0; i++) {
		active += changes.items[i].by;
		int64_t running = active < build->opts.cores ? active : build->opts.cores;
		if (running > 0)
			could_ns += (double)running * (double)(changes.items[i + 1].time_ns -
							       changes.items[i].time_ns);
	}
	free(changes.items);
	if (could_ns <= had_ns)
		return code;
	double run_ns = (double)(build->trace.end_ns - build->trace.start_ns);
	double taken_ns = fmin(could_ns - had_ns, most_of_others(&build->opts.others, run_ns));
	build->taken = taken_ns / could_ns;
	build->taken_of_run = taken_ns / run_ns;
	return code;
}
