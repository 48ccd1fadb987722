/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time as work: where events carry it, from their clock; else the time between two events in which the thread did
 * not wait and, as far as the events tell, had a core.
 */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>

/* So many are needed to know how much CPU time is between two. */
enum { SAMPLES_LEAST = 8 };

static void observe_stretch(struct replay *replay, const struct load_thread *thread, double cpu_ns)
{
	double spare_ns = replay->spare_ns - thread->spare_ns;
	double full_ns = replay->full_ns - thread->full_ns;
	if (!(spare_ns + full_ns > 0))
		return;
	double weight = 1 / (spare_ns + full_ns);
	replay->sums.ss += weight * spare_ns * spare_ns;
	replay->sums.sf += weight * spare_ns * full_ns;
	replay->sums.ff += weight * full_ns * full_ns;
	replay->sums.sc += weight * spare_ns * cpu_ns;
	replay->sums.fc += weight * full_ns * cpu_ns;
}

/* Work that was done over some time, at an even pace, between operations that others told of. */
static void share_work(struct load_thread *thread, uint64_t work, uint64_t time_ns)
{
	uint64_t before_ns = thread->time_ns, span_ns = time_ns - before_ns;
	uint64_t given = 0;
	for (size_t i = 0; i < thread->split_count; i++) {
		const struct load_split *split = &thread->splits[i];
		if (split->step >= thread->count || split->time_ns <= before_ns || span_ns == 0)
			continue;
		double part = (double)(split->time_ns - before_ns) / (double)span_ns;
		uint64_t until = part < 1 ? (uint64_t)(part * (double)work) : work;
		if (until <= given)
			continue;
		thread->steps[split->step].work_ns += until - given;
		given = until;
	}
	thread->split_count = 0;
	thread->work_ns += work - given;
}

/* No thread has more of a core than there is: what a damaged file says is not played for days. */
static uint64_t most_work(const struct load_thread *thread, uint64_t work, uint64_t time_ns)
{
	enum { SLACK_NS = 10000000 }; /* clocks that are read one after the other */
	uint64_t most = time_ns - thread->began_ns + SLACK_NS;
	uint64_t left = most > thread->total_cpu_ns ? most - thread->total_cpu_ns : 0;
	return thread->counts_work || work < left ? work : left;
}

/* A thread's CPU time up to now: from its clock, or by the time that it ran. */
void cpu_account(struct replay *replay, struct load_thread *thread, const struct event *event)
{
	uint64_t since_ns = event->time_ns - thread->time_ns;
	uint64_t cpu_before_ns = thread->cpu_ns;
	bool had_cpu = thread->has_cpu;
	if (event->cpu_ns > 0) {
		if (!thread->has_cpu) {
			thread->has_cpu = true;
			bool is_clock_new = thread->parent != REPLAY_NONE || thread->counts_work;
			/* Of a clock from 0, what was counted by time is not counted again. */
			thread->cpu_ns = is_clock_new && thread->total_cpu_ns < event->cpu_ns
						 ? thread->total_cpu_ns
						 : event->cpu_ns;
		}
		if (event->cpu_ns > thread->cpu_ns) {
			uint64_t work =
				most_work(thread, event->cpu_ns - thread->cpu_ns, event->time_ns);
			share_work(thread, work, event->time_ns);
			replay->sampled_ns += had_cpu ? work : 0;
			replay->samples += had_cpu ? thread->samples : 0;
			thread->total_cpu_ns += work;
			thread->cpu_ns = event->cpu_ns;
		}
		thread->samples = 0;
	} else if (!thread->has_cpu && thread->is_running && !thread->counts_work) {
		thread->work_ns += since_ns;
		thread->total_cpu_ns += since_ns;
	}
	if (had_cpu && thread->is_running)
		observe_stretch(replay, thread, (double)(thread->cpu_ns - cpu_before_ns));
	thread->spare_ns = replay->spare_ns;
	thread->full_ns = replay->full_ns;
	thread->time_ns = event->time_ns;
}

/* As if it had kept its core until then. */
void cpu_run_until(struct load_thread *thread, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - thread->time_ns;
	if (!thread->is_running || time_ns <= thread->time_ns || thread->counts_work)
		return;
	thread->work_ns += since_ns;
	thread->total_cpu_ns += since_ns;
	thread->cpu_ns += thread->has_cpu ? since_ns : 0;
	thread->time_ns = time_ns;
}

int cpu_advance(struct load_thread *thread, uint64_t time_ns)
{
	if (!thread->has_cpu && !thread->counts_work) {
		cpu_run_until(thread, time_ns);
		return 0;
	}
	if (!thread->is_running || time_ns <= thread->time_ns)
		return 0;
	if (mem_grow(&thread->splits, &thread->split_capacity, thread->split_count + 1,
		    sizeof *thread->splits) < 0)
		return -ENOMEM;
	thread->splits[thread->split_count++] = (struct load_split){ thread->count, time_ns };
	return 0;
}

/*
 * A thread that is still there when its process ends does not tell its CPU time: what it did since its last event is
 * known by samples, if there are any. 0: unknown.
 */
uint64_t cpu_by_samples(
	const struct replay *replay, const struct load_thread *thread, uint64_t time_ns)
{
	if (replay->samples < SAMPLES_LEAST || thread->counts_work || !thread->has_cpu)
		return 0;
	double each_ns = (double)replay->sampled_ns / (double)replay->samples;
	uint64_t work_ns = (uint64_t)(each_ns * (double)thread->samples);
	uint64_t most_ns = time_ns - thread->time_ns;
	return thread->cpu_ns + (work_ns < most_ns ? work_ns : most_ns);
}

void cpu_sample(struct replay *replay, const struct event *event)
{
	uint32_t index = load_find_thread(replay, event->pid, event->tid);
	if (index != REPLAY_NONE)
		replay->threads[index].samples++;
}
