/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came when, in the place of draws: threads that meet at one barrier after the other, in an order that does not repeat itself (the
 * regions of an OpenMP program that does what its data want), have to decide alike. Decisions in the recorded order do.
 */
#include "builder/emit.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Outcomes of one thread, and whether each of the others has the same. */
struct sequence {
	uint32_t *items;
	size_t count, capacity;
};

static void sequence_release(struct sequence *sequence)
{
	free(sequence->items);
}

static int sequence_add(struct sequence *sequence, uint32_t item)
{
	if (mem_grow(&sequence->items, &sequence->capacity, sequence->count + 1,
		    sizeof *sequence->items) < 0)
		return -ENOMEM;
	sequence->items[sequence->count++] = item;
	return 0;
}

static bool meets(const struct emitter *e)
{
	for (size_t i = 0; i < e->graph->state_count; i++)
		if (e->graph->states[i].op == STEP_ARRIVE && e->graph->states[i].visits > 0)
			return true;
	return false;
}

/* In the place of draws, if it is not too long. */
static int set_order(
	const struct emitter *e, const struct sequence *sequence, struct model_fragment *fragment)
{
	if (sequence->count == 0 || sequence->count > MODEL_ORDER_MAX)
		return 0;
	fragment->order = model_alloc(e->model, sequence->count, sizeof *fragment->order);
	if (!fragment->order)
		return -ENOMEM;
	for (size_t i = 0; i < sequence->count; i++) {
		if (i == 0 || sequence->items[i] != sequence->items[i - 1])
			fragment->order[fragment->order_count++] =
				(struct model_turn){ .which = sequence->items[i] };
		fragment->order[fragment->order_count - 1].times++;
	}
	fragment->draws = (struct model_value){ 0 };
	fragment->last = MODEL_NONE;
	fragment->is_together = false;
	return 0;
}

static uint32_t find_edge(const struct model_fragment *fragment, uint32_t to)
{
	for (uint32_t i = 0; i < fragment->edge_count; i++)
		if (fragment->edges[i].to == to)
			return i;
	return MODEL_NONE;
}

/* The edges that the first thread took there. 1: and all others, too; 0: they did not; -ENOMEM. */
static int collect_ways(const struct emitter *e, const struct build_state *state,
	const struct model_fragment *fragment, struct sequence *ret)
{
	uint32_t thread = 0;
	size_t at = 0; /* of another thread's */
	for (size_t i = 0; i < state->visits; i++) {
		size_t visit = e->graph->order[state->first + i];
		const struct build_visit *here = &e->graph->visits[visit];
		if (is_refusal(here->step) || build_is_last_visit(e->graph, visit))
			continue;
		uint32_t edge = find_edge(fragment, e->fragments[here[1].state]);
		if (edge == MODEL_NONE)
			continue;
		bool is_next = here->thread != thread;
		if (is_next && thread > 0 && at < ret->count)
			return 0;
		at = is_next ? 0 : at;
		thread = here->thread;
		if (thread == 0 && sequence_add(ret, edge) < 0)
			return -ENOMEM;
		if (thread > 0 && (at >= ret->count || ret->items[at++] != edge))
			return 0;
	}
	return thread == 0 || at == ret->count;
}

int emit_order_of_ways(const struct emitter *e, const struct build_state *state, uint32_t index)
{
	AUTO_RELEASE(sequence) struct sequence first = { 0 };
	struct model_fragment *fragment = emit_fragment(e, index);
	if (e->build->opts.conds != BUILD_AS_RECORDED || fragment->edge_count < 2 || !meets(e))
		return 0;
	int code = collect_ways(e, state, fragment, &first);
	return code > 0 ? set_order(e, &first, fragment) : code;
}

static uint32_t find_entry(const struct model_count *count, uint64_t turns)
{
	for (uint32_t i = 0; i < count->entry_count; i++)
		if (count->entries[i].count == turns)
			return i;
	return MODEL_NONE;
}

/* The turns of each run of the first thread, then those that no end came after: all threads have the same. NULL: they do not, or without memory. */
static uint64_t *turns_in_order(const struct build_law *law, size_t threads, size_t *ret_count)
{
	size_t each = law->run_count / threads;
	if (law->run_count % threads != 0 || law->rest % threads != 0)
		return NULL;
	for (size_t i = each; i < law->run_count; i++)
		if (law->runs[i] != law->runs[i - each])
			return NULL;
	uint64_t *turns = calloc(each + 1, sizeof *turns);
	if (!turns)
		return NULL;
	memcpy(turns, law->runs, each * sizeof *turns);
	if (law->rest > 0)
		turns[each] = law->rest / threads;
	*ret_count = each + (law->rest > 0);
	return turns;
}

int emit_order_of_turns(
	const struct emitter *e, const struct build_law *law, struct model_fragment *fragment)
{
	AUTO_RELEASE(sequence) struct sequence sequence = { 0 };
	struct model_count count;
	size_t runs = 0;
	if (e->build->opts.conds != BUILD_AS_RECORDED || !meets(e))
		return 0;
	AUTO_FREE uint64_t *turns = turns_in_order(law, e->group->count, &runs);
	int code = turns ? build_counts(e->model, turns, runs, &count) : 0;
	if (!turns || code < 0 || count.entry_count == 0)
		return code;
	for (size_t i = 0; i < runs && code == 0; i++) {
		uint32_t entry = find_entry(&count, turns[i]);
		if (entry == MODEL_NONE) /* too many, of which it has means */
			return 0;
		code = sequence_add(&sequence, entry);
	}
	if (code < 0 || sequence.count > MODEL_ORDER_MAX)
		return code;
	fragment->count = count;
	return set_order(e, &sequence, fragment);
}
