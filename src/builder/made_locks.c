/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/made_locks.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TYPES_MAX = 16,
	WAITS_LEAST = 20,
	FEW = 100, /* one of so many may be otherwise */
	EXPLAINED = 10, /* of waits all but one of so many have a reason */
};

struct section {
	uint32_t thread, type;
	size_t lock, unlock; /* steps */
	bool has_waited;
};

struct type {
	uint64_t site, count, waits, signals;
	uint64_t in_company; /* entered while others held it, or others did while it was held */
	bool enters, leaves, writes;
};

struct made {
	struct build_trace *trace;
	uint32_t mutex;
	struct section *sections; /* by thread, in order */
	size_t count, capacity;
	struct type types[TYPES_MAX];
	uint32_t type_count;
	uint64_t waits, explained,
		before_writers; /* before_writers: of readers, while nobody but readers held it */
};

static bool is_of_mutex(const struct made *made, const struct build_step *step, uint8_t op)
{
	return step->op == op && step->object == made->mutex;
}

/* TYPES_MAX: there are too many. */
static uint32_t type_of(struct made *made, uint64_t site)
{
	for (uint32_t i = 0; i < made->type_count; i++)
		if (made->types[i].site == site)
			return i;
	if (made->type_count == TYPES_MAX)
		return TYPES_MAX;
	made->types[made->type_count] = (struct type){ .site = site };
	return made->type_count++;
}

/* The section that begins at a step. 1: it is there, 0: it is none that could be of such a lock, -ENOMEM. */
static int add_section(struct made *made, uint32_t thread, size_t lock)
{
	const struct build_thread *of = &made->trace->threads[thread];
	uint32_t type = type_of(made, of->steps[lock].site);
	struct section section = { .thread = thread, .type = type, .lock = lock };
	uint64_t signals = 0;
	size_t i = lock + 1;
	for (; i < of->step_count && !is_of_mutex(made, &of->steps[i], STEP_UNLOCK); i++) {
		section.has_waited |= of->steps[i].op == STEP_COND_WAIT;
		signals += of->steps[i].op == STEP_SIGNAL;
		if (of->steps[i].op != STEP_COND_WAIT && of->steps[i].op != STEP_SIGNAL)
			return 0;
	}
	if (type == TYPES_MAX || i == of->step_count)
		return 0;
	section.unlock = i;
	signals += i + 1 < of->step_count && of->steps[i + 1].op == STEP_SIGNAL;
	if (mem_grow(&made->sections, &made->capacity, made->count + 1, sizeof *made->sections) < 0)
		return -ENOMEM;
	made->sections[made->count++] = section;
	made->types[type].count++;
	made->types[type].waits += section.has_waited;
	made->types[type].signals += signals > 0;
	made->waits += section.has_waited;
	return 1;
}

static int collect(struct made *made)
{
	int code = 1;
	for (uint32_t i = 0; i < made->trace->thread_count && code > 0; i++)
		for (size_t j = 0; j < made->trace->threads[i].step_count && code > 0; j++)
			if (is_of_mutex(made, &made->trace->threads[i].steps[j], STEP_LOCK))
				code = add_section(made, i, j);
	return code;
}

/* Whether sections enter and leave by turns in each thread. */
static bool alternate(struct made *made)
{
	uint64_t entered = 0, otherwise = 0;
	for (uint32_t i = 0; i < made->type_count; i++) {
		struct type *type = &made->types[i];
		type->enters = type->waits > 0;
		type->leaves = type->waits == 0 && type->signals > 0;
		if (!type->enters && !type->leaves)
			return false;
	}
	for (size_t i = 0; i < made->count; i++) {
		const struct section *section = &made->sections[i];
		bool is_first = i == 0 || section[-1].thread != section->thread;
		bool was_entered = !is_first && made->types[section[-1].type].enters;
		entered += made->types[section->type].enters;
		otherwise += made->types[section->type].enters == was_entered;
	}
	return otherwise * FEW <= entered;
}

/* A section begins to ask, or has come to its end. */
struct moment {
	uint64_t time_ns;
	const struct section *section;
	bool is_end;
};

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->is_end - b->is_end;
}

static struct moment *find_moments(const struct made *made)
{
	struct moment *moments = calloc(2 * made->count + 1, sizeof *moments);
	for (size_t i = 0; moments && i < made->count; i++) {
		const struct section *section = &made->sections[i];
		const struct build_step *steps = made->trace->threads[section->thread].steps;
		const struct build_step *lock = &steps[section->lock];
		moments[2 * i] =
			(struct moment){ lock->begin_ns + lock->waited_ns, section, false };
		moments[2 * i + 1] =
			(struct moment){ steps[section->unlock].begin_ns, section, true };
	}
	if (moments)
		qsort(moments, 2 * made->count, sizeof *moments, compare_moments);
	return moments;
}

/* Who holds the lock, and who asks for it, in the course of time: by type. */
struct state {
	uint32_t held[TYPES_MAX], asking[TYPES_MAX], holders;
	uint32_t *by_thread; /* the type that it entered by, plus 1; 0: it holds nothing */
};

static void enter_or_leave(struct made *made, struct state *state, const struct section *section)
{
	uint32_t *own = &state->by_thread[section->thread];
	if (made->types[section->type].leaves) {
		state->holders -= *own > 0;
		state->held[*own > 0 ? *own - 1 : 0] -= *own > 0;
		*own = 0;
		return;
	}
	state->asking[section->type]--;
	for (uint32_t i = 0; i < made->type_count; i++)
		made->types[i].in_company += state->held[i] > 0;
	made->types[section->type].in_company += state->holders > 0;
	state->held[section->type]++;
	state->holders++;
	*own = section->type + 1;
}

/* Whether something keeps a section out: a writer that holds the lock, anybody if it is a writer, or a writer that waits. */
static void judge_wait(struct made *made, const struct state *state, const struct section *section)
{
	bool is_written = false, waits_to_write = false;
	for (uint32_t i = 0; i < made->type_count; i++) {
		is_written |= made->types[i].writes && state->held[i] > 0;
		waits_to_write |= made->types[i].writes && state->asking[i] > 0;
	}
	bool writes = made->types[section->type].writes;
	made->explained += writes ? state->holders > 0 : is_written || waits_to_write;
	made->before_writers += !writes && !is_written && waits_to_write;
}

static int play(struct made *made, const struct moment *moments, bool judges)
{
	struct state state = { .by_thread =
				       calloc(made->trace->thread_count + 1, sizeof(uint32_t)) };
	if (!state.by_thread)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * made->count; i++) {
		const struct section *section = moments[i].section;
		if (moments[i].is_end) {
			enter_or_leave(made, &state, section);
			continue;
		}
		if (judges && section->has_waited)
			judge_wait(made, &state, section);
		state.asking[section->type] += made->types[section->type].enters;
	}
	free(state.by_thread);
	return 0;
}

/* 1: it is a lock, 0: it is none, -ENOMEM. */
static int is_lock(struct made *made)
{
	AUTO_FREE struct moment *moments = find_moments(made);
	uint32_t writers = 0;
	if (!moments || play(made, moments, false) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < made->type_count; i++) {
		struct type *type = &made->types[i];
		type->writes = type->enters && type->in_company * FEW <= type->count;
		writers += type->writes;
	}
	if (writers == 0 || play(made, moments, true) < 0)
		return writers == 0 ? 0 : -ENOMEM;
	return made->explained * EXPLAINED >= made->waits * (EXPLAINED - 1);
}

static void change_section(struct made *made, const struct section *section, uint32_t object)
{
	const struct type *type = &made->types[section->type];
	struct build_step *steps = made->trace->threads[section->thread].steps;
	for (size_t i = section->lock; i <= section->unlock; i++) {
		struct build_step *step = &steps[i];
		bool is_kept = i == (type->enters ? section->lock : section->unlock);
		step->object = is_kept ? object : step->object;
		if (!is_kept)
			step->op = STEP_NOTHING;
		else if (type->enters && !type->writes)
			step->op = STEP_READ_LOCK;
	}
	bool is_first = section == made->sections || section[-1].thread != section->thread;
	if (type->enters)
		build_use_lock(&made->trace->objects[object], section->thread);
	else if (!is_first) /* a lock is given back at the site at which it was taken */
		steps[section->unlock].site = made->types[section[-1].type].site;
}

/* The mutex keeps what else it may be used for. */
static int change(struct made *made)
{
	uint32_t object;
	bool has_readers = false;
	for (uint32_t i = 0; i < made->type_count; i++)
		has_readers |= made->types[i].enters && !made->types[i].writes;
	struct build_object with = made->trace->objects[made->mutex];
	with.what = has_readers ? WHAT_RWLOCK : WHAT_MUTEX;
	with.has_writers_first = made->before_writers > 0;
	with.uses = with.user = 0;
	with.is_shared = false;
	if (build_add_object(made->trace, with, &object) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < made->count; i++)
		change_section(made, &made->sections[i], object);
	for (size_t i = 0; i < made->trace->thread_count; i++)
		rewrite_without_nothing(&made->trace->threads[i]);
	return 0;
}

static int try_mutex(struct build_trace *trace, uint32_t mutex)
{
	struct made made = { .trace = trace, .mutex = mutex };
	int code = collect(&made);
	if (code > 0)
		code = made.waits >= WAITS_LEAST && alternate(&made) ? is_lock(&made) : 0;
	if (code > 0)
		code = change(&made);
	free(made.sections);
	return code;
}

/* Whether some condition of the mutex was waited for, and none of them has a meaning. */
static bool has_unknown(const struct meaning *meaning, const struct build_object *mutex)
{
	size_t count;
	const struct meaning_cond *conds = meaning_conds(meaning, &count);
	bool has_waits = false;
	for (size_t i = 0; i < count; i++) {
		if (conds[i].pid != mutex->pid || conds[i].mutex != mutex->address)
			continue;
		/* Progress is one for replays only. */
		if (conds[i].kind != MEANING_UNKNOWN && conds[i].kind != MEANING_UNUSED &&
			conds[i].kind != MEANING_PROGRESS)
			return false;
		has_waits |= conds[i].waits > 0;
	}
	return has_waits;
}

int build_made_locks_find(struct build_trace *trace, const struct meaning *meaning)
{
	size_t count = trace->object_count;
	int code = 0;
	for (uint32_t i = 0; i < count && code >= 0; i++)
		if (trace->objects[i].what == WHAT_MUTEX &&
			has_unknown(meaning, &trace->objects[i]))
			code = try_mutex(trace, i);
	return code < 0 ? code : 0;
}
