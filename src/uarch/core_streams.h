/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which accesses of a micro-trace a prefetcher expects: those of an instruction that goes on with a steady stride, or that
 * has come from the line beside. Where it came from before the trace began its other traces tell (core_draw.c). Nobody expects them
 * before the first of them.
 */
#ifndef UARCH_CORE_STREAMS_H
#define UARCH_CORE_STREAMS_H

#include "uarch/core_parts.h"

/* The last accesses of an instruction in the trace. */
struct core_stream {
	uint64_t address;
	int64_t stride;
	uint32_t count;
	size_t first, last; /* accesses */
	size_t head; /* access with which it left what it did before, plus one; 0: it has not in this trace */
	bool is_line_on, is_line_cut; /* as in core_access */
};

struct core_streams {
	struct map by_code; /* to `list` */
	struct core_stream *list;
	size_t count, capacity;
};

/*
 * The next access, `index` of `accesses`, of the instruction with this slot. Sets is_stream, also of accesses before it, and
 * what there is of lines, and counts in the slot how the instruction goes from line to line. 0 or -ENOMEM.
 */
int core_streams_follow(struct core_streams *streams, struct core_access *accesses, size_t index,
	struct core_slot *slot, uint64_t address);

/* Another trace begins. */
void core_streams_forget(struct core_streams *streams);

/* For AUTO_RELEASE(core_streams); { 0 } is empty. */
void core_streams_release(struct core_streams *streams);

#endif
