/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has been translated: blocks of instructions that the emulator executes from their first to their last,
 * each with what one execution adds to the counts, and the table of distinct instructions ("codes").
 */
#ifndef PLUGIN_BLOCKS_H
#define PLUGIN_BLOCKS_H

#include "code_class.h"
#include "profile_raw.h"
#include "qemu_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Lanes of a block's counts: classes, and from the end what else is counted. */
enum { LANE_STORES = RAW_MIX - 1, LANE_LOADS = RAW_MIX - 2 };

static_assert(CODE_CLASSES <= (int)LANE_LOADS, "each has a lane");

typedef uint16_t lanes __attribute__((vector_size(16)));

enum { LANE_PARTS = RAW_MIX / 8 };

/*
 * Of filters of lines of instructions: each word has 64 lines beside one another, and by their last bits the first of those of the
 * next word, so that one word tells of a block's lines, wherever it begins. Of longer blocks, and of new lines, one with all bits does.
 * Few words, and the lines of a hot loop look like ones that are watched and never come again.
 */
enum {
	BLOCK_FILTER_WORDS = 512,
	BLOCK_FILTER_ALL = BLOCK_FILTER_WORDS,
	BLOCK_MORE_LINES = 16 /* of blocks that one word tells of */
};

enum { BLOCK_PLACES = 512 /* the emulator's own limit */, PLACE_NONE = UINT16_MAX };

/* An instruction in a block, and the group (groups.h) of its access. */
struct place {
	struct block *block;
	uint32_t code;
	uint16_t index; /* in the block */
	uint16_t access; /* memory operands before it in the block */
	uint16_t leader; /* place that the emulator tells the address of */
	uint16_t next; /* place that is executed next of the group; PLACE_NONE: none */
	int16_t delta; /* its address less that of the leader */
	/* Of a leader: the first of the group, how far below and above its own the addresses are. */
	uint16_t first;
	int16_t low, high;
	uint32_t count; /* instructions of the block, for who has but the place at hand */
};

/* First two lines of memory with what each execution needs. */
struct block {
	lanes counts[LANE_PARTS];
	uint32_t count; /* instructions */
	uint32_t accesses; /* memory operands, without those of string instructions */
	uint64_t first_line, last_line; /* of instructions */
	uint64_t line_mask; /* their bits in a word of a filter (fetch.h) */
	uint32_t more_lines; /* than the first */
	uint16_t line_word; /* which; BLOCK_FILTER_ALL until new lines have been counted */
	uint64_t address, end; /* of the code */
	uint32_t id;
	uint16_t new_lines; /* that no block before had; 0 once that has been counted */
	bool ends_in_branch; /* conditional */
	bool ends_in_jump; /* whose target is predicted: indirect, and no return */
	bool has_string; /* one of its instructions is a string instruction */
	bool is_string; /* a string instruction, alone: executed again for each element */
	struct place *places;
} __attribute__((aligned(64)));

/* Before all others. */
extern const struct block blocks_none;

static inline uint16_t block_filter_word(const struct block *block)
{
	return block->more_lines <= BLOCK_MORE_LINES
		       ? (uint16_t)(block->first_line / 64 % BLOCK_FILTER_WORDS)
		       : BLOCK_FILTER_ALL;
}

/* Whether the block is the next element of the string instruction that ended `previous`, not an instruction of its own. */
static inline bool block_goes_on(const struct block *block, const struct block *previous)
{
	return block->is_string && previous->end == block->end;
}

/* The block of a translation, made if it is new. NULL without memory. Only from translation callbacks. */
struct block *blocks_translate(const struct qemu_plugin_tb *tb);

/* Every block is written, as trace_raw.h says, when it is new. */
void blocks_write_all(void);

/* The block of an id that was given out. */
const struct block *blocks_get(uint32_t id);

/* The instruction of a code's index. */
const struct raw_code *blocks_code(uint32_t code);

/* An instruction of a block; whether it accesses memory; whether each execution makes calls of the emulator for sure; exactly one. */
const struct raw_code *block_code(const struct block *block, uint32_t index);
bool block_has_operand(const struct block *block, uint32_t index);
bool block_makes_calls(const struct block *block, uint32_t index);
bool block_makes_one_call(const struct block *block, uint32_t index);

/* Instructions that the decoder did not know. */
uint64_t blocks_undecoded(void);

/* In the child of a fork. */
void blocks_forked(void);

#endif
