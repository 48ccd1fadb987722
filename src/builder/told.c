/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/told.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct told {
	struct build_trace *trace;
	struct build_channels *channels;
	const struct meaning_cond *meanings;
	bool by_calls;
	uint64_t routine; /* of the thread that is visited */
	uint32_t *
		conds; /* of each object of the trace: index of a condition without a meaning, or BUILD_NONE */
	struct map waits; /* how many ended at a time, by condition and time */
	struct map signals; /* likewise: 1, if there is one */
	struct tally {
		uint64_t waits, told;
		uint64_t signals, heard; /* heard: that ended a wait */
	} * tallies; /* of each condition */
};

static uint64_t end_of(const struct build_step *wait)
{
	return wait->begin_ns + wait->waited_ns;
}

static bool is_wait(const struct build_step *step)
{
	return step->op == STEP_COND_WAIT && !(step->flags & STEP_REFUSED);
}

/* Calls `visit` with each wait for, and signal of, a condition that has no meaning. */
static int for_each(
	struct told *told, int (*visit)(struct told *told, struct build_step *step, uint32_t cond))
{
	for (size_t i = 0; i < told->trace->thread_count; i++)
		for (size_t j = 0; j < told->trace->threads[i].step_count; j++) {
			struct build_step *step = &told->trace->threads[i].steps[j];
			if (!is_wait(step) && step->op != STEP_SIGNAL)
				continue;
			uint32_t cond = told->conds[step->object];
			told->routine = told->trace->threads[i].routine;
			int code = cond == BUILD_NONE ? 0 : visit(told, step, cond);
			if (code < 0)
				return code;
		}
	return 0;
}

static int note_signal(struct told *told, struct build_step *step, uint32_t cond)
{
	uint64_t *slot;
	return step->op == STEP_SIGNAL ? map_add(&told->signals, cond, step->begin_ns, 1, &slot)
				       : 0;
}

static int note_wait(struct told *told, struct build_step *step, uint32_t cond)
{
	uint64_t *count;
	if (!is_wait(step))
		return 0;
	told->tallies[cond].waits++;
	if (!map_find(&told->signals, cond, end_of(step)))
		return 0;
	told->tallies[cond].told++;
	int code = map_add(&told->waits, cond, end_of(step), 0, &count);
	if (code >= 0)
		++*count;
	return code;
}

static int note_heard(struct told *told, struct build_step *step, uint32_t cond)
{
	if (step->op != STEP_SIGNAL)
		return 0;
	told->tallies[cond].signals++;
	told->tallies[cond].heard += map_find(&told->waits, cond, step->begin_ns) != NULL;
	return 0;
}

/* They come so often that who misses one hears the next; one that comes once tells what will not be told again. */
static bool are_calls(const struct told *told, const struct tally *tally)
{
	enum { OFTEN = 20, FOR_EACH = 5 };
	return told->by_calls && tally->signals >= OFTEN &&
	       tally->signals >= FOR_EACH * tally->heard;
}

static bool is_known(const struct tally *tally)
{
	return tally->told > 0 && (double)tally->told >= MEANING_EXPLAINED * (double)tally->waits;
}

static int mark(struct told *told, struct build_step *step, uint32_t cond)
{
	uint64_t time_ns = is_wait(step) ? end_of(step) : step->begin_ns;
	const uint64_t *count = map_find(&told->waits, cond, time_ns);
	const struct tally *tally = &told->tallies[cond];
	bool is_call = are_calls(told, tally) && !is_wait(step);
	if (!is_known(tally) || (!count && !is_call))
		return 0;
	bool is_for_all = is_call && step->flags & STEP_REFUSED;
	step->flags |= STEP_TOLD;
	step->count = is_for_all ? 0 : is_wait(step) || is_call ? 1 : (uint32_t)*count;
	return 0;
}

/* The ear of the thread that is visited; the first of a condition has its channel's queue. 0 or -ENOMEM. */
static int find_ear(struct told *told, uint32_t cond, uint64_t *ret)
{
	struct build_channels *channels = told->channels;
	uint64_t *ear;
	int code = map_add(&channels->ear_index, cond, told->routine, channels->ear_count, &ear);
	if (code < 0)
		return -ENOMEM;
	*ret = *ear;
	if (code == 0)
		return 0;
	if (mem_grow(&channels->ears, &channels->ear_capacity, channels->ear_count + 1,
		    sizeof *channels->ears) < 0)
		return -ENOMEM;
	struct build_ear *added = &channels->ears[channels->ear_count++];
	size_t *last = &channels->items[cond].ears;
	bool is_first = *last == 0;
	while (*last > 0)
		last = &channels->ears[*last - 1].next;
	*last = channels->ear_count;
	*added = (struct build_ear){ .object = channels->items[cond].object };
	if (is_first)
		return 0;
	code = build_channel_add_object(
		told->trace, &told->meanings[cond], WHAT_QUEUE, &added->object);
	if (code < 0)
		return code;
	told->trace->objects[added->object].are_signals = true;
	told->trace->objects[added->object].first = 1; /* nothing in it */
	return 0;
}

static int hear(struct told *told, struct build_step *step, uint32_t cond)
{
	uint64_t ear, *count;
	if (!is_wait(step) || !(step->flags & STEP_TOLD))
		return 0;
	int code = find_ear(told, cond, &ear);
	if (code == 0)
		code = map_add(&told->channels->heard, ear, end_of(step), 0, &count);
	if (code >= 0)
		++*count;
	return code < 0 ? code : 0;
}

static void find_conds(struct told *told, const struct meaning *meaning, const bool *are_known,
	const struct build_channels *channels)
{
	for (size_t i = 0; i < told->trace->object_count; i++) {
		const struct build_object *object = &told->trace->objects[i];
		told->conds[i] = BUILD_NONE;
		uint32_t cond = object->what == WHAT_COND
					? meaning_find_cond(meaning, object->pid, object->address)
					: (uint32_t)BUILD_NONE;
		if (cond < channels->count && !are_known[cond])
			told->conds[i] = cond;
	}
}

/* Of sections of one type, how often a signal preceded a wait, and how often it followed one. */
struct precedence {
	struct map before, after;
};

struct section {
	uint32_t mutex;
	uint64_t site;
	bool has_signalled, has_waited;
};

static int count_up(struct map *map, const struct section *section)
{
	uint64_t *count;
	if (map_add(map, section->site, section->mutex, 0, &count) < 0)
		return -ENOMEM;
	++*count;
	return 0;
}

static uint64_t count_of(const struct map *map, const struct section *section)
{
	const uint64_t *count = map_find(map, section->site, section->mutex);
	return count ? *count : 0;
}

/* Counts; or, with what was counted, marks the signals that come first. 0 or -ENOMEM. */
static int order_signals(struct build_thread *thread, struct precedence *precedence, bool marks)
{
	struct section in = { .mutex = BUILD_NONE };
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code == 0; i++) {
		struct build_step *step = &thread->steps[i];
		if (step->op == STEP_LOCK)
			in = (struct section){ step->object, step->site, false, false };
		else if (step->op == STEP_UNLOCK && step->object == in.mutex)
			in.mutex = BUILD_NONE;
		if (in.mutex == BUILD_NONE)
			continue;
		bool is_signal = step->op == STEP_SIGNAL && step->flags & STEP_TOLD;
		if (marks && is_signal)
			step->comes_first =
				!in.has_waited && count_of(&precedence->before, &in) >
							  count_of(&precedence->after, &in);
		if (!marks && is_signal && in.has_waited)
			code = count_up(&precedence->after, &in);
		if (!marks && step->op == STEP_COND_WAIT && in.has_signalled && !in.has_waited)
			code = count_up(&precedence->before, &in);
		in.has_signalled |= is_signal;
		in.has_waited |= step->op == STEP_COND_WAIT;
	}
	return code;
}

static int find_first_signals(struct build_trace *trace)
{
	struct precedence precedence = { 0 };
	int code = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < trace->thread_count && code == 0; i++)
			code = order_signals(&trace->threads[i], &precedence, pass == 1);
	map_release(&precedence.before);
	map_release(&precedence.after);
	return code;
}

int build_told_find(struct build_trace *trace, const struct meaning *meaning, const bool *are_known,
	bool by_calls, struct build_channels *channels)
{
	AUTO_FREE uint32_t *conds = calloc(trace->object_count + 1, sizeof *conds);
	AUTO_FREE struct tally *tallies = calloc(channels->count + 1, sizeof *tallies);
	if (!conds || !tallies)
		return -ENOMEM;
	size_t count;
	const struct meaning_cond *all = meaning_conds(meaning, &count);
	struct told told = { .trace = trace,
		.channels = channels,
		.meanings = all,
		.by_calls = by_calls,
		.conds = conds,
		.tallies = tallies };
	find_conds(&told, meaning, are_known, channels);
	int code = for_each(&told, note_signal);
	if (code == 0)
		code = for_each(&told, note_wait);
	if (code == 0)
		code = for_each(&told, note_heard);
	if (code == 0)
		code = for_each(&told, mark);
	for (size_t i = 0; i < channels->count && code == 0; i++)
		if (is_known(&tallies[i])) {
			channels->items[i].is_told = true;
			code = build_channel_add_object(
				trace, &all[i], WHAT_QUEUE, &channels->items[i].object);
			if (code == 0)
				trace->objects[channels->items[i].object].are_calls =
					are_calls(&told, &tallies[i]);
		}
	if (code == 0)
		code = for_each(&told, hear);
	map_release(&told.waits);
	map_release(&told.signals);
	return code < 0 ? code : find_first_signals(trace);
}
