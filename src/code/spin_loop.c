/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/spin_loop.h"

#include <stdbool.h>
#include <string.h>

#if HAVE_ZYDIS && defined(__x86_64__)

#include <Zydis/Zydis.h>

enum { STEPS_MAX = 48 };

struct step {
	uint64_t address, next, target; /* 0: does not go on, or jump */
	size_t from; /* the step before it on the shortest way from the first */
	bool is_pause, is_inert, reads;
	uint32_t written,
		based; /* registers: a bit for each; based: those that addresses are made of */
};

struct code {
	ZydisDecoder decoder;
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	struct step steps[STEPS_MAX]; /* in the order of their distance from the first */
	size_t count;
};

static uint32_t bit_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return 0;
	return 1u << ZydisRegisterGetId(whole);
}

static bool is_stack(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       (operand->mem.base == ZYDIS_REGISTER_RSP || operand->mem.base == ZYDIS_REGISTER_RBP);
}

static void read_operand(const ZydisDecodedOperand *operand, struct step *step)
{
	bool is_written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && is_written)
		step->written |= bit_of(operand->reg.value);
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	step->based |= bit_of(operand->mem.base) | bit_of(operand->mem.index);
	step->reads |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !is_stack(operand);
}

/* Copies, compares, or exchanges with memory: from the same it makes the same. */
static bool computes_nothing(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER || is_stack(&operands[0]);
	case ZYDIS_MNEMONIC_XOR:
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[0].reg.value == operands[1].reg.value;
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_PAUSE:
		return true;
	default:
		return insn->meta.category == ZYDIS_CATEGORY_COND_BR ||
		       insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	}
}

static void read_ways(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, struct step *step)
{
	ZydisInstructionCategory category = insn->meta.category;
	bool is_jump = category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR;
	bool is_left = category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_RET ||
		       category == ZYDIS_CATEGORY_SYSCALL;
	if (!is_left && category != ZYDIS_CATEGORY_UNCOND_BR)
		step->next = step->address + insn->length;
	if (is_jump && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		(void)ZydisCalcAbsoluteAddress(
			insn, &operands[0], step->address, &step->target); /* else it stays 0 */
}

/* Finds the step at an address, which it adds. False: it is known, lies outside, is no instruction, or there are too many. */
static bool add(struct code *code, uint64_t address, size_t from)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t offset = address - code->address;
	if (code->count == STEPS_MAX || address < code->address || offset >= code->size)
		return false;
	for (size_t i = 0; i < code->count; i++)
		if (code->steps[i].address == address)
			return false;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		    &code->decoder, code->bytes + offset, code->size - offset, &insn, operands)))
		return false;
	struct step step = { .address = address, .from = from };
	step.is_pause = insn.mnemonic == ZYDIS_MNEMONIC_PAUSE;
	step.is_inert = computes_nothing(&insn, operands);
	for (unsigned i = 0; i < insn.operand_count; i++)
		read_operand(&operands[i], &step);
	read_ways(&insn, operands, &step);
	code->steps[code->count++] = step;
	return true;
}

/* The last step of the shortest way from the first one back to it; STEPS_MAX: there is none. */
static size_t find_cycle(struct code *code, uint64_t at)
{
	(void)add(code, at, 0);
	for (size_t i = 0; i < code->count; i++) {
		const uint64_t ways[] = { code->steps[i].next, code->steps[i].target };
		for (size_t way = 0; way < 2; way++) {
			if (ways[way] == at)
				return i;
			if (ways[way])
				(void)add(code, ways[way],
					i); /* what cannot be followed is no way back */
		}
	}
	return STEPS_MAX;
}

static uint64_t judge_cycle(const struct code *code, size_t last)
{
	uint64_t pause = 0, lowest = UINT64_MAX;
	uint32_t written = 0, based = 0;
	bool is_inert = true, reads = false;
	for (size_t i = last;; i = code->steps[i].from) {
		const struct step *step = &code->steps[i];
		if (step->is_pause)
			pause = step->address;
		if (step->address < lowest)
			lowest = step->address;
		written |= step->written;
		based |= step->based;
		is_inert &= step->is_inert;
		reads |= step->reads;
		if (i == 0)
			break;
	}
	if (pause)
		return pause;
	return is_inert && reads && !(written & based) ? lowest : 0;
}

static uint64_t find_loop(uint64_t address, const void *bytes, size_t size, uint64_t at)
{
	struct code code = { .address = address, .bytes = bytes, .size = size };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(
		    &code.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return 0;
	size_t last = find_cycle(&code, at);
	return last < STEPS_MAX ? judge_cycle(&code, last) : 0;
}

#else

static uint64_t find_loop(uint64_t address, const void *bytes, size_t size, uint64_t at)
{
	(void)address;
	(void)bytes;
	(void)size;
	(void)at;
	return 0;
}

#endif

#if defined(__x86_64__)
/* Where an instruction with these bytes begins, if it ends at `at`; 0. */
static uint64_t find_before(
	uint64_t address, const void *bytes, uint64_t at, const char *wanted, size_t count)
{
	const char *end = (const char *)bytes + (at - address);
	return at - address >= count && memcmp(end - count, wanted, count) == 0 ? at - count : 0;
}

/* PAUSE takes longer than all else in a loop, also if that is in the callers; mov $24, %eax; syscall gives up the core. */
static uint64_t find_behind(uint64_t address, const void *bytes, uint64_t at)
{
	uint64_t pause = find_before(address, bytes, at, "\xf3\x90", 2);
	return pause ? pause : find_before(address, bytes, at, "\xb8\x18\0\0\0\x0f\x05", 7);
}
#else
static uint64_t find_behind(uint64_t address, const void *bytes, uint64_t at)
{
	(void)address;
	(void)bytes;
	(void)at;
	return 0;
}
#endif

uint64_t spin_loop_find(uint64_t address, const void *bytes, size_t size, uint64_t at)
{
	if (at < address || at - address >= size)
		return 0;
	uint64_t behind = find_behind(address, bytes, at);
	return behind ? behind : find_loop(address, bytes, size, at);
}
