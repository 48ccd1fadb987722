/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that threads take from a common stock, by atomics that no recording shows (an OpenMP loop with a dynamic schedule), between two openings
 * of a barrier. What each of them took differs from round to round, and what all took together does not: were they independent, the variance of
 * the sum would be the sum of their variances. Of fewer rounds, and of threads that work until they exit, it is seen in that they came to the end
 * together, though one had done much more than another. In the model they take pieces, tickets of a queue that is full again when the barrier
 * opens, so that they come to its end together, however many there are, and whoever has a core.
 *
 *	--> take a piece --> piece --> take a piece
 *	      `------none left------> arrive
 */
#include "builder/emit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/*
 * A quarter of the variance: of so many rounds that comes by chance less than once in a hundred times. What differs by less than a
 * twentieth is a share as good as equal. How large pieces are nobody tells: so many for each thread end within a few percent of one another.
 */
enum { DEAL_ROUNDS = 16, PIECES_EACH = 16 };
static const double dealt_variance = 0.25, least_spread = 0.05, least_piece_ns = 1000;

enum { TEAM_MAX = 64 };

struct sums {
	double rounds, of_all, squares_of_all; /* of each round's sum */
	double cpu_ranges, end_ranges; /* between the least and the most of a round */
	double own_sum[TEAM_MAX], own_squares[TEAM_MAX]; /* of each thread */
};

static void add_round(struct sums *sums, const struct build_arrival *arrivals, size_t team)
{
	double all = 0, least = INFINITY, most = 0, first = INFINITY, last = 0;
	for (size_t i = 0; i < team; i++) {
		double cpu = (double)arrivals[i].step->cpu_ns;
		double end = (double)arrivals[i].step->begin_ns;
		least = fmin(least, cpu);
		most = fmax(most, cpu);
		first = fmin(first, end);
		last = fmax(last, end);
		sums->own_sum[i] += cpu;
		sums->own_squares[i] += cpu * cpu;
		all += cpu;
	}
	sums->of_all += all;
	sums->squares_of_all += all * all;
	sums->cpu_ranges += most - least;
	sums->end_ranges += last - first;
	sums->rounds++;
}

static double variance(double sum, double squares, double count)
{
	return (squares - sum * sum / count) / (count - 1);
}

static bool is_dealt(const struct sums *sums, size_t team)
{
	double own = 0, work = sums->of_all / (double)team;
	if (sums->rounds < 1)
		return false;
	if (sums->rounds < DEAL_ROUNDS)
		return sums->cpu_ranges > least_spread * work &&
		       sums->end_ranges < dealt_variance * sums->cpu_ranges;
	for (size_t i = 0; i < team; i++)
		own += variance(sums->own_sum[i], sums->own_squares[i], sums->rounds);
	double of_all = variance(sums->of_all, sums->squares_of_all, sums->rounds);
	double share = sums->of_all / sums->rounds / (double)team;
	return own / (double)team > least_spread * least_spread * share * share &&
	       of_all < dealt_variance * own;
}

/* The arrivals of one place; several threads, in the rounds in which all were there. */
static void judge_place(
	struct build *build, const struct build_arrivals *all, size_t from, size_t to)
{
	size_t team = arrivals_round_end(all, from) - from;
	struct sums sums = { 0 };
	if (team < 2 || team > TEAM_MAX || build->deals.count == BUILD_EACH)
		return;
	for (size_t i = from; i < to; i = arrivals_round_end(all, i))
		if (arrivals_round_end(all, i) - i == team)
			add_round(&sums, &all->items[i], team);
	if (!is_dealt(&sums, team))
		return;
	double round_ns = sums.of_all / sums.rounds, pieces = PIECES_EACH * (double)team;
	pieces = round_ns / pieces < least_piece_ns ? round_ns / least_piece_ns : pieces;
	if (pieces < (double)team)
		return;
	const struct build_arrival *first = &all->items[from];
	build->deals.items[build->deals.count++] =
		(struct build_deal){ .is_life = first->step->op == STEP_EXIT,
			.routine = build->trace.threads[first->thread].routine,
			.site = first->step->site,
			.object = first->step->object,
			.piece_ns = round_ns / pieces,
			.pieces = pieces };
	for (size_t i = from; i < to; i++)
		all->items[i].step->cpu_ns = 0;
}

void build_deals_find(struct build *build, const struct build_arrivals *all)
{
	for (size_t i = 0, to; i < all->count; i = to) {
		to = arrivals_place_end(all, i);
		judge_place(build, all, i, to);
	}
}

static const struct build_deal *deal_of(const struct emitter *e, const struct build_state *state)
{
	const struct build *build = e->build;
	uint64_t routine = build->trace.threads[e->group->threads[0]].routine;
	for (size_t i = 0; i < build->deals.count; i++) {
		const struct build_deal *deal = &build->deals.items[i];
		if (deal->is_life ? state->op == STEP_EXIT && deal->routine == routine
				  : state->op == STEP_ARRIVE && deal->site == state->site &&
					    deal->object == state->object)
			return deal;
	}
	return NULL;
}

static int deal_queue(struct emitter *e, const struct build_state *state,
	const struct build_deal *deal, uint32_t *ret)
{
	struct build *build = e->build;
	*ret = build_find_dealt(build, state, state->object);
	if (*ret != MODEL_NONE)
		return 0;
	int code = emit_ticket_queue(e, "work", ret);
	if (code < 0)
		return code;
	struct model_object *queue = &build->model->objects[*ret];
	if (!deal->is_life)
		queue->refilled_by = build->objects[state->object];
	queue->initial.value = deal->pieces;
	build_add_dealt(build, state, state->object, *ret);
	AUTO_FREE char *pieces = NULL;
	if (!e->pool)
		return 0;
	build->guessed_shares++;
	code = build_common_work(
		build, deal->pieces, emit_pool_size(e), (double)e->pool->size, &pieces);
	return code < 0 ? code : build_formula(build->model, &queue->initial, "%s", pieces);
}

static int add_deal(
	struct emitter *e, const struct build_state *state, const struct build_deal *deal)
{
	uint32_t arrive = e->fragments[state - e->graph->states], take = 0, piece = 0;
	uint32_t queue = MODEL_NONE;
	int code = deal_queue(e, state, deal, &queue);
	if (code == 0)
		code = emit_add_fragment(e, "take a piece", &take);
	if (code == 0)
		code = emit_add_fragment(e, "piece", &piece);
	if (code < 0)
		return code;
	emit_redirect(e, arrive, take);
	struct model_fragment *fragment = emit_fragment(e, take);
	fragment->op = MODEL_TRY_GET;
	fragment->object = queue;
	fragment->otherwise = arrive;
	fragment = emit_fragment(e, piece);
	fragment->op = MODEL_COMPUTE;
	fragment->cpu =
		(struct model_dist){ .kind = MODEL_FIXED, .a.value = deal->piece_ns * 1e-9 };
	code = emit_only_edge(e, take, piece);
	return code < 0 ? code : emit_only_edge(e, piece, take);
}

int emit_deals(struct emitter *e)
{
	int code = 0;
	for (size_t i = 0; i < e->graph->state_count && code == 0; i++) {
		const struct build_state *state = &e->graph->states[i];
		const struct build_deal *deal = state->visits > 0 ? deal_of(e, state) : NULL;
		if (deal)
			code = add_deal(e, state, deal);
	}
	return code;
}
