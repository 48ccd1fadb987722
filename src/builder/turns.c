/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANCHORS_MAX = 16, /* kinds of turns that are tried, the most frequent ones */
	TURNS_LEAST = 8,
	EXCEPTIONS = 20, /* one turn in so many may be without a milestone, or have it twice */
};

/* Of a symbol. */
struct tally {
	size_t turn, count; /* the last turn with it, plus 1, and how often it was there */
	size_t once; /* turns that had it once */
};

static bool can_begin_turn(const struct build_step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_GET:
		return !(step->flags & STEP_REFUSED);
	case STEP_PUT:
	case STEP_ARRIVE:
	case STEP_BEGIN:
		return true;
	default:
		return false;
	}
}

/* The most frequent symbols that can begin a turn; returns how many. */
static size_t find_anchors(
	const struct build_graph *graph, size_t *visits, uint32_t anchors[ANCHORS_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < graph->visit_count; i++)
		if (can_begin_turn(graph->visits[i].step))
			visits[graph->visits[i].symbol]++;
	for (; count < ANCHORS_MAX; count++) {
		size_t best = 0;
		for (size_t i = 1; i < graph->state_count; i++)
			best = visits[i] > visits[best] ? i : best;
		if (visits[best] < TURNS_LEAST)
			break;
		anchors[count] = (uint32_t)best;
		visits[best] = 0;
	}
	return count;
}

/* The thread's visits after its last anchor are no whole turn. */
static size_t last_anchor(
	const struct build_graph *graph, size_t from, uint32_t anchor, size_t *ret_end)
{
	size_t last = SIZE_MAX, i = from;
	for (; i < graph->visit_count && graph->visits[i].thread == graph->visits[from].thread; i++)
		if (graph->visits[i].symbol == anchor)
			last = i;
	*ret_end = i;
	return last;
}

static void count_visit(struct tally *tally, size_t turn)
{
	if (tally->turn != turn) {
		tally->turn = turn;
		tally->count = 0;
	}
	tally->count++;
	tally->once += tally->count == 1;
	tally->once -= tally->count == 2;
}

/* How many turns there are. */
static size_t play(const struct build_graph *graph, uint32_t anchor, struct tally *tallies)
{
	size_t turns = 0, end = 0;
	for (size_t from = 0; from < graph->visit_count; from = end) {
		size_t last = last_anchor(graph, from, anchor, &end);
		bool has_begun = false;
		for (size_t i = from; i < end && last != SIZE_MAX && i < last; i++) {
			uint32_t symbol = graph->visits[i].symbol;
			has_begun |= symbol == anchor;
			turns += symbol == anchor;
			if (has_begun)
				count_visit(&tallies[symbol], turns);
		}
	}
	return turns;
}

static bool is_milestone(const struct tally *tally, size_t turns)
{
	return (turns - tally->once) * EXCEPTIONS <= turns;
}

/* Which milestone was the last one when most turns began. Changes the tallies. */
static uint32_t find_last(const struct build_graph *graph, uint32_t anchor, const bool *milestones,
	struct tally *tallies)
{
	uint32_t best = anchor, last = anchor;
	memset(tallies, 0, graph->state_count * sizeof *tallies);
	for (size_t i = 0; i < graph->visit_count; i++) {
		const struct build_visit *visit = &graph->visits[i];
		bool is_new = i == 0 || visit->thread != visit[-1].thread;
		if (visit->symbol == anchor && !is_new &&
			++tallies[last].count > tallies[best].count)
			best = last;
		if (milestones[visit->symbol])
			last = visit->symbol;
	}
	return best;
}

void build_turns_release(struct build_turns *turns)
{
	free(turns->milestones);
	free(turns->are_inside);
	*turns = (struct build_turns){ 0 };
}

int build_turns_find(const struct build_graph *graph, struct build_turns *ret)
{
	uint32_t anchors[ANCHORS_MAX], best = 0;
	AUTO_FREE size_t *visits = calloc(graph->state_count + 1, sizeof *visits);
	AUTO_FREE struct tally *tallies = calloc(graph->state_count + 1, sizeof *tallies);
	ret->milestones = calloc(graph->state_count + 1, sizeof *ret->milestones);
	ret->are_inside = calloc(graph->state_count + 1, sizeof *ret->are_inside);
	if (!visits || !tallies || !ret->milestones || !ret->are_inside)
		return -ENOMEM;
	size_t anchor_count = find_anchors(graph, visits, anchors);
	for (size_t i = 0; i < anchor_count; i++) {
		memset(tallies, 0, graph->state_count * sizeof *tallies);
		size_t turns = play(graph, anchors[i], tallies), count = 0;
		for (size_t j = 0; j < graph->state_count && turns >= TURNS_LEAST; j++)
			count += is_milestone(&tallies[j], turns);
		if (count <= ret->count)
			continue;
		ret->count = count;
		best = anchors[i];
		for (size_t j = 0; j < graph->state_count; j++) {
			ret->milestones[j] = is_milestone(&tallies[j], turns);
			ret->are_inside[j] = tallies[j].turn > 0;
		}
	}
	ret->last = find_last(graph, best, ret->milestones, tallies);
	return 0;
}
