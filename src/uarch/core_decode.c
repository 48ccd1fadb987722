/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Micro-traces into micro-operations: a load, the operation, a store, with the results that each waits for. Pushes and
 * pops do not make a chain of the stack pointer: front ends keep count of it.
 */
#include "base/mem.h"
#include "uarch/core_detours.h"
#include "uarch/core_jumps.h"
#include "uarch/core_parts.h"
#include "uarch/core_regions.h"
#include "uarch/core_streams.h"
#include "uarch/core_words.h"

#include <errno.h>
#include <stdlib.h>

enum {
	STACK_POINTER = 4,
	TIMES_SURE =
		3, /* that a load's data came from so many stores back: what a counter of two bits tells */
	STRING_BYTES = 32, /* that a string instruction moves with one load and one store */
};

struct core_decoder {
	struct core_program *program;
	struct map slots; /* (class, code): slot of the class */
	struct map lines, pages; /* of the trace: their ids */
	struct core_words words;
	struct core_streams streams; /* of the trace */
	struct core_regions regions; /* the same */
	uint16_t writer[CORE_REGISTERS]; /* index into done[] */
	struct core_trace *trace;
	uint32_t class;
	uint32_t string_code, string_bytes; /* the string instruction under way */
	struct core_jumps jumps; /* of the class */
	struct core_detour_map detours;
	uint32_t jump_uop, jump_code; /* an indirect jump whose target is the next instruction */
	bool has_taken; /* the instruction before was a taken branch or jump */
	uint64_t code_end; /* the address behind the instruction before; 0: none */
	uint64_t block, block_before; /* where the last taken branches led to */
	uint32_t flags_uop; /* the one before, if it only set flags as fused compares do */
	uint64_t flags_address; /* of its instruction */
};

int core_decoder_new(struct core_program *program, struct core_decoder **ret)
{
	struct core_decoder *decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	decoder->program = program;
	*ret = decoder;
	return 0;
}

static void forget_trace(struct core_decoder *decoder)
{
	map_release(&decoder->lines);
	map_release(&decoder->pages);
	decoder->lines = decoder->pages = (struct map){ 0 };
	core_streams_forget(&decoder->streams);
	core_regions_forget(&decoder->regions);
}

void core_decoder_free(struct core_decoder *decoder)
{
	if (!decoder)
		return;
	forget_trace(decoder);
	map_release(&decoder->slots);
	core_words_release(&decoder->words);
	core_jumps_release(&decoder->jumps);
	core_detour_map_release(&decoder->detours);
	core_streams_release(&decoder->streams);
	free(decoder);
}

static int find_slot(struct core_decoder *decoder, uint32_t code, uint32_t *ret)
{
	struct core_program *program = decoder->program;
	struct core_class *class = &program->classes[decoder->class];
	uint64_t *slot = NULL;
	int rc = map_add(&decoder->slots, decoder->class, code, class->slot_count, &slot);
	if (rc < 0)
		return rc;
	*ret = (uint32_t)*slot;
	if (rc == 0)
		return 0;
	rc = mem_grow(&program->slots, &program->slot_capacity, program->slot_count + 1,
		sizeof(*program->slots));
	if (rc != 0)
		return rc;
	program->slots[program->slot_count++] = (struct core_slot){ .code = code };
	class->slot_count++;
	return 0;
}

/* The memory access of an instruction, shared by its load and its store. */
static int add_access(
	struct core_decoder *decoder, uint32_t code, uint64_t address, uint32_t *ret_access)
{
	struct core_program *program = decoder->program;
	struct core_trace *trace = decoder->trace;
	uint32_t slot = 0;
	int rc = find_slot(decoder, code, &slot);
	if (rc != 0)
		return rc;
	rc = mem_grow(&program->accesses, &program->access_capacity, program->access_count + 1,
		sizeof(*program->accesses));
	if (rc != 0)
		return rc;
	uint64_t *line = NULL;
	rc = map_add(&decoder->lines, address / PROFILE_LINE_BYTES, 0, trace->lines, &line);
	if (rc < 0)
		return rc;
	struct core_access *access = &program->accesses[program->access_count];
	uint64_t name = address / PROFILE_LINE_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 48;
	*access = (struct core_access){ .slot = slot,
		.line = (uint32_t)*line,
		.name = (uint16_t)name,
		.set = address / PROFILE_LINE_BYTES % CORE_SETS,
		.is_first = rc == 1 };
	if (rc == 1) {
		trace->lines++;
		core_regions_follow(
			&decoder->regions, program->accesses, program->access_count, address);
	}
	uint64_t *page = NULL;
	rc = map_add(&decoder->pages, address / PROFILE_PAGE_BYTES, 0, trace->pages, &page);
	if (rc < 0)
		return rc;
	access->page = (uint32_t)*page;
	access->is_first_page = rc == 1;
	if (rc == 1)
		trace->pages++;
	const struct core_class *class = &program->classes[decoder->class];
	program->slots[class->slot + slot].accesses++;
	program->slots[class->slot + slot].firsts += access->is_first;
	program->slots[class->slot + slot].page_firsts += access->is_first_page;
	*ret_access = (uint32_t)program->access_count;
	return core_streams_follow(&decoder->streams, program->accesses, program->access_count++,
		&program->slots[class->slot + slot], address);
}

/* Operands of the micro-operation that is being made. */
struct operands {
	uint16_t index[CORE_OPERANDS_MAX];
	unsigned count;
};

static void operand_add(struct operands *operands, uint16_t index)
{
	for (unsigned i = 0; i < operands->count; i++)
		if (operands->index[i] == index)
			return;
	if (operands->count < CORE_OPERANDS_MAX)
		operands->index[operands->count++] = index;
}

static void operands_of_registers(
	const struct core_decoder *decoder, uint64_t registers, struct operands *operands)
{
	for (; registers; registers &= registers - 1)
		operand_add(operands, decoder->writer[__builtin_ctzll(registers)]);
}

/* Adds a micro-operation; *ret_index is where its result will be in done[]. */
static int add_uop(struct core_decoder *decoder, struct core_uop uop,
	const struct operands *operands, uint16_t *ret_index)
{
	struct core_program *program = decoder->program;
	struct core_trace *trace = decoder->trace;
	int rc = mem_grow(&program->uops, &program->uop_capacity, program->uop_count + 1,
		sizeof(*program->uops));
	if (rc == 0)
		rc = mem_grow(&program->operands, &program->operand_capacity,
			program->operand_count + operands->count, sizeof(*program->operands));
	if (rc != 0)
		return rc;
	uop.operand = (uint32_t)program->operand_count;
	uop.operand_count = operands->count & 15;
	for (unsigned i = 0; i < operands->count; i++)
		program->operands[program->operand_count++] = operands->index[i];
	program->uops[program->uop_count++] = uop;
	program->classes[decoder->class].units[uop.unit]++;
	*ret_index = (uint16_t)(CORE_REGISTERS + trace->uop_count++);
	return 0;
}

static uint64_t registers_written(const struct code *code)
{
	uint64_t stack = UINT64_C(1) << STACK_POINTER;
	bool is_moved_by_front_end =
		code->class == CODE_JUMP ||
		(code->class == CODE_MOVE && code->flags & (CODE_LOAD | CODE_STORE) &&
			code->address_reads & stack && code->writes & stack);
	return is_moved_by_front_end ? code->writes & ~stack : code->writes;
}

struct instruction {
	const struct code *code;
	uint32_t code_index;
	uint64_t address;
	bool is_taken;
	uint32_t access; /* or CORE_NONE */
	uint16_t load; /* index into done[]; 0: none, as no load is a register */
	uint16_t operation; /* the same */
	uint8_t first; /* CORE_FIRST until the first micro-operation */
};

static struct core_slot *slot_of(const struct core_decoder *decoder, uint32_t access)
{
	const struct core_program *program = decoder->program;
	return &program->slots[program->classes[decoder->class].slot +
			       program->accesses[access].slot];
}

/* One of the trace at hand; `index`: into done[]. */
static const struct core_uop *store_of(const struct core_decoder *decoder, uint16_t index)
{
	return &decoder->program->uops[decoder->trace->uop + index - CORE_REGISTERS];
}

/*
 * Cores rename memory by which of the stores before it a load got its data from the last time: one that gets it now from so
 * many stores back, now from so many, they do not foretell. One that they do foretell, and wrongly, waits for that store.
 * `store`: where the data is from, or 0.
 */
static void foretell_store(
	struct core_decoder *decoder, const struct instruction *now, uint16_t store)
{
	struct core_access *access = &decoder->program->accesses[now->access];
	struct core_slot *slot = slot_of(decoder, now->access);
	size_t back = store >= CORE_REGISTERS ? core_words_back(&decoder->words, store) : 0;
	if (slot->renaming == 0)
		return;
	if (back != slot->stores_back && slot->times >= TIMES_SURE)
		access->expected = core_words_ago(&decoder->words, slot->stores_back);
	bool is_steady = back > 0 && (slot->stores_back == 0 || slot->stores_back == back);
	slot->times = !is_steady ? 0 : slot->times < TIMES_SURE ? slot->times + 1 : TIMES_SURE;
	if (back > 0 && back <= UINT16_MAX)
		slot->stores_back = (uint16_t)back;
	if (!is_steady)
		return;
	unsigned of_store = slot_of(decoder, store_of(decoder, store)->access)->renaming;
	access->renaming = code_renaming_of_both(of_store, slot->renaming) & 3;
}

static int decode_load(struct core_decoder *decoder, struct instruction *now)
{
	struct operands operands = { .count = 0 };
	operands_of_registers(decoder, now->code->address_reads, &operands);
	struct core_stored stored;
	core_words_load(&decoder->words, now->address, now->code->data_bytes, &stored);
	for (unsigned i = 0; i < stored.count; i++)
		operand_add(&operands, stored.stores[i]);
	struct core_access *access = &decoder->program->accesses[now->access];
	access->is_blocked = stored.is_blocked;
	access->is_stored = stored.count > 0;
	if (stored.count < 2 && !stored.is_blocked)
		foretell_store(decoder, now, stored.count == 1 ? stored.stores[0] : 0);
	if (code_is_plain_access(now->code) && now->code->flags & CODE_CONDITIONAL)
		operands_of_registers(decoder, now->code->reads, &operands);
	struct core_uop uop = { .access = now->access,
		.unit = code_uses_vectors(now->code) ? CORE_VECTOR_LOADS : CORE_LOADS,
		.is_scaled = (now->code->flags & CODE_SCALED) != 0,
		.flags = (uint8_t)(CORE_LOAD | now->first) };
	now->first = 0;
	return add_uop(decoder, uop, &operands, &now->load);
}

static struct core_uop operation_of(const struct instruction *now)
{
	const struct code *code = now->code;
	struct core_uop uop = { .access = CORE_NONE, .unit = code->class, .flags = now->first };
	if (code->class == CODE_MOVE && !code->reads)
		uop.unit = CODE_ALU; /* a constant: nothing that renaming could do */
	uop.is_prefetch = code->class == CODE_ALU && code->flags & CODE_PREFETCH;
	if (code->class == CODE_BRANCH) {
		uop.flags |= CORE_PREDICTED;
		uop.access = now->code_index; /* whose outcome it is: for the draws */
		if (now->is_taken)
			uop.unit = CODE_JUMP; /* its ports are those of taken branches */
	}
	if (code->class == CODE_JUMP && code->flags & CODE_INDIRECT && !(code->flags & CODE_RETURN))
		uop.flags |= CORE_INDIRECT;
	uop.is_computed = code->class == CODE_JUMP && code->flags & (CODE_INDIRECT | CODE_RETURN);
	if (code_is_serial(code)) {
		uop.flags |= CORE_SERIAL;
		uop.access = now->access;
		if (now->access != CORE_NONE)
			uop.flags |= CORE_LOAD;
	}
	return uop;
}

static int decode_operation(struct core_decoder *decoder, struct instruction *now)
{
	struct operands operands = { .count = 0 };
	const struct code *code = now->code;
	struct core_uop uop = operation_of(now);
	if (now->load)
		operand_add(&operands, now->load);
	operands_of_registers(decoder, code->reads, &operands);
	if (code_is_serial(code))
		operands_of_registers(decoder, code->address_reads, &operands);
	bool is_fused = code->class == CODE_BRANCH && decoder->flags_uop != CORE_NONE;
	if (is_fused) {
		struct core_uop *compare = &decoder->program->uops[decoder->flags_uop];
		compare->flags |= CORE_PAIRED;
		compare->pair_unit = uop.unit;
	}
	uint64_t begin = is_fused ? decoder->flags_address : code->address;
	uop.is_split = begin / PROFILE_LINE_BYTES !=
		       (code->address + (code->bytes ? code->bytes : 1) - 1) / PROFILE_LINE_BYTES;
	if (is_fused || now->load)
		uop.flags |= CORE_RIDES;
	now->first = 0;
	return add_uop(decoder, uop, &operands, &now->operation);
}

static int decode_store(struct core_decoder *decoder, struct instruction *now)
{
	struct operands operands = { .count = 0 };
	operands_of_registers(decoder, now->code->address_reads, &operands);
	if (now->operation)
		operand_add(&operands, now->operation);
	else
		operands_of_registers(decoder, now->code->reads, &operands);
	if (now->load)
		operand_add(&operands, now->load);
	struct core_uop uop = { .access = now->access,
		.unit = code_uses_vectors(now->code) ? CORE_VECTOR_STORES : CORE_STORES,
		.flags = (uint8_t)(CORE_STORE | now->first) };
	uint16_t index = 0;
	now->first = 0;
	int rc = add_uop(decoder, uop, &operands, &index);
	return rc != 0 ? rc
		       : core_words_store(
				 &decoder->words, now->address, now->code->data_bytes, index);
}

/* To come across may take a micro-operation, whose time is in the conversion's latency. */
static int decode_crossing(struct core_decoder *decoder, struct instruction *now)
{
	struct operands operands = { .count = 0 };
	struct core_uop uop = { .access = CORE_NONE, .unit = CORE_CROSSINGS, .flags = now->first };
	uint16_t index = 0;
	operands_of_registers(decoder, now->code->reads, &operands);
	now->first = 0;
	return add_uop(decoder, uop, &operands, &index);
}

/* One of a string instruction's repetitions; most ride with the ones before. False: nothing is to be done. */
static bool starts_string(
	struct core_decoder *decoder, const struct instruction *now, bool *ret_is_new)
{
	const struct code *code = now->code;
	*ret_is_new = decoder->string_code != now->code_index;
	if (*ret_is_new) {
		decoder->string_code = now->code_index;
		decoder->string_bytes = 0;
	}
	bool starts = decoder->string_bytes == 0;
	decoder->string_bytes += code->data_bytes ? code->data_bytes : 1;
	if (decoder->string_bytes >= STRING_BYTES)
		decoder->string_bytes = 0;
	return starts;
}

/* A register's old value is given up when the new one commits. */
static enum core_file file_of_result(const struct code *code, uint64_t written)
{
	uint64_t general = (UINT64_C(1) << CODE_REGISTER_FLAGS) - 1;
	if (code->class == CODE_NOP)
		return CORE_NO_FILE;
	return written & code_vector_registers ? CORE_VECTOR_FILE
	       : written & general             ? CORE_GENERAL_FILE
					       : CORE_NO_FILE;
}

static int decode_instruction(struct core_decoder *decoder, struct instruction *now)
{
	const struct code *code = now->code;
	bool is_string = code_is_string(code->class), is_new_string = false;
	int rc = 0;
	if (!is_string)
		decoder->string_code = CORE_NONE;
	else if (!starts_string(decoder, now, &is_new_string))
		return 0;
	uint8_t memory = now->address ? code->flags & (CODE_LOAD | CODE_STORE) : 0;
	if (memory)
		rc = add_access(decoder, now->code_index, now->address, &now->access);
	if (rc == 0 && memory)
		slot_of(decoder, now->access)->renaming = (uint8_t)code_renaming(code);
	if (rc == 0 && memory & CODE_LOAD && !code_is_serial(code))
		rc = decode_load(decoder, now);
	if (rc == 0 && code_crosses(code))
		rc = decode_crossing(decoder, now);
	bool has_operation = !code_is_plain_access(code) && (!is_string || is_new_string);
	if (rc == 0 && (has_operation || (!memory && !is_string)))
		rc = decode_operation(decoder, now);
	if (rc == 0 && memory & CODE_STORE && !code_is_serial(code))
		rc = decode_store(decoder, now);
	uint16_t result = now->operation ? now->operation : now->load;
	if (rc != 0 || !result)
		return rc;
	uint64_t written = registers_written(code);
	size_t uop = decoder->trace->uop + (size_t)(result - CORE_REGISTERS);
	decoder->program->uops[uop].file = file_of_result(code, written);
	for (uint64_t left = written; left; left &= left - 1)
		decoder->writer[__builtin_ctzll(left)] = result;
	return 0;
}

/* Where the jump before went, now that the next instruction is known. */
static int follow_jump(struct core_decoder *decoder, uint32_t code)
{
	struct core_uop *uop = NULL;
	if (decoder->jump_uop != CORE_NONE)
		uop = &decoder->program->uops[decoder->jump_uop];
	if (uop) {
		struct core_jump jump;
		int rc = core_jumps_follow(&decoder->jumps, decoder->jump_code, code, &jump);
		if (rc != 0)
			return rc;
		uop->draw = jump.is_last   ? CORE_BY_LAST
			    : jump.is_path ? CORE_BY_PATH
					   : CORE_BY_NONE;
		uop->is_computed = !jump.is_last && !jump.is_new;
	}
	if (decoder->has_taken)
		core_jumps_take(&decoder->jumps, code);
	decoder->jump_uop = CORE_NONE;
	return 0;
}

/* Of the instruction whose first micro-operation is `first`: the one that can be foretold wrongly, or CORE_NONE. */
static uint32_t foretold_uop(const struct core_program *program, size_t first)
{
	for (size_t i = first; i < program->uop_count; i++)
		if (program->uops[i].flags & (CORE_PREDICTED | CORE_INDIRECT))
			return (uint32_t)i;
	return CORE_NONE;
}

static void note_jump(
	struct core_decoder *decoder, const struct instruction *now, uint32_t foretold)
{
	struct core_program *program = decoder->program;
	decoder->has_taken = now->is_taken;
	if (foretold != CORE_NONE && program->uops[foretold].flags & CORE_INDIRECT) {
		decoder->jump_uop = foretold;
		decoder->jump_code = now->code_index;
		program->uops[decoder->jump_uop].draw = CORE_BY_LAST;
	}
}

/* Whether the front end, behind the instruction before or where a branch led to, goes on to another line for this one. */
static bool enters_line(struct core_decoder *decoder, const struct code *code)
{
	uint64_t end = code->address + (code->bytes ? code->bytes : 1);
	uint64_t from = code->address - (code->address == decoder->code_end);
	decoder->code_end = end;
	return (end - 1) / PROFILE_LINE_BYTES != from / PROFILE_LINE_BYTES;
}

/* Behind a jump or taken branch; `jump`: the last micro-operation. A block is what lies between two of them. */
static void end_block(struct core_decoder *decoder, const struct code *code, struct core_uop *jump)
{
	uint64_t bytes = code->address + (code->bytes ? code->bytes : 1) - decoder->block;
	if (decoder->block == decoder->block_before && jump->unit == CODE_JUMP) {
		uint64_t windows = (bytes + PROFILE_LINE_BYTES - 1) / PROFILE_LINE_BYTES;
		jump->windows = windows < UINT8_MAX ? (uint8_t)windows : UINT8_MAX;
	}
	decoder->block_before = decoder->block;
}

/* Of the branch or jump at `index`, which was decoded last. */
static int note_detour(struct core_decoder *decoder, const struct micro_trace *micro,
	uint32_t count, uint32_t index)
{
	struct core_program *program = decoder->program;
	int rc = mem_grow(&program->detours, &program->detour_capacity, program->detour_count + 1,
		sizeof(*program->detours));
	if (rc == 0)
		program->detours[program->detour_count++] =
			core_detours_find(&decoder->detours, micro, count, index, decoder->writer);
	return rc;
}

static int start_trace(
	struct core_decoder *decoder, const struct micro_trace *micro, uint32_t instructions)
{
	struct core_program *program = decoder->program;
	int rc = mem_grow(&program->traces, &program->trace_capacity, program->trace_count + 1,
		sizeof(*program->traces));
	if (rc != 0)
		return rc;
	forget_trace(decoder);
	core_words_start_trace(&decoder->words, decoder->class != micro->class);
	if (decoder->class != micro->class)
		core_jumps_release(&decoder->jumps);
	decoder->class = micro->class;
	decoder->string_code = decoder->flags_uop = decoder->jump_uop = CORE_NONE;
	decoder->has_taken = false;
	decoder->block_before = 0;
	decoder->code_end = 0;
	for (unsigned i = 0; i < CORE_REGISTERS; i++)
		decoder->writer[i] = (uint16_t)i;
	decoder->trace = &program->traces[program->trace_count++];
	*decoder->trace = (struct core_trace){ .uop = (uint32_t)program->uop_count,
		.detour = program->detour_count,
		.instructions = instructions };
	return 0;
}

/* Notes the words that a trace stores to. */
static int look_ahead(struct core_decoder *decoder, const struct profile *profile,
	const struct micro_trace *micro)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < micro->count; i++) {
		const struct micro_op *op = &micro->ops[i];
		const struct code *code = &profile->codes[op->code];
		if (code->flags & CODE_STORE && op->address && !code_is_serial(code))
			rc = core_words_will_store(&decoder->words, op->address, code->data_bytes);
	}
	return rc;
}

static void end_trace(struct core_decoder *decoder, struct core_class *class)
{
	struct core_program *program = decoder->program;
	struct core_trace *trace = decoder->trace;
	for (unsigned i = 0; i < CORE_REGISTERS; i++)
		trace->last_writer[i] = decoder->writer[i];
	for (size_t i = trace->detour; i < program->detour_count; i++)
		core_detours_settle(&decoder->detours, &program->detours[i]);
	core_words_end_trace(&decoder->words, trace->last_writer);
	class->trace_count++;
	class->instructions += trace->instructions;
	if (trace->uop_count > program->uops_max)
		program->uops_max = trace->uop_count;
	if (trace->lines > program->lines_max)
		program->lines_max = trace->lines;
	if (trace->pages > program->pages_max)
		program->pages_max = trace->pages;
	if (class->slot_count > program->slots_max)
		program->slots_max = class->slot_count;
}

int core_decode(struct core_decoder *decoder, const struct profile *profile,
	const struct micro_trace *micro)
{
	struct core_program *program = decoder->program;
	uint32_t count =
		micro->count < CORE_TRACE_INSTRUCTIONS ? micro->count : CORE_TRACE_INSTRUCTIONS;
	int rc = start_trace(decoder, micro, count);
	if (rc == 0)
		rc = look_ahead(decoder, profile, micro);
	if (rc == 0)
		rc = core_detours_look(&decoder->detours, profile, micro, count);
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct micro_op *op = &micro->ops[i];
		const struct code *code = &profile->codes[op->code];
		struct instruction now = { .code = code,
			.code_index = op->code,
			.address = op->address,
			.is_taken = op->taken != 0,
			.access = CORE_NONE,
			.first = CORE_FIRST };
		size_t first = program->uop_count;
		decoder->detours.uop_of[i] = (uint16_t)(first - decoder->trace->uop);
		bool is_next_line = enters_line(decoder, code);
		if (decoder->has_taken || i == 0)
			decoder->block = code->address;
		rc = follow_jump(decoder, op->code);
		if (rc == 0)
			rc = decode_instruction(decoder, &now);
		if (rc == 0 && program->uop_count > first)
			program->uops[first].is_next_line = is_next_line;
		if (rc == 0 && program->uop_count > first && now.is_taken)
			end_block(decoder, code, &program->uops[program->uop_count - 1]);
		uint32_t foretold = rc == 0 ? foretold_uop(program, first) : CORE_NONE;
		if (rc == 0)
			note_jump(decoder, &now, foretold);
		if (foretold != CORE_NONE)
			rc = note_detour(decoder, micro, count, i);
		decoder->flags_address = code->address;
		decoder->flags_uop = rc == 0 && code_sets_flags_for_branch(code)
					     ? (uint32_t)program->uop_count - 1
					     : CORE_NONE;
	}
	if (rc != 0)
		return rc;
	decoder->detours.uop_of[count] = (uint16_t)decoder->trace->uop_count;
	end_trace(decoder, &program->classes[micro->class]);
	return 0;
}
