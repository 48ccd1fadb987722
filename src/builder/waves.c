/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pools that are started again and again. The work of a wave is shared as that of a pool that is started once: its tickets are put into their queue before
 * the wave is started, and the last thread of the wave to look finds none left.
 */
#include "builder/emit.h"

/* Puts a wave's tickets before a fragment that starts it. */
static int put_before(struct emitter *starter, uint32_t spawn, uint32_t queue)
{
	uint32_t put = 0;
	int code = emit_add_fragment(starter, "put work of a wave", &put);
	if (code < 0)
		return code;
	emit_redirect(starter, spawn, put);
	struct model_fragment *fragment = emit_fragment(starter, put);
	fragment->op = MODEL_PUT;
	fragment->object = queue;
	fragment->is_plain = true;
	fragment->count.value = starter->model->objects[queue].initial;
	return emit_only_edge(starter, put, spawn);
}

static int put_in_group(const struct emitter *e, uint32_t group, uint32_t queue, size_t *ret_count)
{
	struct emitter starter = {
		.build = e->build, .model = e->model, .index = group, .is_batch = e->is_batch
	};
	uint32_t count = e->model->groups[group].fragment_count;
	int code = 0;
	for (uint32_t i = 0; i < count && code == 0; i++) {
		const struct model_fragment *fragment = emit_fragment(&starter, i);
		if (fragment->op != MODEL_SPAWN || fragment->object != e->index)
			continue;
		code = put_before(&starter, i, queue);
		++*ret_count;
	}
	return code;
}

int emit_waves(struct emitter *e)
{
	int code = 0;
	for (size_t i = 0; e->pool && e->pool->waves > 1 && i < e->tickets.count && code == 0;
		i++) {
		uint32_t queue = e->tickets.items[i].object;
		size_t count = 0;
		for (uint32_t group = 0; group < e->index && code == 0; group++)
			code = put_in_group(e, group, queue, &count);
		if (count > 0)
			e->model->objects[queue].initial = (struct model_value){ 0 };
	}
	return code;
}
