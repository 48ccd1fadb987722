/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/code_steps.h"

#include <errno.h>

#if HAVE_ZYDIS

#include "base/mem.h"
#include "base/sorted.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

enum {
	/* What a callee need not preserve: rax, rdx, rcx, rsi, rdi, r8 to r11. */
	CALL_CHANGES = 1 << CODE_RAX | 1 << CODE_RDX | 1 << CODE_RCX | 1 << CODE_RSI |
		       1 << CODE_RDI | 0xf << 8,
};

struct jump {
	uint64_t target;
	size_t from;
};

struct code_steps {
	struct code_step *items;
	size_t count, capacity;
	uint64_t end;
	struct jump *jumps; /* by target */
	size_t jump_count, jump_capacity;
};

void code_steps_free(struct code_steps *steps)
{
	if (!steps)
		return;
	free(steps->items);
	free(steps->jumps);
	free(steps);
}

static uint8_t number_of(ZydisRegister reg)
{
	static const uint8_t numbers[] = { CODE_RAX, CODE_RCX, CODE_RDX, CODE_RBX, CODE_RSP,
		CODE_RBP, CODE_RSI, CODE_RDI };
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	if (class == ZYDIS_REGCLASS_GPR8 || class == ZYDIS_REGCLASS_GPR16 ||
		class == ZYDIS_REGCLASS_GPR32) {
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
		class = ZYDIS_REGCLASS_GPR64;
	}
	int id = class == ZYDIS_REGCLASS_GPR64 ? (int)ZydisRegisterGetId(reg) : -1;
	if (id < 0 || id >= CODE_REGISTERS)
		return CODE_NOWHERE;
	return id < (int)ARRAY_SIZE(numbers) ? numbers[id] : (uint8_t)id;
}

static bool is_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_GPR64;
}

static bool is_number(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Base and offset of an operand in memory; false where more is needed to know its address. */
static bool read_place(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
	uint64_t address, uint8_t *ret_base, int64_t *ret_offset)
{
	const ZydisDecodedOperandMem *mem = &operand->mem;
	uint64_t absolute = 0;
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || mem->index != ZYDIS_REGISTER_NONE ||
		mem->segment == ZYDIS_REGISTER_FS || mem->segment == ZYDIS_REGISTER_GS)
		return false;
	if (mem->base == ZYDIS_REGISTER_RIP || mem->base == ZYDIS_REGISTER_NONE) {
		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, operand, address, &absolute)))
			return false;
		*ret_base = CODE_STATIC;
		*ret_offset = (int64_t)absolute;
		return true;
	}
	*ret_base = number_of(mem->base);
	*ret_offset = mem->disp.value;
	return *ret_base != CODE_NOWHERE;
}

static void read_lea(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct code_step *step)
{
	const ZydisDecodedOperandMem *mem = &operands[1].mem;
	if (read_place(insn, &operands[1], step->address, &step->from, &step->offset)) {
		step->does = CODE_ADDS;
		return;
	}
	if (mem->index == ZYDIS_REGISTER_NONE || mem->base == ZYDIS_REGISTER_NONE)
		return;
	step->does = CODE_INDEXES;
	step->from = number_of(mem->base);
	step->index = mem->scale == 1 ? number_of(mem->index) : CODE_NOWHERE;
	step->offset = mem->disp.value;
}

static void read_move(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct code_step *step)
{
	if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && is_number(&operands[1])) {
		unsigned bits = operands[0].size;
		if (bits < 32)
			return; /* the rest of the register stays */
		step->does = CODE_SETS;
		step->to = number_of(operands[0].reg.value);
		step->offset =
			bits == 32 ? (uint32_t)operands[1].imm.value.u : operands[1].imm.value.s;
	} else if (is_register(&operands[0]) && is_register(&operands[1])) {
		step->does = CODE_ADDS;
		step->from = number_of(operands[1].reg.value);
	} else if (is_register(&operands[0]) &&
		   read_place(insn, &operands[1], step->address, &step->from, &step->offset)) {
		step->does = CODE_LOADS;
	} else if (is_register(&operands[1]) &&
		   read_place(insn, &operands[0], step->address, &step->to, &step->offset)) {
		step->does = CODE_STORES;
		step->from = number_of(operands[1].reg.value);
	}
}

static void read_sum(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct code_step *step)
{
	bool is_less = insn->mnemonic == ZYDIS_MNEMONIC_SUB;
	step->from = step->to;
	if (is_number(&operands[1])) {
		step->does = CODE_ADDS;
		step->offset = is_less ? -operands[1].imm.value.s : operands[1].imm.value.s;
	} else if (!is_less &&
		   read_place(insn, &operands[1], step->address, &step->from, &step->offset)) {
		step->does = CODE_ADDS_MEMORY;
	} else if (!is_less) {
		step->does = CODE_INDEXES;
		step->index =
			is_register(&operands[1]) ? number_of(operands[1].reg.value) : CODE_NOWHERE;
	}
}

static bool is_choice(ZydisMnemonic mnemonic)
{
	return mnemonic >= ZYDIS_MNEMONIC_CMOVB && mnemonic <= ZYDIS_MNEMONIC_CMOVZ;
}

static void read_effect(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct code_step *step)
{
	for (unsigned i = 0; i < insn->operand_count; i++) {
		uint8_t number = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
					 ? number_of(operands[i].reg.value)
					 : CODE_NOWHERE;
		if (number < CODE_REGISTERS &&
			operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			step->changed |= (uint16_t)(1u << number);
	}
	if (insn->operand_count_visible < 2)
		return;
	if (is_register(&operands[0]))
		step->to = number_of(operands[0].reg.value);
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV) {
		read_move(insn, operands, step);
	} else if (step->to == CODE_NOWHERE) {
		return;
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_LEA) {
		read_lea(insn, operands, step);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_ADD || insn->mnemonic == ZYDIS_MNEMONIC_SUB) {
		read_sum(insn, operands, step);
	} else if (is_choice(insn->mnemonic) && is_register(&operands[1])) {
		step->does = CODE_CHOOSES;
		step->from = number_of(operands[1].reg.value);
	}
}

static void read_transfer(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct code_step *step)
{
	ZydisInstructionCategory category = insn->meta.category;
	bool is_call = category == ZYDIS_CATEGORY_CALL;
	step->is_jump = category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR;
	step->goes_on = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET &&
			insn->mnemonic != ZYDIS_MNEMONIC_UD2 &&
			insn->mnemonic != ZYDIS_MNEMONIC_HLT;
	if (is_call) {
		step->does = CODE_CALLS;
		step->changed = CALL_CHANGES;
	}
	if (!is_call && !step->is_jump)
		return;
	uint8_t base = CODE_NOWHERE;
	int64_t slot = 0;
	if (is_number(&operands[0]))
		(void)ZydisCalcAbsoluteAddress(
			insn, &operands[0], step->address, &step->target); /* else it stays 0 */
	else if (read_place(insn, &operands[0], step->address, &base, &slot) && base == CODE_STATIC)
		step->slot = (uint64_t)slot;
	step->jumps_anywhere = step->is_jump && step->target == 0 && step->slot == 0;
}

static int add(struct code_steps *steps, const struct code_step *step)
{
	if (mem_grow(&steps->items, &steps->capacity, steps->count + 1, sizeof *steps->items) < 0)
		return -ENOMEM;
	if (step->is_jump) {
		if (mem_grow(&steps->jumps, &steps->jump_capacity, steps->jump_count + 1,
			    sizeof *steps->jumps) < 0)
			return -ENOMEM;
		/* A table's jumps may go to all that nothing else reaches: target 0. */
		steps->jumps[steps->jump_count++] = (struct jump){ step->target, steps->count };
	}
	steps->items[steps->count++] = *step;
	return 0;
}

static int decode(struct code_steps *steps, uint64_t address, const uint8_t *bytes, size_t size)
{
	ZydisDecoder decoder;
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -EOPNOTSUPP;
	for (size_t at = 0; at < size;) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			    &decoder, bytes + at, size - at, &insn, operands)))
			break;
		struct code_step step = { .address = address + at,
			.to = CODE_NOWHERE,
			.from = CODE_NOWHERE,
			.index = CODE_NOWHERE };
		read_effect(&insn, operands, &step);
		read_transfer(&insn, operands, &step);
		if (add(steps, &step) < 0)
			return -ENOMEM;
		at += insn.length;
		steps->end = address + at;
	}
	return 0;
}

static int by_target(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

int code_steps_new(uint64_t address, const void *bytes, size_t size, struct code_steps **ret)
{
	AUTO(code_steps) struct code_steps *steps = calloc(1, sizeof *steps);
	if (!steps)
		return -ENOMEM;
	int code = decode(steps, address, bytes, size);
	if (code < 0)
		return code;
	if (steps->jump_count > 0)
		qsort(steps->jumps, steps->jump_count, sizeof *steps->jumps, by_target);
	*ret = TAKE(steps);
	return 0;
}

size_t code_steps_count(const struct code_steps *steps)
{
	return steps->count;
}

const struct code_step *code_steps_at(const struct code_steps *steps, size_t index)
{
	return &steps->items[index];
}

static bool is_step_before(const void *step, const void *address)
{
	return ((const struct code_step *)step)->address < *(const uint64_t *)address;
}

/* The first step at or behind an address. */
static size_t find(const struct code_steps *steps, uint64_t address)
{
	return sorted_before(
		steps->items, steps->count, sizeof *steps->items, is_step_before, &address);
}

size_t code_steps_before(const struct code_steps *steps, uint64_t return_address)
{
	size_t index = find(steps, return_address);
	return index > 0 && return_address <= steps->end ? index - 1 : steps->count;
}

static bool is_jump_before(const void *jump, const void *target)
{
	return ((const struct jump *)jump)->target < *(const uint64_t *)target;
}

static size_t add_jumps(const struct code_steps *steps, uint64_t target, size_t *ret, size_t count)
{
	if (steps->jump_count == 0)
		return count;
	const struct jump *end = steps->jumps + steps->jump_count;
	const struct jump *jump = steps->jumps + sorted_before(steps->jumps, steps->jump_count,
							 sizeof *jump, is_jump_before, &target);
	for (; jump < end && jump->target == target && count < CODE_BEFORE_MAX; jump++)
		ret[count++] = jump->from;
	return count;
}

size_t code_steps_preceding(
	const struct code_steps *steps, size_t index, size_t ret[CODE_BEFORE_MAX])
{
	size_t count = 0;
	if (index > 0 && steps->items[index - 1].goes_on)
		ret[count++] = index - 1;
	count = add_jumps(steps, steps->items[index].address, ret, count);
	return count > 0 ? count : add_jumps(steps, 0, ret, 0);
}

#else

struct code_steps {
	struct code_step none;
};

int code_steps_new(uint64_t address, const void *bytes, size_t size, struct code_steps **ret)
{
	(void)address, (void)bytes, (void)size, (void)ret;
	return -EOPNOTSUPP;
}

void code_steps_free(struct code_steps *steps)
{
	(void)steps;
}

size_t code_steps_count(const struct code_steps *steps)
{
	(void)steps;
	return 0;
}

const struct code_step *code_steps_at(const struct code_steps *steps, size_t index)
{
	(void)index;
	return &steps->none;
}

size_t code_steps_before(const struct code_steps *steps, uint64_t return_address)
{
	(void)steps, (void)return_address;
	return 0;
}

size_t code_steps_preceding(
	const struct code_steps *steps, size_t index, size_t ret[CODE_BEFORE_MAX])
{
	(void)steps, (void)index, (void)ret;
	return 0;
}

#endif
