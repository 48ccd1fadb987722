/* SPDX-License-Identifier: MIT */
/*
 * A full trace: every instruction that every thread executed, in the file of profile_raw.h, for small runs
 * that simulators are to play. Instructions come by block: a block's instructions are written once, an
 * execution is one word, the addresses of its memory operands follow it.
 *
 *	RAW_TRACE_BLOCK: trace_block, uint32_t codes[count]      before the first chunk that executes it
 *	RAW_TRACE_CHUNK: trace_chunk, uint64_t words[]           in the order of each thread
 *
 *	word: | 0xffff | block id (48 bits) |                    the block's instructions are executed
 *	      | index of the instruction in it | address (48 bits) |    which accesses this address
 *
 * An instruction that accesses several lines has several words, one for each line; a repeated string
 * instruction is executed once, with a word for each line that it comes to. An instruction's load and store of
 * one line are one word.
 */
#ifndef PLUGIN_TRACE_RAW_H
#define PLUGIN_TRACE_RAW_H

#include <assert.h>
#include <stdint.h>

#define TRACE_BLOCK_WORD UINT64_C(0xffff)

enum { TRACE_TAG_SHIFT = 48 };

struct trace_block {
	uint32_t id, count;
};

/* What a thread executed in one stretch, or a part of that. */
struct trace_chunk {
	uint32_t thread, reserved;
	uint64_t stretch; /* of preload/profile_page.h */
	uint64_t
		stretches; /* the thread's, before this one: two chunks of one stretch have the same number */
	uint64_t begin_ns, end_ns; /* monotonic: how threads ran beside one another */
};

static_assert(sizeof(struct trace_chunk) == 40, "written as it is");

#endif
