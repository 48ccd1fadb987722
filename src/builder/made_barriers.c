/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/made_barriers.h"

#include <errno.h>
#include <stdlib.h>

static const double most_within = 0.1;

/* Of a barrier, by condition. */
struct sums {
	double within_ns, between_ns;
};

/* The barrier at which the section of a lock only arrives; BUILD_NONE: it does something else, too. */
static uint32_t find_barrier(const struct build_trace *trace, const struct meaning *meaning,
	const struct build_channels *channels, const struct build_step *lock)
{
	const struct build_object *mutex =
		lock->op == STEP_LOCK ? &trace->objects[lock->object] : NULL;
	const struct meaning_section *section =
		mutex && mutex->what == WHAT_MUTEX
			? meaning_find(meaning, mutex->pid, mutex->address, lock->site)
			: NULL;
	if (!section || section->part_count != 1 || section->parts[0].role != MEANING_ARRIVES)
		return BUILD_NONE;
	uint32_t cond = section->parts[0].cond;
	return channels->items[cond].is_barrier && channels->items[cond].object != BUILD_NONE
		       ? cond
		       : (uint32_t)BUILD_NONE;
}

/* The end of a section that only waits or tells; 0: there is something else in it. */
static size_t section_end(const struct build_thread *thread, size_t from)
{
	uint32_t mutex = thread->steps[from].object;
	for (size_t i = from + 1; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		bool tells = step->op == STEP_SIGNAL && !(step->flags & STEP_TOLD);
		bool waits =
			step->op == STEP_COND_WAIT && !(step->flags & (STEP_TOLD | STEP_REFUSED));
		if (step->op == STEP_UNLOCK && step->object == mutex)
			return i;
		if (!tells && !waits && step->op != STEP_NOTHING)
			return 0;
	}
	return 0;
}

static double cpu_between(const struct build_thread *thread, size_t from, size_t to)
{
	double cpu_ns = 0;
	for (size_t i = from; i < to; i++)
		cpu_ns += (double)thread->steps[i].cpu_ns;
	return cpu_ns;
}

static void make_arrival(
	struct build_thread *thread, size_t from, size_t end, const struct build_channel *channel)
{
	struct build_step *lock = &thread->steps[from];
	lock->op = STEP_ARRIVE;
	lock->object = channel->object;
	lock->count = 1;
	lock->flags = 0;
	lock->section = lock->waited_ns = 0;
	for (size_t i = from + 1; i <= end; i++)
		thread->steps[i].op = STEP_NOTHING;
}

/* A thread's sections that only arrive: adds up their CPU time or, when that is known of all, makes arrivals of those that are short. */
static void look_at(struct build_trace *trace, struct build_thread *thread,
	const struct meaning *meaning, const struct build_channels *channels, bool are_summed,
	struct sums *sums)
{
	for (size_t i = 0, last = 0; i < thread->step_count; i++) {
		uint32_t cond = find_barrier(trace, meaning, channels, &thread->steps[i]);
		size_t end = cond == BUILD_NONE ? 0 : section_end(thread, i);
		if (end == 0)
			continue;
		struct sums *of = &sums[cond];
		if (!are_summed) {
			of->between_ns += cpu_between(thread, last, i + 1);
			of->within_ns += cpu_between(thread, i + 1, end + 1);
		} else if (of->within_ns < most_within * of->between_ns) {
			make_arrival(thread, i, end, &channels->items[cond]);
		}
		last = end + 1;
		i = end;
	}
}

int build_made_barriers_find(struct build_trace *trace, const struct meaning *meaning,
	const struct build_channels *channels)
{
	AUTO_FREE struct sums *sums = calloc(channels->count + 1, sizeof *sums);
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < trace->thread_count; i++)
		look_at(trace, &trace->threads[i], meaning, channels, false, sums);
	for (size_t i = 0; i < trace->thread_count; i++)
		look_at(trace, &trace->threads[i], meaning, channels, true, sums);
	return 0;
}
