/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/group.h"

#include "base/map.h"
#include "base/mem.h"
#include "builder/class.h"
#include "builder/outlier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operation at a call site, and on what; a thread's uses are sorted and without repeats. */
struct use {
	uint64_t site;
	uint32_t op, object;
};

struct uses {
	struct use *items;
	size_t count;
};

void build_groups_release(struct build_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->items[i].name);
		free(groups->items[i].threads);
	}
	free(groups->items);
	free(groups->of_thread);
	*groups = (struct build_groups){ 0 };
}

static int compare_uses(const void *left, const void *right)
{
	const struct use *a = left, *b = right;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

static bool is_about_objects(const struct build_step *step)
{
	return step->object != BUILD_NONE && step->op != STEP_SPAWN && step->op != STEP_JOIN &&
	       step->op != STEP_SLEEP && step->op != STEP_IO && step->op != STEP_EXIT;
}

enum { OWN_LOCK = BUILD_NONE - 1, OWN_QUEUE = BUILD_NONE - 2 };

static bool is_own_lock(const struct build_trace *trace, const struct build_step *step)
{
	return (step->op == STEP_LOCK || step->op == STEP_READ_LOCK || step->op == STEP_UNLOCK) &&
	       step->object != BUILD_NONE && trace->objects[step->object].user > 0 &&
	       !trace->objects[step->object].is_shared;
}

/*
 * Of each lock, each queue and each start routine: which thread with that routine uses it (index plus 1; 0: several), and a sum
 * over the places where it does so.
 */
struct takers {
	struct map threads, places;
	struct map seen; /* object and place: in the sum */
	uint64_t *sums; /* of all places, by object */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t z = (a ^ b * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
	return z ^ z >> 29;
}

static int add_taker(struct takers *takers, const struct build_trace *trace, uint32_t index,
	const struct build_step *step)
{
	uint64_t routine = trace->threads[index].routine, place = mix(step->site, routine);
	uint64_t *taker, *sum, *seen;
	int code = map_add(&takers->threads, step->object, routine, index + 1, &taker);
	if (code == 0 && *taker != index + 1)
		*taker = 0;
	if (code >= 0)
		code = map_add(&takers->seen, step->object, place, 1, &seen);
	if (code <= 0)
		return code;
	takers->sums[step->object] += place;
	code = map_add(&takers->places, step->object, routine, 0, &sum);
	if (code >= 0)
		*sum += place;
	return code < 0 ? code : 0;
}

/* Whether it is about a queue's items. */
static bool is_flow(const struct build_step *step)
{
	return step->op == STEP_GET || step->op == STEP_PUT || step->op == STEP_CLOSE;
}

static int find_takers(const struct build_trace *trace, struct takers *ret)
{
	int code = 0;
	ret->sums = calloc(trace->object_count + 1, sizeof *ret->sums);
	if (!ret->sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count && code >= 0; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op == STEP_LOCK || step->op == STEP_READ_LOCK || is_flow(step))
				code = add_taker(ret, trace, i, step);
		}
	return code < 0 ? code : 0;
}

static void takers_release(struct takers *takers)
{
	map_release(&takers->threads);
	map_release(&takers->places);
	map_release(&takers->seen);
	free(takers->sums);
}

/*
 * The object of a use. Locks and queues that no other thread of its kind uses, and that threads of other kinds use at the
 * same places, if they do, are the same: that of a thread's own queue, which others fill.
 */
static uint32_t object_of_use(const struct takers *takers, const struct build_trace *trace,
	uint32_t index, const struct build_step *step)
{
	uint64_t routine = trace->threads[index].routine;
	bool is_used = step->op == STEP_LOCK || step->op == STEP_READ_LOCK ||
		       step->op == STEP_UNLOCK || is_flow(step);
	const uint64_t *taker = is_used ? map_find(&takers->threads, step->object, routine) : NULL;
	const uint64_t *places = taker ? map_find(&takers->places, step->object, routine) : NULL;
	if (is_own_lock(trace, step))
		return OWN_LOCK;
	if (!places || *taker != index + 1 || trace->threads[index].parent == BUILD_NONE)
		return step->object;
	if (is_flow(step)) /* where others fill it is chance, if what they put are signals (told.h) */
		return OWN_QUEUE;
	return (uint32_t)OWN_LOCK ^ (uint32_t)(mix(takers->sums[step->object] - *places, 0) >> 33);
}

static int find_uses(const struct build_trace *trace, const struct takers *takers, uint32_t index,
	struct uses *ret)
{
	const struct build_thread *thread = &trace->threads[index];
	ret->items = calloc(thread->step_count + 1, sizeof *ret->items);
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (is_about_objects(step))
			ret->items[ret->count++] = (struct use){ step->site, step->op,
				object_of_use(takers, trace, index, step) };
	}
	qsort(ret->items, ret->count, sizeof *ret->items, compare_uses);
	size_t kept = 0;
	for (size_t i = 0; i < ret->count; i++)
		if (kept == 0 || compare_uses(&ret->items[kept - 1], &ret->items[i]) != 0)
			ret->items[kept++] = ret->items[i];
	ret->count = kept;
	return 0;
}

static bool is_same_place(const struct use *a, const struct use *b)
{
	return a->site == b->site && a->op == b->op;
}

/* The end of the uses at one place. */
static size_t place_end(const struct uses *uses, size_t from)
{
	size_t to = from;
	while (to < uses->count && is_same_place(&uses->items[from], &uses->items[to]))
		to++;
	return to;
}

static bool has_common(const struct use *a, size_t a_count, const struct use *b, size_t b_count)
{
	for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
		if (a[i].object == b[j].object)
			return true;
		if (a[i].object < b[j].object)
			i++;
		else
			j++;
	}
	return false;
}

/* Whether there is a place at which a thread uses some of both lists: to it they are things of one kind. */
static bool uses_both(const struct uses *uses, const struct use *a, size_t a_count,
	const struct use *b, size_t b_count)
{
	for (size_t from = 0, to = 0; from < uses->count; from = to) {
		const struct use *here = &uses->items[from];
		to = place_end(uses, from);
		if (has_common(here, to - from, a, a_count) &&
			has_common(here, to - from, b, b_count))
			return true;
	}
	return false;
}

/* Places where some thread uses more than CLASS_LEAST different objects: another thread may use others of them. */
static int find_crowded(const struct uses *uses, size_t count, struct map *ret)
{
	for (size_t i = 0; i < count; i++)
		for (size_t from = 0, to = 0; from < uses[i].count; from = to) {
			const struct use *use = &uses[i].items[from];
			uint64_t *slot;
			to = place_end(&uses[i], from);
			if (to - from > CLASS_LEAST && map_add(ret, use->site, 0, 1, &slot) < 0)
				return -ENOMEM;
		}
	return 0;
}

/*
 * How many places are common, plus 1. 0: not half of those of the thread that has less, or one uses objects of its own at
 * a place that both use, which neither uses at another place beside the other's (to steal from it, say).
 */
static size_t likeness(const struct map *crowded, const struct uses *a, const struct uses *b)
{
	size_t i = 0, j = 0, common = 0, of_a = 0, of_b = 0;
	while (i < a->count || j < b->count) {
		size_t i_end = i < a->count ? place_end(a, i) : i;
		size_t j_end = j < b->count ? place_end(b, j) : j;
		struct use left =
			i < a->count ? a->items[i] : (struct use){ UINT64_MAX, UINT32_MAX, 0 };
		struct use right =
			j < b->count ? b->items[j] : (struct use){ UINT64_MAX, UINT32_MAX, 0 };
		left.object = right.object = 0;
		int order = compare_uses(&left, &right);
		if (order == 0) {
			const struct use *of_a_here = &a->items[i], *of_b_here = &b->items[j];
			size_t a_count = i_end - i, b_count = j_end - j;
			if (!map_find(crowded, left.site, 0) &&
				!has_common(of_a_here, a_count, of_b_here, b_count) &&
				!uses_both(a, of_a_here, a_count, of_b_here, b_count) &&
				!uses_both(b, of_a_here, a_count, of_b_here, b_count))
				return 0;
			common++;
		}
		of_a += order <= 0;
		of_b += order >= 0;
		i = order <= 0 ? i_end : i;
		j = order >= 0 ? j_end : j;
	}
	size_t least = of_a < of_b ? of_a : of_b;
	return common * 2 >= least ? common + 1 : 0;
}

/* A name without the number at its end, and without what stands before that. */
static size_t stem_length(const char *name)
{
	size_t length = strlen(name), end = length;
	while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	if (end == length)
		return length;
	while (end > 0 && strchr("-_#/:. ", name[end - 1]))
		end--;
	return end;
}

static bool have_same_stem(const char *a, const char *b)
{
	if (!a || !b)
		return !a && !b;
	size_t length = stem_length(a);
	return length == stem_length(b) && strncmp(a, b, length) == 0;
}

int build_groups_add(struct build_groups *groups, size_t index, uint32_t thread)
{
	if (mem_grow(&groups->items, &groups->capacity, index + 1, sizeof *groups->items) < 0)
		return -ENOMEM;
	struct build_group *group = &groups->items[index];
	if (mem_grow(&group->threads, &group->capacity, group->count + 1, sizeof *group->threads) <
		0)
		return -ENOMEM;
	groups->count += index == groups->count;
	group->threads[group->count++] = thread;
	groups->of_thread[thread] = (uint32_t)index;
	return 0;
}

/* 0: not at all. */
static size_t belongs(const struct build_trace *trace, const struct map *crowded,
	const struct uses *uses, const struct build_group *group, uint32_t index)
{
	uint32_t first = group->threads[0];
	const struct build_thread *a = &trace->threads[first], *b = &trace->threads[index];
	bool is_same_kind = a->pid == b->pid && a->parent != BUILD_NONE &&
			    b->parent != BUILD_NONE && a->routine == b->routine &&
			    have_same_stem(a->name, b->name);
	return is_same_kind ? likeness(crowded, &uses[first], &uses[index]) : 0;
}

/* The group to which a thread belongs most; a new one if to none. */
static size_t find_group(const struct build_trace *trace, const struct map *crowded,
	const struct uses *uses, const struct build_groups *groups, uint32_t index)
{
	size_t best = groups->count, most = 0;
	for (size_t i = 0; i < groups->count; i++) {
		size_t how_much = belongs(trace, crowded, uses, &groups->items[i], index);
		if (how_much > most) {
			most = how_much;
			best = i;
		}
	}
	return best;
}

struct rank {
	size_t uses;
	uint32_t thread;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;
	if (a->uses != b->uses)
		return a->uses > b->uses ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int compare_threads(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return a < b ? -1 : a > b;
}

static int compare_groups(const void *left, const void *right)
{
	const struct build_group *a = left, *b = right;
	return compare_threads(a->threads, b->threads);
}

/* Those that do most come first: who had hardly anything to do is told by the others of its kind. */
static int assign(const struct build_trace *trace, const struct map *crowded,
	const struct uses *uses, struct build_groups *groups)
{
	AUTO_FREE struct rank *ranks = calloc(trace->thread_count + 1, sizeof *ranks);
	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->thread_count; i++)
		ranks[i] = (struct rank){ uses[i].count, i };
	qsort(ranks, trace->thread_count, sizeof *ranks, compare_ranks);
	for (size_t i = 0; i < trace->thread_count; i++) {
		uint32_t thread = ranks[i].thread;
		size_t group = find_group(trace, crowded, uses, groups, thread);
		if (build_groups_add(groups, group, thread) < 0)
			return -ENOMEM;
		groups->items[group].first_count += trace->threads[thread].parent == BUILD_NONE &&
						    !trace->threads[thread].is_started;
	}
	for (size_t i = 0; i < groups->count; i++)
		qsort(groups->items[i].threads, groups->items[i].count,
			sizeof *groups->items[i].threads, compare_threads);
	if (groups->count > 1)
		qsort(groups->items, groups->count, sizeof *groups->items, compare_groups);
	for (size_t i = 0; i < groups->count; i++)
		for (size_t j = 0; j < groups->items[i].count; j++)
			groups->of_thread[groups->items[i].threads[j]] = (uint32_t)i;
	return 0;
}

static bool is_name_taken(const struct build_groups *groups, size_t before, const char *name)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(groups->items[i].name, name) == 0)
			return true;
	return false;
}

/* How many groups are called so already, numbered or not: where there are thousands, the first free number is not searched from 1. */
static unsigned count_named(
	const struct build_groups *groups, size_t before, const char *name, size_t length)
{
	unsigned count = 0;
	for (size_t i = 0; i < before; i++) {
		const char *taken = groups->items[i].name;
		if (strncmp(taken, name, length) != 0)
			continue;
		taken += length;
		count += *taken == '\0' ||
			 (*taken == '_' && taken[1 + strspn(taken + 1, "0123456789")] == '\0');
	}
	return count;
}

/* "main"; the thread's name if it is alone, else what the names have in common; numbered if taken. */
static int name_group(const struct build_trace *trace, struct build_groups *groups, size_t index)
{
	struct build_group *group = &groups->items[index];
	const struct build_thread *first = &trace->threads[group->threads[0]];
	bool is_main = first->parent == BUILD_NONE && first->pid == first->tid;
	const char *name = first->name && *first->name ? first->name : "thread";
	size_t length = group->count > 1 ? stem_length(name) : strlen(name);
	if (is_main || (index == 0 && first->parent == BUILD_NONE)) {
		name = "main";
		length = strlen(name);
	}
	for (unsigned number = 1 + count_named(groups, index, name, length); number < UINT32_MAX;
		number++) {
		AUTO_FREE char *text = NULL;
		int code = number == 1 ? asprintf(&text, "%.*s", (int)length, name)
				       : asprintf(&text, "%.*s_%u", (int)length, name, number);
		if (code < 0)
			return -ENOMEM;
		if (is_name_taken(groups, index, text))
			continue;
		group->name = TAKE(text);
		return 0;
	}
	return -ENOMEM;
}

static void drop_own_locks(const struct build_trace *trace, struct build_thread *thread)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		if (is_own_lock(trace, &step))
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

/*
 * Whether one thread started all threads of a group at one place, and all were there at the same time: a pool, which in the
 * model is started at once, also if this one started a thread whenever there was work for it.
 */
static bool is_pool(const struct build_trace *trace, const struct build_group *group)
{
	const struct build_thread *first = &trace->threads[group->threads[0]];
	uint64_t last_start_ns = 0, first_end_ns = UINT64_MAX;
	for (size_t i = 0; i < group->count; i++) {
		const struct build_thread *thread = &trace->threads[group->threads[i]];
		if (thread->parent == BUILD_NONE || thread->parent != first->parent ||
			thread->spawn_site != first->spawn_site)
			return false;
		last_start_ns = thread->start_ns > last_start_ns ? thread->start_ns : last_start_ns;
		first_end_ns = thread->end_ns < first_end_ns ? thread->end_ns : first_end_ns;
	}
	return last_start_ns < first_end_ns;
}

/* Among the threads that were started last, one after the other, those of the same group. */
static struct build_step *find_spawn(
	struct build_thread *thread, size_t count, const struct build_step *step, bool is_of_pool)
{
	for (size_t i = count; i-- > 0 && (is_of_pool || thread->steps[i].op == STEP_SPAWN);)
		if (thread->steps[i].op == STEP_SPAWN && thread->steps[i].object == step->object &&
			thread->steps[i].site == step->site)
			return &thread->steps[i];
	return NULL;
}

/* Threads that are started one after the other become one step, and so does waiting for them. */
static void merge_steps(
	struct build_thread *thread, const struct build_groups *groups, const bool *are_pools)
{
	struct build_rewrite rewrite = { .thread = thread };
	AUTO_FREE bool *is_joined = calloc(groups->count, sizeof *is_joined);
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		struct build_step *last;
		bool is_family = step.op == STEP_SPAWN || step.op == STEP_JOIN;
		if (is_family && step.object != BUILD_NONE)
			step.object = groups->of_thread[step.object];
		if (step.op == STEP_SPAWN && is_joined)
			is_joined[step.object] = false;
		bool is_of_pool = step.op == STEP_SPAWN && are_pools[step.object];
		last = step.op == STEP_SPAWN && (is_of_pool || rewrite.cpu_ns == 0)
			       ? find_spawn(thread, rewrite.kept, &step, is_of_pool)
			       : NULL;
		if (last) {
			last->count++;
			if (last == &thread->steps[rewrite.kept - 1])
				last->cpu_ns += step.cpu_ns;
			else
				rewrite_leave_out(&rewrite, step);
			continue;
		}
		bool is_again =
			step.op == STEP_JOIN &&
			(step.object == BUILD_NONE || (is_joined && is_joined[step.object]));
		if (is_again) {
			rewrite_leave_out(&rewrite, step);
			continue;
		}
		if (step.op == STEP_JOIN && is_joined)
			is_joined[step.object] = true;
		rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

/*
 * All threads of a group are joined by one step. Who joins one of them while it holds a lock knows that this one does not need the
 * lock; others may: the step comes when no lock is held.
 */
static void postpone_joins(struct build_thread *thread)
{
	size_t held = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		uint8_t op = thread->steps[i].op;
		held += op == STEP_LOCK || op == STEP_READ_LOCK;
		held -= op == STEP_UNLOCK && held > 0;
		if (op != STEP_JOIN || held == 0 || i + 1 == thread->step_count)
			continue;
		struct build_step join = thread->steps[i];
		thread->steps[i] = thread->steps[i + 1];
		thread->steps[i + 1] = join;
		held += thread->steps[i].op == STEP_LOCK || thread->steps[i].op == STEP_READ_LOCK;
		held -= thread->steps[i].op == STEP_UNLOCK && held > 0;
	}
}

/* A join of threads that had exited leaves no trace; who ends the program did join them. */
static int add_missing_joins(const struct build_trace *trace, struct build_thread *thread,
	const struct build_groups *groups)
{
	bool is_last = thread->parent == BUILD_NONE && thread->step_count > 0 &&
		       thread->steps[thread->step_count - 1].op == STEP_EXIT;
	for (uint32_t group = 0; group < groups->count && is_last; group++) {
		struct build_step join = thread->steps[thread->step_count - 1];
		bool is_spawned = false;
		for (size_t i = 0; i < thread->step_count; i++) {
			const struct build_step *step = &thread->steps[i];
			is_spawned |= step->op == STEP_SPAWN && step->object == group;
			is_spawned &= !(step->op == STEP_JOIN && step->object == group);
		}
		for (size_t i = 0; i < groups->items[group].count; i++) {
			const struct build_thread *child =
				&trace->threads[groups->items[group].threads[i]];
			is_spawned &= child->has_exited && !child->is_cut &&
				      child->end_ns <= thread->end_ns;
		}
		if (!is_spawned)
			continue;
		if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
			    sizeof *thread->steps) < 0)
			return -ENOMEM;
		join.op = STEP_JOIN;
		join.object = group;
		join.cpu_ns = 0;
		thread->steps[thread->step_count] = thread->steps[thread->step_count - 1];
		thread->steps[thread->step_count++ - 1] = join;
	}
	return 0;
}

int build_groups_find(struct build_trace *trace, struct build_groups *ret)
{
	struct takers takers = { 0 };
	AUTO_RELEASE(map) struct map crowded = { 0 };
	int code = find_takers(trace, &takers);
	ret->of_thread = calloc(trace->thread_count + 1, sizeof *ret->of_thread);
	struct uses *uses = calloc(trace->thread_count + 1, sizeof *uses);
	AUTO_FREE bool *are_pools = calloc(trace->thread_count + 1, sizeof *are_pools);
	if (!ret->of_thread || !uses || !are_pools)
		code = -ENOMEM;
	for (uint32_t i = 0; code == 0 && i < trace->thread_count; i++)
		code = find_uses(trace, &takers, i, &uses[i]);
	takers_release(&takers);
	if (code == 0)
		code = find_crowded(uses, trace->thread_count, &crowded);
	if (code == 0)
		code = assign(trace, &crowded, uses, ret);
	if (code == 0)
		code = build_groups_part(trace, ret);
	for (size_t i = 0; code == 0 && i < ret->count; i++)
		code = name_group(trace, ret, i);
	for (size_t i = 0; code == 0 && i < trace->thread_count; i++)
		if (ret->items[ret->of_thread[i]].count > 1)
			drop_own_locks(trace, &trace->threads[i]);
	for (size_t i = 0; code == 0 && i < ret->count; i++)
		are_pools[i] = is_pool(trace, &ret->items[i]);
	for (size_t i = 0; code == 0 && i < trace->thread_count; i++) {
		merge_steps(&trace->threads[i], ret, are_pools);
		postpone_joins(&trace->threads[i]);
	}
	for (size_t i = 0; code == 0 && i < trace->thread_count; i++)
		code = add_missing_joins(trace, &trace->threads[i], ret);
	for (size_t i = 0; uses && i < trace->thread_count; i++)
		free(uses[i].items);
	free(uses);
	return code;
}
