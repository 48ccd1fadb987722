/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a loop that a pool's threads leave in two ways, all but one of them in the one, the last in the other: it finds that no other is left,
 * and closes the queue, say. That is one end, with a draw behind it of which the other way comes last, whichever thread that is and however many
 * there are. As two ends, each of its own loop, threads of a smaller pool would all leave before the last way was to be taken.
 */
#include "builder/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool emit_ends_of(const struct emitter *e, const struct build_state *state, struct emit_ends *ret)
{
	const struct build_pool *pool = &e->build->pools[e->index];
	const struct build_law *laws[2];
	size_t count = 0, threads = 0;
	if (pool->parameter == BUILD_NONE || pool->starter != BUILD_NONE || pool->waves != 1)
		return false;
	for (size_t i = 0; i < state->law_count; i++) {
		if (!state->laws[i].is_once)
			continue;
		if (count == 2)
			return false;
		laws[count++] = &state->laws[i];
		threads += state->laws[i].run_count;
	}
	if (count != 2 || threads != e->group->count || threads < 3)
		return false;
	bool is_first = laws[0]->run_count == 1;
	ret->last = laws[is_first ? 0 : 1];
	ret->others = laws[is_first ? 1 : 0];
	return ret->last->run_count == 1 && emit_way_of_last(e, state) == ret->last->to;
}

/* Turns of all threads, whichever way they left. */
static int merge(const struct emit_ends *ends, struct build_law *ret)
{
	size_t count = ends->others->run_count + ends->last->run_count;
	*ret = *ends->others;
	ret->runs = calloc(count, sizeof *ret->runs);
	if (!ret->runs)
		return -ENOMEM;
	memcpy(ret->runs, ends->others->runs, ends->others->run_count * sizeof *ret->runs);
	memcpy(ret->runs + ends->others->run_count, ends->last->runs,
		ends->last->run_count * sizeof *ret->runs);
	ret->run_count = ret->run_capacity = ret->threads = count;
	ret->rest = 0;
	return 0;
}

/* All but the last, then the last. */
static int add_draw(struct emitter *e, const struct emit_ends *ends, uint32_t *ret)
{
	struct model_edge *edges = model_alloc(e->model, 2, sizeof *edges);
	int code = edges ? emit_add_fragment(e, "the last one", ret) : -ENOMEM;
	if (code < 0)
		return code;
	struct model_fragment *fragment = emit_fragment(e, *ret);
	const char *size = emit_pool_size(e);
	edges[0].to = e->fragments[ends->others->to];
	edges[1].to = e->fragments[ends->last->to];
	fragment->edges = edges;
	fragment->edge_count = 2;
	fragment->last = 1;
	code = build_formula(e->model, &fragment->draws, "%s", size);
	if (code == 0)
		code = build_formula(e->model, &edges[0].probability, "1 - 1 / %s", size);
	return code < 0 ? code : build_formula(e->model, &edges[1].probability, "1 / %s", size);
}

int emit_end(struct emitter *e, const struct build_state *state, const struct emit_ends *ends,
	uint32_t body, uint32_t index)
{
	struct build_law law;
	uint32_t draw = 0, end = e->fragments[ends->others->to];
	int code = merge(ends, &law);
	if (code == 0)
		code = emit_loop(e, state, &law, body, index);
	if (code == 0)
		code = add_draw(e, ends, &draw);
	free(law.runs);
	if (code < 0)
		return code;
	struct model_fragment *loop = emit_fragment(e, index);
	loop->otherwise = loop->otherwise == end ? draw : loop->otherwise;
	for (uint32_t i = 0; i < loop->edge_count; i++)
		loop->edges[i].to = loop->edges[i].to == end ? draw : loop->edges[i].to;
	return 0;
}
