/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulator translates the same code again: after it ran out of space for translations, and all of it when
 * the first thread is created. Blocks and codes are therefore looked up by address and bytes, and never freed, so that
 * their memory is bounded by the program's code. Translation is one thread at a time; readers need no lock, since what
 * they ask for was published by the translation that they execute.
 */
#include "blocks.h"

#include "code_class.h"
#include "decode.h"
#include "groups.h"
#include "hash.h"
#include "line_set.h"
#include "out.h"
#include "trace_raw.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_BITS = 12,
	CHUNK = 1 << CHUNK_BITS,
	CHUNKS = 1 << 14, /* 64 M blocks or codes */
	TABLE_BITS = 16,
	INSTRUCTION_MAX = 15,
	LINE_BITS = 6,
	PAGE = 4096,
};

struct code_entry {
	struct raw_code code;
	struct decoded_address operand;
	uint8_t bytes[16]; /* as the emulator gives them */
	uint8_t size; /* of those */
	uint32_t next; /* index + 1 with the same hash */
};

struct block_entry {
	struct block block;
	uint32_t next;
};

/* Arrays that grow without moving. */
static struct code_entry *code_chunks[CHUNKS];
static struct block_entry *block_chunks[CHUNKS];
static uint32_t code_count, block_count;
static uint32_t code_table[1 << TABLE_BITS], block_table[1 << TABLE_BITS];
static uint64_t undecoded;
static bool writes_all;
static struct line_set lines; /* with instructions */
static pthread_mutex_t translation = PTHREAD_MUTEX_INITIALIZER;

const struct block blocks_none = { .end = UINT64_MAX, .last_line = UINT64_MAX };

static struct code_entry *code_at(uint32_t index)
{
	return &code_chunks[index >> CHUNK_BITS][index & (CHUNK - 1)];
}

static struct block_entry *block_at(uint32_t index)
{
	return &block_chunks[index >> CHUNK_BITS][index & (CHUNK - 1)];
}

const struct block *blocks_get(uint32_t id)
{
	return &block_at(id)->block;
}

const struct raw_code *blocks_code(uint32_t code)
{
	return &code_at(code)->code;
}

const struct raw_code *block_code(const struct block *block, uint32_t index)
{
	return blocks_code(block->places[index].code);
}

static bool has_operand(const struct raw_code *code)
{
	return code->flags & (CODE_LOAD | CODE_STORE);
}

bool block_has_operand(const struct block *block, uint32_t index)
{
	return has_operand(block_code(block, index));
}

bool block_makes_calls(const struct block *block, uint32_t index)
{
	const struct raw_code *code = block_code(block, index);
	switch (code->class) {
	case CODE_MOVE:
	case CODE_ALU:
	case CODE_SHIFT:
	case CODE_MULTIPLY:
	case CODE_BIT_COUNT:
	case CODE_CONDITION:
	case CODE_DIVIDE:
	case CODE_DIVIDE_LONG:
	case CODE_JUMP:
	case CODE_FP_ADD:
	case CODE_FP_MULTIPLY:
	case CODE_FP_DIVIDE:
	case CODE_FP_ROOT:
	case CODE_VECTOR:
	case CODE_SHUFFLE:
		return has_operand(code) && !(code->flags & CODE_CONDITIONAL);
	default:
		return false;
	}
}

/* The emulator splits vectors. */
bool block_makes_one_call(const struct block *block, uint32_t index)
{
	const struct raw_code *code = block_code(block, index);
	bool is_either = !(code->flags & CODE_LOAD) != !(code->flags & CODE_STORE);
	bool is_small = code->data_bytes == 1 || code->data_bytes == 2 || code->data_bytes == 4 ||
			code->data_bytes == 8;
	bool is_vector = code->class == CODE_VECTOR || code->class == CODE_SHUFFLE;
	return block_makes_calls(block, index) && is_either && is_small && !is_vector;
}

uint64_t blocks_undecoded(void)
{
	return undecoded;
}

static bool is_code(const struct code_entry *entry, const struct qemu_plugin_insn *insn)
{
	size_t size = qemu_plugin_insn_size(insn);
	return entry->code.address == qemu_plugin_insn_vaddr(insn) && entry->size == size &&
	       memcmp(entry->bytes, qemu_plugin_insn_data(insn), size) == 0;
}

static void decode_instruction(const struct qemu_plugin_insn *insn, struct code_entry *ret)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	const void *bytes = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);
	if (decode(address, bytes, size, &ret->code, &ret->operand))
		return;
	/* QEMU 7.2 leaves out parts of what is on two pages: the program's memory has them. */
	const void *memory = qemu_plugin_insn_haddr(insn);
	bool is_cut = address % PAGE > PAGE - INSTRUCTION_MAX && memory;
	if (!is_cut || !decode(address, memory, INSTRUCTION_MAX, &ret->code, &ret->operand))
		undecoded++;
}

/* CPUID is 0f a2. */
static void write_question(const struct qemu_plugin_insn *insn)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	const struct raw_asks asks = { qemu_plugin_insn_vaddr(insn) };
	if (qemu_plugin_insn_size(insn) == 2 && bytes[0] == 0x0f && bytes[1] == 0xa2)
		out_record(RAW_ASKS, &asks, sizeof(asks), NULL, 0);
}

/* The code's index; UINT32_MAX without memory. */
static uint32_t find_code(const struct qemu_plugin_insn *insn)
{
	size_t size = qemu_plugin_insn_size(insn);
	uint32_t *head = &code_table[hash_bits(qemu_plugin_insn_vaddr(insn), TABLE_BITS)];
	for (uint32_t at = *head; at; at = code_at(at - 1)->next) {
		if (is_code(code_at(at - 1), insn))
			return at - 1;
	}
	uint32_t index = code_count;
	struct code_entry **chunk = &code_chunks[index >> CHUNK_BITS];
	if (size > sizeof((*chunk)->bytes) || index >> CHUNK_BITS >= CHUNKS ||
		(!*chunk && !(*chunk = calloc(CHUNK, sizeof(**chunk)))))
		return UINT32_MAX;
	struct code_entry *entry = code_at(index);
	decode_instruction(insn, entry);
	memcpy(entry->bytes, qemu_plugin_insn_data(insn), size);
	entry->size = (uint8_t)size;
	entry->next = *head;
	out_record(RAW_CODE, &entry->code, sizeof(entry->code), NULL, 0);
	write_question(insn);
	code_count++;
	*head = index + 1;
	return index;
}

static void add_lane(struct block *block, unsigned lane, unsigned count)
{
	((uint16_t *)block->counts)[lane] += (uint16_t)count;
}

static void count_code(struct block *block, const struct raw_code *code)
{
	/* Repeated as often as the program finds out: its accesses are counted one by one. */
	bool is_string = code_is_string(code->class);
	block->has_string |= is_string;
	add_lane(block, code->class, 1);
	add_lane(block, LANE_LOADS, !is_string && code->flags & CODE_LOAD);
	add_lane(block, LANE_STORES, !is_string && code->flags & CODE_STORE);
	block->accesses += !is_string && has_operand(code);
}

static bool fill_block(struct block *block, const struct qemu_plugin_tb *tb)
{
	const struct decoded_address *operands[BLOCK_PLACES];
	block->count = (uint32_t)qemu_plugin_tb_n_insns(tb);
	if (block->count > BLOCK_PLACES)
		return false;
	block->places = calloc(block->count, sizeof(*block->places));
	if (!block->places)
		return false;
	block->address = qemu_plugin_tb_vaddr(tb);
	for (uint32_t i = 0; i < block->count; i++) {
		uint32_t code = find_code(qemu_plugin_tb_get_insn(tb, i));
		if (code == UINT32_MAX)
			return false;
		block->places[i] = (struct place){ .block = block,
			.code = code,
			.index = (uint16_t)i,
			.access = (uint16_t)block->accesses,
			.count = block->count };
		operands[i] = &code_at(code)->operand;
		count_code(block, blocks_code(code));
	}
	groups_find(block, operands);
	const struct raw_code *last = blocks_code(block->places[block->count - 1].code);
	block->end = last->address + last->bytes;
	block->first_line = block->address >> LINE_BITS;
	block->last_line = (block->end - 1) >> LINE_BITS;
	block->more_lines = (uint32_t)(block->last_line - block->first_line);
	for (uint64_t line = block->first_line; line <= block->last_line; line++) {
		block->new_lines += line_set_add(&lines, line);
		block->line_mask |= UINT64_C(1) << (line % 64);
	}
	block->line_word = block->new_lines ? BLOCK_FILTER_ALL : block_filter_word(block);
	block->ends_in_branch = last->class == CODE_BRANCH;
	block->ends_in_jump = last->class == CODE_JUMP && last->flags & CODE_INDIRECT &&
			      !(last->flags & CODE_RETURN);
	block->is_string = block->count == 1 && code_is_string(last->class);
	return true;
}

/* Whether a block consists of these instructions. */
static bool is_same(const struct block *block, const struct qemu_plugin_tb *tb)
{
	if (block->address != qemu_plugin_tb_vaddr(tb) ||
		block->count != qemu_plugin_tb_n_insns(tb))
		return false;
	for (uint32_t i = 0; i < block->count; i++) {
		if (!is_code(code_at(block->places[i].code), qemu_plugin_tb_get_insn(tb, i)))
			return false;
	}
	return true;
}

void blocks_write_all(void)
{
	writes_all = true;
}

static void write_block(const struct block *block)
{
	struct trace_block head = { block->id, block->count };
	uint32_t codes[BLOCK_PLACES];
	if (block->count > BLOCK_PLACES)
		return;
	for (uint32_t i = 0; i < block->count; i++)
		codes[i] = block->places[i].code;
	out_record(RAW_TRACE_BLOCK, &head, sizeof(head), codes, block->count * sizeof(*codes));
}

static struct block *translate(const struct qemu_plugin_tb *tb)
{
	if (qemu_plugin_tb_n_insns(tb) == 0)
		return NULL;
	uint32_t *head = &block_table[hash_bits(qemu_plugin_tb_vaddr(tb), TABLE_BITS)];
	for (uint32_t at = *head; at; at = block_at(at - 1)->next) {
		if (is_same(&block_at(at - 1)->block, tb))
			return &block_at(at - 1)->block;
	}
	uint32_t id = block_count;
	struct block_entry **chunk = &block_chunks[id >> CHUNK_BITS];
	if (id >> CHUNK_BITS >= CHUNKS ||
		(!*chunk && !(*chunk = aligned_alloc(64, CHUNK * sizeof(**chunk)))))
		return NULL;
	struct block_entry *entry = block_at(id);
	memset(entry, 0, sizeof(*entry));
	entry->block.id = id;
	if (!fill_block(&entry->block, tb)) {
		free(entry->block.places);
		return NULL;
	}
	entry->next = *head;
	if (writes_all)
		write_block(&entry->block);
	block_count++;
	*head = id + 1;
	return &entry->block;
}

struct block *blocks_translate(const struct qemu_plugin_tb *tb)
{
	(void)pthread_mutex_lock(&translation);
	struct block *block = translate(tb);
	(void)pthread_mutex_unlock(&translation);
	return block;
}

void blocks_forked(void)
{
	(void)pthread_mutex_init(&translation, NULL); /* another thread may have had it */
}
