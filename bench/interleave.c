/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "interleave.h"

#include <errno.h>
#include <stdlib.h>

struct player {
	struct full_trace_cursor cursor;
	/* Is a chunk ahead: it counts the blocks of the chunk that the cursor is in. */
	struct full_trace_cursor ahead;
	bool has_ahead, is_over;
	uint64_t blocks, done; /* of the chunk */
	double at_ns;
};

struct interleave {
	size_t count;
	struct player players[];
};

static void enter_chunk(struct player *player)
{
	uint64_t begin_ns = player->ahead.begin_ns, end_ns = player->ahead.end_ns;
	player->is_over = !player->has_ahead;
	player->blocks = player->done = 0;
	player->at_ns = (double)begin_ns;
	while (player->has_ahead && player->ahead.begin_ns == begin_ns &&
		player->ahead.end_ns == end_ns) {
		player->blocks++;
		player->has_ahead = full_trace_next(&player->ahead);
	}
}

int interleave_new(const struct full_trace *trace, struct interleave **ret)
{
	size_t count = full_trace_threads(trace);
	AUTO(interleave)
	struct interleave *interleave =
		calloc(1, sizeof(*interleave) + count * sizeof(interleave->players[0]));
	if (!interleave)
		return -ENOMEM;
	interleave->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct player *player = &interleave->players[i];
		player->cursor = player->ahead = full_trace_start(trace, i);
		player->has_ahead = full_trace_next(&player->ahead);
		enter_chunk(player);
	}
	*ret = TAKE(interleave);
	return 0;
}

void interleave_free(struct interleave *interleave)
{
	free(interleave);
}

const struct full_trace_cursor *interleave_next(struct interleave *interleave, uint32_t *ret_thread)
{
	struct player *next = NULL;
	for (size_t i = 0; i < interleave->count; i++) {
		struct player *player = &interleave->players[i];
		if (!player->is_over && (!next || player->at_ns < next->at_ns)) {
			next = player;
			*ret_thread = (uint32_t)i;
		}
	}
	if (!next || !full_trace_next(&next->cursor))
		return NULL;
	const struct full_trace_cursor *cursor = &next->cursor;
	next->done++;
	next->at_ns = (double)cursor->begin_ns + (double)(cursor->end_ns - cursor->begin_ns) *
							 (double)next->done / (double)next->blocks;
	if (next->done == next->blocks)
		enter_chunk(next);
	return cursor;
}
