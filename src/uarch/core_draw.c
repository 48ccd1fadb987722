/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which accesses miss and which branches are mispredicted, once for all processors. Each access and branch gets a
 * number in [0, 1) and misses when it is below the probability. Numbers are dealt out in strata, so that the misses
 * of an instruction are as many as expected, give or take one. Branches are ranked by how little their own past
 * in the traces says about them, so that mispredictions fall on those that are hard to predict on any processor.
 * Indirect jumps likewise, by what foretells them along the traces (core_jumps.h).
 */
#include "base/mem.h"
#include "base/rng.h"
#include "uarch/core_parts.h"
#include "uarch/core_regions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PAST_BITS = 6, PAST_PATTERNS = 1 << PAST_BITS, COUNTER_MAX = 3 };

/* Numbers for n cases: (a permutation of 0 .. n - 1, shifted by one uniform number) / n. */
static void deal(float *numbers, uint32_t count, struct rng *rng)
{
	double shift = rng_uniform(rng);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = (uint32_t)rng_below(rng, i + 1);
		numbers[i] = numbers[j];
		numbers[j] = (float)((i + shift) / count);
	}
}

/* First touches that come with another's line, by slot: they have its draw. */
static void count_near(
	const struct core_program *program, const struct core_class *class, uint32_t *ret)
{
	for (size_t i = class->access; i < class->access + class->access_count; i++)
		ret[program->accesses[i].slot] += program->accesses[i].near_back > 0;
}

/* Whether they miss, or, of pages, whether they are translated anew. */
static int draw_accesses(struct core_program *program, const struct core_class *class,
	bool of_pages, struct rng *rng)
{
	if (class->slot_count == 0)
		return 0;
	AUTO_FREE uint32_t *next = calloc(2 * class->slot_count + 1, sizeof(*next));
	size_t total = 0;
	const struct core_slot *slots = program->slots + class->slot;
	for (size_t i = 0; i < class->slot_count; i++)
		total += slots[i].accesses;
	AUTO_FREE float *numbers = calloc(total + 1, sizeof(*numbers));
	AUTO_FREE uint32_t *near = calloc(class->slot_count, sizeof(*near));
	if (!next || !numbers || !near)
		return -ENOMEM;
	if (!of_pages)
		count_near(program, class, near);
	uint32_t at = 0;
	for (size_t i = 0; i < class->slot_count; i++) {
		uint32_t firsts = of_pages ? slots[i].page_firsts : slots[i].firsts - near[i];
		next[2 * i] = at;
		deal(numbers + at, firsts, rng);
		next[2 * i + 1] = at + firsts;
		deal(numbers + at + firsts, slots[i].accesses - near[i] - firsts, rng);
		at += slots[i].accesses;
	}
	for (size_t i = class->access; i < class->access + class->access_count; i++) {
		struct core_access *access = &program->accesses[i];
		if (!of_pages && access->near_back > 0) {
			access->draw = access[-(ptrdiff_t)access->near_back].draw;
			continue;
		}
		bool is_first = of_pages ? access->is_first_page : access->is_first;
		float draw = numbers[next[2 * access->slot + !is_first]++];
		*(of_pages ? &access->page_draw : &access->draw) = draw;
	}
	return 0;
}

/* A static branch in the class's traces. */
struct branch {
	uint32_t executions, taken, surprises;
	uint8_t past;
	uint8_t counters[PAST_PATTERNS];
};

struct branch_list {
	struct map by_code;
	struct branch *branches;
	size_t count, capacity;
};

static void branch_list_release(struct branch_list *list)
{
	map_release(&list->by_code);
	free(list->branches);
}

/* Calls `see` for each execution of a branch, in order; weight: instructions that one of the trace stands for. */
typedef void (*branch_fn)(struct branch *branch, struct core_uop *uop, double weight, void *data);

static void for_branches(struct core_program *program, const struct core_class *class,
	struct branch_list *list, branch_fn see, void *data)
{
	for (size_t t = class->trace; t < class->trace + class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[t];
		double weight = trace->instructions ? trace->weight / trace->instructions : 0;
		for (uint32_t u = trace->uop; u < trace->uop + trace->uop_count; u++) {
			struct core_uop *uop = &program->uops[u];
			if (!(uop->flags & CORE_PREDICTED))
				continue;
			const uint64_t *index = map_find(&list->by_code, uop->access, 0);
			if (index)
				see(&list->branches[*index], uop, weight, data);
		}
	}
}

static void count_outcome(struct branch *branch, struct core_uop *uop, double weight, void *data)
{
	(void)weight;
	(void)data;
	branch->executions++;
	branch->taken += uop->unit == CODE_JUMP;
}

/* Two-bit counters by the branch's own last outcomes, which begin with what it does most. */
static void predict_outcome(struct branch *branch, struct core_uop *uop, double weight, void *data)
{
	(void)weight;
	(void)data;
	bool is_taken = uop->unit == CODE_JUMP; /* so it is decoded */
	uint8_t *counter = &branch->counters[branch->past];
	bool predicted = *counter > COUNTER_MAX / 2;
	uop->draw = predicted != is_taken; /* until the draws are dealt */
	branch->surprises += predicted != is_taken;
	if (is_taken && *counter < COUNTER_MAX)
		++*counter;
	if (!is_taken && *counter > 0)
		--*counter;
	branch->past = (uint8_t)(branch->past << 1 | is_taken) & (PAST_PATTERNS - 1);
}

struct rank {
	double key, weight;
	struct core_uop *uop;
};

struct ranks {
	struct rank *list;
	size_t count;
	double weight; /* of all */
	struct rng *rng;
};

/* What surprised comes first: a loop's end is what a predictor misses, not one of its rounds. */
static void rank_branch(struct branch *branch, struct core_uop *uop, double weight, void *data)
{
	struct ranks *ranks = data;
	double surprise = (branch->surprises + 0.5) / (branch->executions + 1.0); /* Laplace */
	double key = rng_uniform(ranks->rng) / surprise;
	key = uop->draw > 0 ? key / (1 + key) : 1 + key;
	ranks->list[ranks->count++] = (struct rank){ key, weight, uop };
	ranks->weight += weight;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->uop > y->uop) - (x->uop < y->uop);
}

/* In the order of their keys, so that of a share of all executions as many are below it, whatever traces stand for. */
static void deal_ranks(struct ranks *ranks)
{
	if (ranks->count > 0)
		qsort(ranks->list, ranks->count, sizeof(*ranks->list), compare_ranks);
	double before = 0, all = ranks->weight > 0 ? ranks->weight : 1,
	       shift = rng_uniform(ranks->rng);
	for (size_t i = 0; i < ranks->count; i++) {
		struct rank *rank = &ranks->list[i];
		rank->uop->draw = (float)((before + shift * rank->weight) / all);
		before += rank->weight;
	}
}

static int list_branches(const struct core_program *program, const struct core_class *class,
	struct branch_list *list, size_t *ret_executions)
{
	for (size_t t = class->trace; t < class->trace + class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[t];
		for (uint32_t u = trace->uop; u < trace->uop + trace->uop_count; u++) {
			const struct core_uop *uop = &program->uops[u];
			if (!(uop->flags & CORE_PREDICTED))
				continue;
			uint64_t *index = NULL;
			++*ret_executions;
			int rc = map_add(&list->by_code, uop->access, 0, list->count, &index);
			if (rc == 1)
				rc = mem_grow(&list->branches, &list->capacity, ++list->count,
					sizeof(*list->branches));
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int draw_branches(
	struct core_program *program, const struct core_class *class, struct rng *rng)
{
	AUTO_RELEASE(branch_list) struct branch_list list = { 0 };
	size_t executions = 0;
	int rc = list_branches(program, class, &list, &executions);
	if (rc != 0 || executions == 0)
		return rc;
	AUTO_FREE struct rank *ranked = calloc(executions, sizeof(*ranked));
	if (!ranked)
		return -ENOMEM;
	for_branches(program, class, &list, count_outcome, NULL);
	for (size_t i = 0; i < list.count; i++) {
		struct branch *branch = &list.branches[i];
		bool is_mostly_taken = 2 * branch->taken >= branch->executions;
		for (unsigned p = 0; p < PAST_PATTERNS; p++)
			branch->counters[p] = COUNTER_MAX / 2 + is_mostly_taken;
		branch->past = is_mostly_taken ? PAST_PATTERNS - 1 : 0;
	}
	for_branches(program, class, &list, predict_outcome, NULL);
	struct ranks ranks = { .list = ranked, .rng = rng };
	for_branches(program, class, &list, rank_branch, &ranks);
	deal_ranks(&ranks);
	return 0;
}

/* First those that nobody foretells along the traces, then those that only the path does, then the others. */
static int draw_jumps(struct core_program *program, struct core_class *class, struct rng *rng)
{
	AUTO_FREE struct rank *ranked = NULL;
	size_t capacity = 0;
	struct ranks ranks = { .rng = rng };
	double weights[CORE_BY_LAST + 1] = { 0 };
	for (size_t t = class->trace; t < class->trace + class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[t];
		double weight = trace->instructions ? trace->weight / trace->instructions : 0;
		for (uint32_t u = trace->uop; u < trace->uop + trace->uop_count; u++) {
			struct core_uop *uop = &program->uops[u];
			if (!(uop->flags & CORE_INDIRECT))
				continue;
			if (mem_grow(&ranked, &capacity, ranks.count + 1, sizeof(*ranked)) < 0)
				return -ENOMEM;
			weights[(int)uop->draw] += weight;
			ranked[ranks.count++] =
				(struct rank){ (double)uop->draw + rng_uniform(rng), weight, uop };
			ranks.weight += weight;
		}
	}
	if (ranks.weight <= 0)
		return 0;
	class->jumps_played = ranks.count;
	class->jumps_unforeseen[0] = weights[CORE_BY_NONE] / ranks.weight;
	class->jumps_unforeseen[1] = (weights[CORE_BY_NONE] + weights[CORE_BY_PATH]) / ranks.weight;
	ranks.list = ranked;
	deal_ranks(&ranks);
	return 0;
}

/* What its instruction mostly does, it did before the trace began, too. */
static bool is_expected(const struct core_access *access, const struct core_slot *slot)
{
	uint32_t on = slot->lines_up > slot->lines_down ? slot->lines_up : slot->lines_down;
	return access->is_line_on || (access->is_line_cut && 2 * on > slot->line_changes);
}

static void join_streams(struct core_program *program, const struct core_class *class)
{
	for (size_t i = class->access; i < class->access + class->access_count; i++) {
		struct core_access *access = &program->accesses[i];
		access->is_stream |=
			is_expected(access, &program->slots[class->slot + access->slot]);
	}
}

int core_draw(struct core_program *program, struct core_class *class, struct rng *rng)
{
	/* Numbers of their own: translations and misses have nothing to do with one another. */
	struct rng after = *rng, pages;
	join_streams(program, class);
	rng_init(&pages, ~rng_next(&after));
	int rc = core_regions_join(program, class);
	if (rc == 0)
		rc = draw_accesses(program, class, false, rng);
	if (rc == 0)
		rc = draw_accesses(program, class, true, &pages);
	if (rc == 0)
		rc = draw_branches(program, class, rng);
	return rc == 0 ? draw_jumps(program, class, rng) : rc;
}
