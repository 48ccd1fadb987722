/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that threads take from a common stock, by atomics that no recording shows (an OpenMP loop with a dynamic schedule), between two openings
 * of a barrier. What each of them took differs from round to round, and what all took together does not: were they independent, the variance of
 * the sum would be the sum of their variances. In the model they take pieces, tickets of a queue that is full again when the barrier
 * opens, so that they come to its end together, however many there are, and whoever has a core.
 *
 *	--> take a piece --> piece --> take a piece
 *	      `------none left------> arrive
 */
#include "builder/emit.h"

#include <errno.h>
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
	double own_sum[TEAM_MAX], own_squares[TEAM_MAX]; /* of each thread */
};

static void add_round(struct sums *sums, const struct build_arrival *arrivals, size_t team)
{
	double all = 0;
	for (size_t i = 0; i < team; i++) {
		double cpu = (double)arrivals[i].step->cpu_ns;
		sums->own_sum[i] += cpu;
		sums->own_squares[i] += cpu * cpu;
		all += cpu;
	}
	sums->of_all += all;
	sums->squares_of_all += all * all;
	sums->rounds++;
}

static double variance(double sum, double squares, double count)
{
	return (squares - sum * sum / count) / (count - 1);
}

static bool is_dealt(const struct sums *sums, size_t team)
{
	double own = 0;
	if (sums->rounds < DEAL_ROUNDS)
		return false;
	for (size_t i = 0; i < team; i++)
		own += variance(sums->own_sum[i], sums->own_squares[i], sums->rounds);
	double of_all = variance(sums->of_all, sums->squares_of_all, sums->rounds);
	double share = sums->of_all / sums->rounds / (double)team;
	return own / (double)team > least_spread * least_spread * share * share &&
	       of_all < dealt_variance * own;
}

/* The arrivals of one place; several threads, whose rounds are whole but for the last. */
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
	build->deals.items[build->deals.count++] = (struct build_deal){ all->items[from].step->site,
		all->items[from].step->object, (uint32_t)team, round_ns / pieces, pieces };
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

static const struct build_deal *deal_of(const struct build *build, const struct build_state *state)
{
	for (size_t i = 0; i < build->deals.count; i++)
		if (build->deals.items[i].site == state->site &&
			build->deals.items[i].object == state->object)
			return &build->deals.items[i];
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
	uint32_t arrive = e->fragments[state - e->graph->states], take, piece, queue = MODEL_NONE;
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
		bool arrives = state->visits > 0 && state->op == STEP_ARRIVE;
		const struct build_deal *deal = arrives ? deal_of(e->build, state) : NULL;
		if (deal)
			code = add_deal(e, state, deal);
	}
	return code;
}
