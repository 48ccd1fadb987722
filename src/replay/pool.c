/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that threads share out while they do it: a loop whose iterations they take from an atomic counter, OpenMP's dynamic
 * and guided loops. In the recording each thread has one stretch of work between two meetings. Of GCC's OpenMP the
 * recorder tells how many pieces each had. Else it is known to be shared out by this: the threads did different
 * amounts, and were done together all the same.
 *
 *	a ################|        a ################|
 *	b ######          |        b ######|         |      #: has a core
 *	c       #####     |        c ######|         |
 *	  shared out: all end       divided beforehand
 *
 * What was divided beforehand ends together by chance only, if some threads had just so much more of the cores as
 * they had more to do. So of all rounds at one place (a barrier, the end of an OpenMP region, the end of threads with one
 * start routine) in which threads did clearly different amounts, three quarters must have ended together. In the replay
 * the sum of a round's work is what is kept: its threads take of it until nothing is left.
 */
#include "replay/parts.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where threads share cores, some have to wait for the last time slices of others: each as long as Linux's. */
#define SLICE_NS UINT64_C(3000000)

enum {
	TOGETHER = 50, /* done within this part of the longest stretch */
	DIFFERENT = 10, /* amounts differ by more than this part of the mean */
	ASIDE = 20, /* of the mean: what a thread may do beside its stretch */
	PARTS = 64, /* of each thread's mean share: what it takes at a time, at least */
	PART_LEAST_NS = 1000,
};

struct pool_place {
	size_t different,
		together; /* rounds with different amounts; those of them that ended together */
};

static uint64_t work_of(const struct replay *replay, const struct pool_member *member)
{
	return replay->threads[member->thread].steps[member->step].work_ns;
}

/* What a thread did in the round before its one long stretch. */
static uint64_t work_before(const struct replay *replay, const struct pool_member *member)
{
	const struct step *steps = replay->threads[member->thread].steps;
	uint64_t ns = 0;
	for (size_t i = member->step; i-- > 0;) {
		switch ((enum step_kind)steps[i].kind) {
		case STEP_BARRIER:
		case STEP_DOCK:
		case STEP_SPAWN:
		case STEP_JOIN:
		case STEP_SEM_POST:
		case STEP_SEM_WAIT:
			return ns;
		default:
			ns += steps[i].work_ns;
			break;
		}
	}
	return ns;
}

/* Whether each thread did nearly all of its part of the round in one stretch: else the stretches are not what was done. */
static bool are_whole(const struct replay *replay, const struct pool_member *members, size_t count)
{
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < count; i++)
		sum_ns += work_of(replay, &members[i]);
	for (size_t i = 0; i < count; i++)
		if (work_before(replay, &members[i]) > sum_ns / count / ASIDE)
			return false;
	return true;
}

static void judge(const struct replay *replay, struct pool_place *place, const struct pool *pool)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0, sum_ns = 0, first_ns = UINT64_MAX, last_ns = 0;
	assert(pool->count > 1);
	for (size_t i = 0; i < pool->count; i++) {
		uint64_t work_ns = work_of(replay, &pool->members[i]);
		uint64_t end_ns = pool->members[i].end_ns;
		least_ns = work_ns < least_ns ? work_ns : least_ns;
		most_ns = work_ns > most_ns ? work_ns : most_ns;
		first_ns = end_ns < first_ns ? end_ns : first_ns;
		last_ns = end_ns > last_ns ? end_ns : last_ns;
		sum_ns += work_ns;
	}
	uint64_t count = pool->count, cores = replay->facts.cores;
	uint64_t apart_ns = most_ns / TOGETHER + (count > cores ? (count - cores) * SLICE_NS : 0);
	uint64_t differ_ns = most_ns - least_ns;
	if (differ_ns <= 2 * apart_ns || differ_ns <= sum_ns / count / DIFFERENT)
		return;
	place->different++;
	place->together += last_ns - first_ns <= apart_ns;
}

int pools_add_round(struct replay *replay, uint64_t a, uint64_t b,
	const struct pool_member *members, size_t count)
{
	if (count < 2 || replay->opts.stretch || count > UINT32_MAX ||
		!are_whole(replay, members, count))
		return 0;
	if (mem_grow(&replay->pools, &replay->pool_capacity, replay->pool_count + 1,
		    sizeof *replay->pools) < 0)
		return -ENOMEM;
	struct pool *pool = &replay->pools[replay->pool_count];
	*pool = (struct pool){ .a = a, .b = b, .count = (uint32_t)count };
	pool->members = calloc(count, sizeof *pool->members);
	if (!pool->members)
		return -ENOMEM;
	memcpy(pool->members, members, count * sizeof *members);
	pool->is_known = true;
	for (size_t i = 0; i < count; i++) {
		pool->is_known &= members[i].handed_out > 0;
		pool->pieces += members[i].handed_out - (members[i].handed_out > 0);
	}
	replay->pool_count++;
	return 0;
}

/* Threads with one start routine that one thread started: those that were there at the same time. */
struct mate {
	uint32_t parent, thread;
	uint64_t routine, began_ns, ended_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct mate *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->routine != y->routine)
		return x->routine < y->routine ? -1 : 1;
	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static bool are_mates(const struct mate *x, const struct mate *y)
{
	return x->parent == y->parent && x->routine == y->routine;
}

static int add_mates(struct replay *replay, const struct mate *mates, size_t count)
{
	AUTO_FREE struct pool_member *members = calloc(count + 1, sizeof *members);
	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		members[i] = (struct pool_member){ mates[i].thread,
			replay->threads[mates[i].thread].count - 1, mates[i].ended_ns };
	return pools_add_round(replay, (uint64_t)mates->parent << 32 | WHAT_THREAD, mates->routine,
		members, count);
}

static int add_ends(struct replay *replay)
{
	AUTO_FREE struct mate *mates = calloc(replay->thread_count + 1, sizeof *mates);
	size_t count = 0, end;
	if (!mates)
		return -ENOMEM;
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		bool is_of_process = thread->parent != REPLAY_NONE &&
				     replay->threads[thread->parent].pid == thread->pid;
		if (is_of_process && thread->count > 0 &&
			thread->steps[thread->count - 1].kind == STEP_EXIT)
			mates[count++] = (struct mate){ thread->parent, i, thread->routine,
				thread->began_ns, thread->ended_ns };
	}
	if (count > 0)
		qsort(mates, count, sizeof *mates, by_start);
	for (size_t i = 0; i < count; i = end) {
		uint64_t until_ns = mates[i].ended_ns;
		for (end = i + 1; end < count && are_mates(&mates[end], &mates[i]) &&
				  mates[end].began_ns < until_ns;
			end++)
			until_ns = mates[end].ended_ns > until_ns ? mates[end].ended_ns : until_ns;
		if (add_mates(replay, &mates[i], end - i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Its members' steps take from it. */
static int accept(struct replay *replay, size_t index)
{
	struct pool *pool = &replay->pools[index];
	assert(pool->count > 1);
	for (size_t i = 0; i < pool->count; i++) {
		const struct pool_member *member = &pool->members[i];
		struct step *step = &replay->threads[member->thread].steps[member->step];
		uint64_t *place;
		if (map_add(&replay->pooled, member->thread, member->step, index, &place) < 0)
			return -ENOMEM;
		step->is_pooled = true;
		pool->work_ns += step->work_ns;
	}
	uint64_t most = (uint64_t)pool->count * PARTS;
	bool is_coarse = pool->pieces > 0 && pool->pieces < most;
	pool->part_ns = pool->work_ns / (is_coarse ? pool->pieces : most);
	pool->part_ns = pool->part_ns > PART_LEAST_NS ? pool->part_ns : PART_LEAST_NS;
	replay->facts.shared_rounds += !pool->is_known;
	replay->deals_anew = true;
	return 0;
}

int pools_find(struct replay *replay)
{
	AUTO_RELEASE(map) struct map index = { 0 };
	int code = replay->opts.stretch || !replay->facts.has_cpu_times ? 0 : add_ends(replay);
	AUTO_FREE struct pool_place *places = calloc(replay->pool_count + 1, sizeof *places);
	if (code < 0 || !places)
		return -ENOMEM;
	for (size_t i = 0; i < replay->pool_count; i++) {
		const struct pool *pool = &replay->pools[i];
		uint64_t *place;
		if (map_add(&index, pool->a, pool->b, i, &place) < 0)
			return -ENOMEM;
		if (!pool->is_known)
			judge(replay, &places[*place], pool);
	}
	for (size_t i = 0; code == 0 && i < replay->pool_count; i++) {
		const struct pool *pool = &replay->pools[i];
		const struct pool_place *place = &places[*map_find(&index, pool->a, pool->b)];
		if (pool->is_known ||
			(place->different > 0 && 4 * place->together >= 3 * place->different))
			code = accept(replay, i);
	}
	return code;
}
