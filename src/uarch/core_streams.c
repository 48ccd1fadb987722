/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_streams.h"

#include "base/mem.h"

#include <stdlib.h>

enum { STRIDE_MAX = 2048 }; /* bytes: as far as prefetchers of real cores look */

/* How an instruction goes on from line to line, whatever it does within them: prefetchers look at lines. */
static void follow_lines(struct core_stream *stream, struct core_slot *slot,
	const struct core_access *accesses, size_t index, uint64_t address)
{
	uint64_t from = stream->address / PROFILE_LINE_BYTES, to = address / PROFILE_LINE_BYTES;
	if (from == to)
		return;
	bool is_up = from + 1 == to, is_down = to + 1 == from;
	slot->line_changes++;
	slot->lines_up += is_up;
	slot->lines_down += is_down;
	stream->is_line_on = is_up || is_down;
	stream->is_line_cut = false;
	/* Of the second access nobody knows: a stride's first two look like any two. */
	if (stream->count > 1 && !stream->is_line_on && !accesses[index].is_stream)
		stream->head = index + 1;
}

/* Whether it goes on with a steady stride; of the first two accesses the third tells. */
static void follow_stride(
	struct core_stream *stream, struct core_access *accesses, size_t index, uint64_t address)
{
	int64_t stride = (int64_t)(address - stream->address);
	bool is_stream = stream->count > 1 && stride == stream->stride && stride != 0 &&
			 stride <= STRIDE_MAX && stride >= -STRIDE_MAX;
	accesses[index].is_stream = is_stream;
	if (is_stream && stream->count == 2)
		accesses[stream->first].is_stream = accesses[stream->last].is_stream = 1;
	stream->stride = stride;
}

int core_streams_follow(struct core_streams *streams, struct core_access *accesses, size_t index,
	struct core_slot *slot, uint64_t address)
{
	uint64_t *found = NULL;
	int rc = map_add(&streams->by_code, slot->code, 0, streams->count, &found);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		rc = mem_grow(&streams->list, &streams->capacity, streams->count + 1,
			sizeof(*streams->list));
		if (rc != 0)
			return rc;
		streams->list[streams->count++] = (struct core_stream){ .address = address,
			.count = 1,
			.first = index,
			.last = index,
			.is_line_cut = true };
		accesses[index].is_line_cut = 1;
		return 0;
	}
	struct core_stream *stream = &streams->list[*found];
	follow_stride(stream, accesses, index, address);
	follow_lines(stream, slot, accesses, index, address);
	accesses[index].is_line_on = stream->is_line_on;
	accesses[index].is_line_cut = stream->is_line_cut;
	if (stream->head > 0)
		accesses[index].run_back = (uint32_t)(index + 1 - stream->head);
	stream->address = address;
	stream->last = index;
	stream->count++;
	return 0;
}

void core_streams_forget(struct core_streams *streams)
{
	map_release(&streams->by_code);
	streams->by_code = (struct map){ 0 };
	streams->count = 0;
}

void core_streams_release(struct core_streams *streams)
{
	map_release(&streams->by_code);
	free(streams->list);
	*streams = (struct core_streams){ 0 };
}
