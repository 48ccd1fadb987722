/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/polls.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum {
	LATE_PART =
		10, /* who looks once more for each so many pauses may have had others to wait for */
	WORK_PART = 10, /* looking takes less than one in so many parts of the pauses */
	PUTTING_MAX = 4, /* call sites that may put: all choices of them are tried */
};

/* A thread's steps written anew, with more of them. */
struct rewritten {
	struct build_step *steps;
	size_t count, capacity;
	uint64_t cpu_ns; /* of those left out */
};

static int emit(struct rewritten *to, struct build_step step)
{
	if (mem_grow(&to->steps, &to->capacity, to->count + 1, sizeof *to->steps) < 0)
		return -ENOMEM;
	step.cpu_ns += to->cpu_ns;
	to->cpu_ns = 0;
	to->steps[to->count++] = step;
	return 0;
}

static int replace(struct build_thread *thread, struct rewritten *by, int code)
{
	if (code < 0) {
		free(by->steps);
		return code;
	}
	free(thread->steps);
	thread->steps = by->steps;
	thread->step_count = by->count;
	thread->step_capacity = by->capacity;
	return 0;
}

/* Until threads have ended. */

/* Pauses of a thread at one place. */
struct pauses {
	size_t first, last; /* steps */
	size_t count;
	uint64_t late_ns; /* begin of the last of them, or the last tenth */
	uint64_t end_ns, slept_ns, work_ns;
};

static bool is_look(const struct build_step *step)
{
	return step->op == STEP_LOCK || step->op == STEP_READ_LOCK || step->op == STEP_UNLOCK;
}

static struct pauses find_pauses(const struct build_thread *thread, size_t first)
{
	struct pauses pauses = { .first = first };
	uint64_t work_ns = 0;
	for (size_t i = first; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		bool is_pause = step->op == STEP_SLEEP && step->site == thread->steps[first].site;
		if (!is_pause && !is_look(step))
			break;
		work_ns += i > first ? step->cpu_ns : 0;
		if (!is_pause)
			continue;
		pauses.count++;
		pauses.last = i;
		pauses.end_ns = step->begin_ns + step->waited_ns;
		pauses.slept_ns += step->waited_ns;
		pauses.work_ns = work_ns;
	}
	size_t late = pauses.count - pauses.count / LATE_PART, seen = 0;
	for (size_t i = first; i <= pauses.last; i++) {
		seen += thread->steps[i].op == STEP_SLEEP;
		if (seen == late && thread->steps[i].op == STEP_SLEEP)
			pauses.late_ns = thread->steps[i].begin_ns;
	}
	return pauses;
}

static bool ends_within(const struct build_trace *trace, uint32_t child, uint32_t parent,
	const struct pauses *pauses)
{
	const struct build_thread *thread = &trace->threads[child];
	return thread->parent == parent && thread->has_exited && !thread->is_cut &&
	       thread->end_ns > trace->threads[parent].steps[pauses->first].begin_ns &&
	       thread->end_ns <= pauses->end_ns;
}

static bool is_poll(const struct build_trace *trace, uint32_t index, const struct pauses *pauses)
{
	uint64_t last_ns = 0;
	if (pauses->count < POLLS_LEAST || pauses->work_ns * WORK_PART > pauses->slept_ns)
		return false;
	for (uint32_t i = 0; i < trace->thread_count; i++)
		if (ends_within(trace, i, index, pauses) && trace->threads[i].end_ns > last_ns)
			last_ns = trace->threads[i].end_ns;
	return last_ns >= pauses->late_ns && last_ns > 0;
}

/* Joins what ended, and notices it half a pause later. */
static int emit_joins(const struct build_trace *trace, uint32_t index, const struct pauses *pauses,
	struct rewritten *to)
{
	const struct build_thread *thread = &trace->threads[index];
	struct build_step sleep = thread->steps[pauses->last];
	int code = 0;
	to->cpu_ns += thread->steps[pauses->first].cpu_ns + pauses->work_ns;
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++) {
		struct build_step join = thread->steps[pauses->first];
		if (!ends_within(trace, i, index, pauses))
			continue;
		join.op = STEP_JOIN;
		join.object = i;
		join.cpu_ns = 0;
		code = emit(to, join);
	}
	sleep.waited_ns = pauses->slept_ns / pauses->count / 2;
	sleep.cpu_ns = 0;
	return code < 0 ? code : emit(to, sleep);
}

static int join_polled(struct build_trace *trace, uint32_t index)
{
	struct build_thread *thread = &trace->threads[index];
	struct rewritten to = { 0 };
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code == 0; i++) {
		struct pauses pauses = { 0 };
		if (thread->steps[i].op == STEP_SLEEP)
			pauses = find_pauses(thread, i);
		if (is_poll(trace, index, &pauses)) {
			code = emit_joins(trace, index, &pauses, &to);
			i = pauses.last;
			continue;
		}
		code = emit(&to, thread->steps[i]);
	}
	return replace(thread, &to, code);
}

/* Until there is something to take. */

enum outcome { NOT_LOOKED, FOUND, FOUND_NOTHING, FOUND_END };

struct section {
	uint32_t thread, object;
	size_t lock, unlock; /* steps */
	uint64_t site, time_ns;
	uint64_t pause; /* where the thread then slept before it looked again; 0: it did not */
	enum outcome outcome;
	bool is_last; /* of its thread, at its site */
	bool puts, closes;
};

struct sections {
	struct section *items;
	size_t count, capacity;
};

static int compare_sections(const void *left, const void *right)
{
	const struct section *a = left, *b = right;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static size_t find_unlock(const struct build_thread *thread, size_t lock)
{
	enum { FAR = 100 }; /* steps within a look or a put */
	size_t i = lock + 1;
	while (i < thread->step_count && i < lock + FAR &&
		!(thread->steps[i].op == STEP_UNLOCK &&
			thread->steps[i].object == thread->steps[lock].object))
		i++;
	return i < lock + FAR ? i : thread->step_count;
}

/* Where the thread slept after it, and then looked again; 0: it did not. */
static uint64_t pause_after(const struct build_thread *thread, const struct section *section)
{
	size_t again = section->unlock + 2;
	if (section->unlock != section->lock + 1 || again >= thread->step_count)
		return 0;
	const struct build_step *steps = thread->steps;
	bool looks_again = steps[again - 1].op == STEP_SLEEP && steps[again].op == STEP_LOCK &&
			   steps[again].object == section->object &&
			   steps[again].site == section->site;
	return looks_again ? steps[again - 1].site : 0;
}

static int add_sections(const struct build_trace *trace, uint32_t index, struct sections *ret)
{
	const struct build_thread *thread = &trace->threads[index];
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->op != STEP_LOCK || step->object == BUILD_NONE)
			continue;
		struct section section = { .thread = index,
			.object = step->object,
			.lock = i,
			.unlock = find_unlock(thread, i),
			.site = step->site,
			.time_ns = step->begin_ns + step->waited_ns };
		if (section.unlock == thread->step_count)
			continue;
		section.pause = pause_after(thread, &section);
		if (mem_grow(&ret->items, &ret->capacity, ret->count + 1, sizeof *ret->items) < 0)
			return -ENOMEM;
		ret->items[ret->count++] = section;
	}
	return 0;
}

/* The sections of one mutex, and the places where it is taken. */
struct looks {
	struct section *items;
	size_t count;
	uint64_t sites[PUTTING_MAX + 1]; /* first that of those who look */
	size_t site_count;
	uint64_t initial; /* items before the first section */
};

static void mark_last(struct looks *looks)
{
	for (size_t i = looks->count; i-- > 0;) {
		struct section *section = &looks->items[i];
		bool has_later = false;
		for (size_t j = i + 1; j < looks->count && !has_later; j++)
			has_later = looks->items[j].thread == section->thread &&
				    looks->items[j].site == section->site;
		section->is_last = !has_later;
	}
}

static bool add_site(struct looks *looks, uint64_t site)
{
	for (size_t i = 0; i < looks->site_count; i++)
		if (looks->sites[i] == site)
			return true;
	if (looks->site_count > PUTTING_MAX)
		return false;
	looks->sites[looks->site_count++] = site;
	return true;
}

/* If who sleeps at a place looked in vain: whether there is one place where threads look, and few others. */
static bool find_sites(struct looks *looks, uint64_t pause)
{
	size_t nothing = 0, found = 0;
	looks->site_count = 0;
	for (size_t i = 0; i < looks->count; i++) {
		struct section *section = &looks->items[i];
		section->outcome = section->pause == pause ? FOUND_NOTHING : FOUND;
		if (section->outcome == FOUND)
			continue;
		if (looks->site_count == 0)
			looks->sites[looks->site_count++] = section->site;
		if (section->site != looks->sites[0])
			return false;
		nothing++;
	}
	if (nothing < POLLS_LEAST)
		return false;
	for (size_t i = 0; i < looks->count; i++) {
		if (!add_site(looks, looks->items[i].site))
			return false;
		if (looks->items[i].site != looks->sites[0])
			looks->items[i].outcome = NOT_LOOKED;
		found += looks->items[i].outcome == FOUND;
	}
	return found >= POLLS_LEAST && looks->site_count > 1;
}

static bool puts_at(const struct looks *looks, uint64_t site, unsigned choice)
{
	for (size_t i = 1; i < looks->site_count; i++)
		if (looks->sites[i] == site)
			return choice >> (i - 1) & 1;
	return false;
}

/*
 * What had been taken, less what had been put, when most looks were in vain: so many there were at first (slots, buffers). If there is
 * no such number, any: it will explain little.
 */
static uint64_t guess_initial(const struct looks *looks, unsigned choice)
{
	int64_t taken = 0, guess = 0;
	size_t votes = 0;
	for (size_t i = 0; i < looks->count; i++) {
		const struct section *section = &looks->items[i];
		if (section->outcome == NOT_LOOKED)
			taken -= puts_at(looks, section->site, choice);
		else if (section->outcome == FOUND)
			taken++;
		else if (votes == 0 || guess == taken) {
			guess = taken;
			votes++;
		} else
			votes--;
	}
	return guess > 0 ? (uint64_t)guess : 0;
}

/* How much of what was found, and of what was not, is explained if the sites of a choice put: the lesser share. */
static double explain(struct looks *looks, unsigned choice, uint64_t initial, bool is_final)
{
	double found = 0, right = 0, nothing = 0, right_nothing = 0;
	uint64_t items = initial;
	for (size_t i = 0; i < looks->count; i++) {
		struct section *section = &looks->items[i];
		bool ends = section->outcome == FOUND && section->is_last && items == 0;
		bool puts = section->outcome == NOT_LOOKED && puts_at(looks, section->site, choice);
		if (is_final) {
			section->puts = puts;
			section->outcome = ends ? FOUND_END : section->outcome;
		}
		items += puts;
		if (section->outcome == FOUND_NOTHING) {
			nothing++;
			right_nothing += items == 0;
		} else if (section->outcome == FOUND && !ends) {
			found++;
			right += items > 0;
			items -= items > 0;
		}
	}
	if (!(found > 0) || !(nothing > 0))
		return 0;
	double a = right / found, b = right_nothing / nothing;
	return a < b ? a : b;
}

/* Marks the section that told the end: between the last that put and the first that found it. */
static bool find_close(struct looks *looks)
{
	struct section *close = NULL;
	for (size_t i = 0; i < looks->count; i++) {
		struct section *section = &looks->items[i];
		if (section->puts)
			close = NULL;
		else if (section->outcome == NOT_LOOKED && !close)
			close = section;
		if (section->outcome != FOUND_END)
			continue;
		if (close)
			close->closes = true;
		return close;
	}
	return true;
}

/* Whether looks in vain are those after which threads sleep at one place: then it marks what each section does. */
static bool understand_pause(struct looks *looks, uint64_t pause)
{
	unsigned best = 0;
	double most = 0;
	if (!find_sites(looks, pause))
		return false;
	mark_last(looks);
	for (unsigned choice = 1; choice < 1U << (looks->site_count - 1); choice++) {
		const uint64_t initials[] = { 0, guess_initial(looks, choice) };
		for (int i = 0; i < 2; i++) {
			double share = explain(looks, choice, initials[i], false);
			if (share > most) {
				most = share;
				best = choice;
				looks->initial = initials[i];
			}
		}
	}
	if (most < MEANING_EXPLAINED)
		return false;
	(void)explain(looks, best, looks->initial, true);
	return find_close(looks);
}

static bool understand(struct looks *looks)
{
	enum { PAUSES_MAX = 4 };
	uint64_t tried[PAUSES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < looks->count && count < PAUSES_MAX; i++) {
		bool is_new = looks->items[i].pause > 0;
		for (size_t j = 0; j < count; j++)
			is_new &= tried[j] != looks->items[i].pause;
		if (!is_new)
			continue;
		tried[count++] = looks->items[i].pause;
		if (understand_pause(looks, looks->items[i].pause))
			return true;
	}
	return false;
}

static int add_queue(struct build_trace *trace, uint32_t mutex, const char *name, bool are_signals,
	uint32_t *ret)
{
	return build_add_object(trace,
		(struct build_object){ .pid = trace->objects[mutex].pid,
			.what = WHAT_QUEUE,
			.address = trace->objects[mutex].address,
			.name = name,
			.are_signals = are_signals },
		ret);
}

/* What is put into a thread's list of steps, before (a put) or after (a try) one of them. */
struct insertion {
	uint32_t thread;
	size_t step;
	bool is_before, is_refused;
	uint8_t op;
	uint32_t object, count;
};

struct insertions {
	struct insertion *items;
	size_t count, capacity;
};

static int insert(struct insertions *to, struct insertion insertion)
{
	if (mem_grow(&to->items, &to->capacity, to->count + 1, sizeof *to->items) < 0)
		return -ENOMEM;
	to->items[to->count++] = insertion;
	return 0;
}

static int insert_section(struct build_trace *trace, const struct section *section,
	const uint32_t queues[2], uint32_t ends, struct insertions *to)
{
	bool is_nothing = section->outcome == FOUND_NOTHING;
	bool is_end = section->outcome == FOUND_END;
	int code = 0;
	if (section->puts || section->closes)
		return insert(to, (struct insertion){ .thread = section->thread,
					  .step = section->unlock,
					  .is_before = true,
					  .op = STEP_PUT,
					  .object = queues[section->closes],
					  .count = section->closes ? ends : 1 });
	if (section->outcome == NOT_LOOKED)
		return 0;
	code = insert(to, (struct insertion){ .thread = section->thread,
				  .step = section->lock,
				  .is_refused = is_nothing || is_end,
				  .op = STEP_TRY_GET,
				  .object = queues[0],
				  .count = 1 });
	if (code < 0 || (!is_nothing && !is_end))
		return code;
	trace->threads[section->thread].steps[section->unlock].flags |= STEP_IN_REFUSED;
	if (ends == 0)
		return 0;
	return insert(to, (struct insertion){ .thread = section->thread,
				  .step = section->unlock,
				  .is_refused = is_nothing,
				  .op = STEP_TRY_GET,
				  .object = queues[1],
				  .count = 1 });
}

static int take_looks(struct build_trace *trace, const struct looks *looks, struct insertions *to)
{
	uint32_t queues[2] = { BUILD_NONE, BUILD_NONE }, ends = 0, mutex = looks->items[0].object;
	for (size_t i = 0; i < looks->count; i++)
		ends += looks->items[i].outcome == FOUND_END;
	int code = add_queue(trace, mutex, NULL, false, &queues[0]);
	if (code == 0)
		trace->objects[queues[0]].first = looks->initial + 1;
	if (code == 0 && ends > 0)
		code = add_queue(trace, mutex, "no more", true, &queues[1]);
	for (size_t i = 0; i < looks->count && code == 0; i++)
		code = insert_section(trace, &looks->items[i], queues, ends, to);
	return code;
}

static int compare_insertions(const void *left, const void *right)
{
	const struct insertion *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return b->is_before - a->is_before;
}

static int emit_insertion(
	const struct build_thread *thread, const struct insertion *insertion, struct rewritten *to)
{
	struct build_step step = thread->steps[insertion->step];
	step.op = insertion->op;
	step.object = insertion->object;
	step.count = insertion->count;
	step.flags = (uint8_t)(insertion->is_refused ? STEP_REFUSED : 0);
	step.waited_ns = 0;
	if (!insertion->is_before)
		step.cpu_ns = 0;
	return emit(to, step);
}

static int apply(struct build_trace *trace, const struct insertions *insertions)
{
	int code = 0;
	for (size_t from = 0, to = 0; from < insertions->count && code == 0; from = to) {
		uint32_t index = insertions->items[from].thread;
		struct build_thread *thread = &trace->threads[index];
		struct rewritten steps = { 0 };
		to = from;
		for (size_t i = 0; i < thread->step_count && code == 0; i++) {
			struct build_step step = thread->steps[i];
			for (; to < insertions->count && insertions->items[to].thread == index &&
				insertions->items[to].step == i &&
				insertions->items[to].is_before && code == 0;
				to++) {
				code = emit_insertion(thread, &insertions->items[to], &steps);
				step.cpu_ns = 0;
			}
			if (code == 0)
				code = emit(&steps, step);
			for (; to < insertions->count && insertions->items[to].thread == index &&
				insertions->items[to].step == i && code == 0;
				to++)
				code = emit_insertion(thread, &insertions->items[to], &steps);
		}
		code = replace(thread, &steps, code);
	}
	return code;
}

static bool is_free(const struct build_trace *trace, const struct meaning *meaning, uint32_t object)
{
	size_t count;
	const struct meaning_cond *conds = meaning_conds(meaning, &count);
	for (size_t i = 0; i < count; i++)
		if (conds[i].mutex == trace->objects[object].address &&
			conds[i].pid == trace->objects[object].pid &&
			conds[i].kind != MEANING_UNUSED)
			return false;
	return trace->objects[object].what == WHAT_MUTEX ||
	       trace->objects[object].what == WHAT_SPIN;
}

static int take_polled(struct build_trace *trace, const struct meaning *meaning)
{
	struct sections sections = { 0 };
	struct insertions insertions = { 0 };
	int code = 0;
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++)
		code = add_sections(trace, i, &sections);
	if (sections.count > 0)
		qsort(sections.items, sections.count, sizeof *sections.items, compare_sections);
	for (size_t from = 0, to = 0; from < sections.count && code == 0; from = to) {
		to = from;
		while (to < sections.count &&
			sections.items[to].object == sections.items[from].object)
			to++;
		struct looks looks = { .items = &sections.items[from], .count = to - from };
		if (is_free(trace, meaning, looks.items[0].object) && understand(&looks))
			code = take_looks(trace, &looks, &insertions);
	}
	if (insertions.count > 0)
		qsort(insertions.items, insertions.count, sizeof *insertions.items,
			compare_insertions);
	if (code == 0)
		code = apply(trace, &insertions);
	free(sections.items);
	free(insertions.items);
	return code;
}

int build_polls_find(struct build_trace *trace, const struct meaning *meaning)
{
	int code = take_polled(trace, meaning);
	for (uint32_t i = 0; i < trace->thread_count && code == 0; i++)
		code = join_polled(trace, i);
	return code;
}
