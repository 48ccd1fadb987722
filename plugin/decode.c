/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zydis says what each operand is; its category and the instruction's name say the class. Names of vector
 * instructions are built from parts, so a table of their beginnings is enough.
 */
#include "decode.h"

#include "code_class.h"

#include <Zydis/Zydis.h>
#include <string.h>

struct prefix {
	const char *text;
	enum code_class class;
};

/* Beginnings of names of vector instructions, without the v of VEX; the first that fits. */
static const struct prefix vector_names[] = {
	{ "fmadd", CODE_FP_FMA },
	{ "fmsub", CODE_FP_FMA },
	{ "fnm", CODE_FP_FMA },
	{ "divss", CODE_FP_DIVIDE_SINGLE },
	{ "divps", CODE_FP_DIVIDE_SINGLE },
	{ "div", CODE_FP_DIVIDE },
	{ "sqrtss", CODE_FP_ROOT_SINGLE },
	{ "sqrtps", CODE_FP_ROOT_SINGLE },
	{ "sqrt", CODE_FP_ROOT },
	{ "mul", CODE_FP_MULTIPLY },
	{ "dpp", CODE_FP_MULTIPLY },
	{ "rcp", CODE_FP_MULTIPLY },
	{ "rsqrt", CODE_FP_MULTIPLY },
	/* On the multiplier of the vector units. */
	{ "pmul", CODE_FP_MULTIPLY },
	{ "pmadd", CODE_FP_MULTIPLY },
	{ "psad", CODE_FP_MULTIPLY },
	{ "pclmul", CODE_FP_MULTIPLY },
	{ "aes", CODE_FP_MULTIPLY },
	{ "add", CODE_FP_ADD },
	{ "sub", CODE_FP_ADD },
	{ "hadd", CODE_FP_ADD },
	{ "hsub", CODE_FP_ADD },
	{ "min", CODE_FP_ADD },
	{ "max", CODE_FP_ADD },
	{ "cmp", CODE_FP_ADD },
	{ "comi", CODE_FP_ADD },
	{ "ucomi", CODE_FP_ADD },
	{ "cvt", CODE_CONVERT },
	{ "round", CODE_FP_ADD },
	{ "movmsk", CODE_SHUFFLE },
	{ "movhl", CODE_SHUFFLE },
	{ "movlh", CODE_SHUFFLE },
	{ "movddup", CODE_SHUFFLE },
	{ "movsh", CODE_SHUFFLE },
	{ "movsl", CODE_SHUFFLE },
	{ "mov", CODE_MOVE },
	{ "lddqu", CODE_MOVE },
	{ "maskmov", CODE_MOVE },
	{ "pmaskmov", CODE_MOVE },
	{ "shuf", CODE_SHUFFLE },
	{ "unpck", CODE_SHUFFLE },
	{ "punpck", CODE_SHUFFLE },
	{ "pshuf", CODE_SHUFFLE },
	{ "perm", CODE_SHUFFLE },
	{ "pack", CODE_SHUFFLE },
	{ "palign", CODE_SHUFFLE },
	{ "pslldq", CODE_SHUFFLE },
	{ "psrldq", CODE_SHUFFLE },
	{ "pinsr", CODE_SHUFFLE },
	{ "pextr", CODE_SHUFFLE },
	{ "insert", CODE_SHUFFLE },
	{ "extract", CODE_SHUFFLE },
	{ "broadcast", CODE_SHUFFLE },
	{ "pbroadcast", CODE_SHUFFLE },
	{ "pmovmsk", CODE_SHUFFLE },
	{ "pmovsx", CODE_SHUFFLE },
	{ "pmovzx", CODE_SHUFFLE },
	{ "zeroupper", CODE_NOP },
	{ "zeroall", CODE_NOP },
	{ "ldmxcsr",
		CODE_OTHER }, /* it does not hold up others: 2 cycles on a Zen 4, 3 on Intel's */
	{ "stmxcsr", CODE_OTHER },
	{ "", CODE_VECTOR },
};

static const struct prefix x87_names[] = {
	{ "fdiv", CODE_FP_DIVIDE },
	{ "fidiv", CODE_FP_DIVIDE },
	{ "fsqrt", CODE_FP_ROOT },
	{ "fmul", CODE_FP_MULTIPLY },
	{ "fimul", CODE_FP_MULTIPLY },
	{ "fadd", CODE_FP_ADD },
	{ "fiadd", CODE_FP_ADD },
	{ "fsub", CODE_FP_ADD },
	{ "fisub", CODE_FP_ADD },
	{ "fcom", CODE_FP_ADD },
	{ "fucom", CODE_FP_ADD },
	{ "fild", CODE_CONVERT },
	{ "fist", CODE_CONVERT },
	{ "fld", CODE_MOVE },
	{ "fst", CODE_MOVE },
	{ "fxch", CODE_NOP },
	{ "fchs", CODE_ALU },
	{ "fabs", CODE_ALU },
	{ "", CODE_OTHER },
};

/* General instructions whose category says too little. */
static const struct prefix general_names[] = {
	{ "imul", CODE_MULTIPLY },
	{ "mul", CODE_MULTIPLY },
	{ "div", CODE_DIVIDE },
	{ "idiv", CODE_DIVIDE },
	{ "mfence", CODE_FENCE },
	{ "lfence", CODE_FENCE },
	{ "sfence", CODE_FENCE },
	{ "sarx", CODE_SHIFT },
	{ "shlx", CODE_SHIFT },
	{ "shrx", CODE_SHIFT },
	{ "rorx", CODE_SHIFT },
	{ "popcnt", CODE_BIT_COUNT },
	{ "lzcnt", CODE_BIT_COUNT },
	{ "tzcnt", CODE_BIT_COUNT },
	{ "bsf", CODE_BIT_COUNT },
	{ "bsr", CODE_BIT_COUNT },
	/* As long as a multiplication, in the same unit. */
	{ "crc32", CODE_MULTIPLY },
	{ "pdep", CODE_MULTIPLY },
	{ "pext", CODE_MULTIPLY },
	{ "cmov", CODE_CONDITION },
	{ "set", CODE_CONDITION },
	{ "lea", CODE_ALU },
	{ "leave", CODE_MOVE },
	{ "movsx", CODE_ALU },
	{ "xchg", CODE_MOVE },
	{ "mov", CODE_MOVE },
	{ "push", CODE_MOVE },
	{ "pop", CODE_MOVE },
	{ "prefetch", CODE_ALU },
	{ "endbr", CODE_NOP },
	{ "nop", CODE_NOP },
	{ "pause", CODE_SYSTEM },
	{ "cpuid", CODE_SYSTEM },
	{ "rdtsc", CODE_SYSTEM },
	{ "xgetbv", CODE_SYSTEM },
	{ "", CODE_ALU },
};

static enum code_class find_prefix(const struct prefix *table, const char *name)
{
	while (strncmp(name, table->text, strlen(table->text)) != 0)
		table++;
	return table->class;
}

static int register_bit(ZydisRegister reg)
{
	int id = (int)ZydisRegisterGetId(reg); /* -1: none */
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		/* ah is id 4 of its class: ask for the whole. */
		id = (int)ZydisRegisterGetId(
			ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
		return id >= 0 && id < 16 ? id : -1;
	case ZYDIS_REGCLASS_FLAGS:
		return CODE_REGISTER_FLAGS;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return CODE_REGISTER_VECTOR + (id & 31);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_MASK:
		return CODE_REGISTER_X87 + (id & 7);
	default:
		return -1; /* the instruction pointer, segments, control words: no dependence */
	}
}

static uint64_t register_mask(ZydisRegister reg)
{
	int bit = register_bit(reg);
	return bit < 0 ? 0 : UINT64_C(1) << bit;
}

static bool is_vector_register(ZydisRegister reg)
{
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	return class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
	       class == ZYDIS_REGCLASS_ZMM || class == ZYDIS_REGCLASS_MMX;
}

static bool has_vector(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < insn->operand_count_visible; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			is_vector_register(operands[i].reg.value))
			return true;
	}
	return false;
}

static enum code_class vector_class(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, const char *name)
{
	if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && name[0] == 'v')
		name++;
	enum code_class class = find_prefix(vector_names, name);
	if (class != CODE_MOVE)
		return class;
	/* From one register file to the other. */
	bool general = false;
	for (int i = 0; i < insn->operand_count_visible; i++) {
		general |= operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   register_bit(operands[i].reg.value) < CODE_REGISTER_FLAGS;
	}
	return general ? CODE_CROSS : CODE_MOVE;
}

/* Instructions of one name that take unlike long by what their operands are. */
static enum code_class general_class(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, const char *name)
{
	enum code_class class = find_prefix(general_names, name);
	if (class == CODE_DIVIDE && insn->operand_width == 64)
		return CODE_DIVIDE_LONG;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_LEA: {
		const ZydisDecodedOperandMem *address = &operands[1].mem;
		bool has_three = address->base != ZYDIS_REGISTER_NONE &&
				 address->index != ZYDIS_REGISTER_NONE && address->disp.value != 0;
		return has_three ? CODE_LEA : class;
	}
	case ZYDIS_MNEMONIC_CMOVBE:
	case ZYDIS_MNEMONIC_CMOVNBE:
	case ZYDIS_MNEMONIC_CMOVL:
	case ZYDIS_MNEMONIC_CMOVNL:
	case ZYDIS_MNEMONIC_CMOVLE:
	case ZYDIS_MNEMONIC_CMOVNLE:
		return CODE_SELECT;
	default:
		return class;
	}
}

static enum code_class classify(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	if (!name)
		return CODE_OTHER;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return CODE_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return CODE_JUMP;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CET:
		return CODE_NOP;
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_ROTATE:
		return CODE_SHIFT;
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return CODE_STRING;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_SERIALIZE:
		return CODE_SYSTEM;
	case ZYDIS_CATEGORY_X87_ALU:
	case ZYDIS_CATEGORY_FCMOV:
		return find_prefix(x87_names, name);
	case ZYDIS_CATEGORY_VFMA:
		return CODE_FP_FMA;
	default:
		if (has_vector(insn, operands))
			return vector_class(insn, operands, name);
		if (name[0] == 'v')
			return find_prefix(vector_names, name + 1);
		return general_class(insn, operands, name);
	}
}

/* The same register twice, and the result does not depend on it: 2 if it is zero, 1 if not (all ones). */
static int independent(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	int last = insn->operand_count_visible - 1;
	if (last < 1 || last > 2 || operands[last].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		operands[last - 1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		operands[last].reg.value != operands[last - 1].reg.value)
		return 0;
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	if (!name)
		return 0;
	if (!is_vector_register(operands[last].reg.value)) {
		return (insn->mnemonic == ZYDIS_MNEMONIC_XOR ||
			       insn->mnemonic == ZYDIS_MNEMONIC_SUB) &&
				       operands[last].size >= 32
			       ? 2
			       : 0;
	}
	name += name[0] == 'v';
	static const char *const zero[] = { "pxor", "xorp", "psub", "pcmpgt" };
	for (size_t i = 0; i < sizeof(zero) / sizeof(*zero); i++) {
		if (strncmp(name, zero[i], strlen(zero[i])) == 0)
			return 2;
	}
	return strncmp(name, "pcmpeq", 6) == 0;
}

/* Whether an operation of legacy SSE leaves the upper part of its target as it was. */
static bool keeps_upper_part(
	const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || insn->operand_count_visible < 2)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		return operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		return true;
	default:
		return false;
	}
}

static void add_register(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
	struct raw_code *code)
{
	uint64_t mask = register_mask(operand->reg.value);
	bool conditional = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
			   !(operand->actions & ZYDIS_OPERAND_ACTION_WRITE);
	bool part = ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_GPR8 ||
		    ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_GPR16;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		code->reads |= mask;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		code->writes |= mask;
		if (conditional || part)
			code->reads |= mask;
		if (conditional && insn->meta.category == ZYDIS_CATEGORY_CMOV)
			code->flags |= CODE_CONDITIONAL;
	}
	if (ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_YMM)
		code->flags |= CODE_WIDE;
	if (ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_ZMM)
		code->flags |= CODE_WIDEST;
}

static bool is_prefetch(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       insn->meta.category == ZYDIS_CATEGORY_PREFETCHWT1;
}

static void add_memory(const ZydisDecodedOperand *operand, struct raw_code *code)
{
	/* lea: the address is the operand. */
	bool is_address = operand->mem.type != ZYDIS_MEMOP_TYPE_MEM &&
			  operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB;
	uint64_t mask = register_mask(operand->mem.base) | register_mask(operand->mem.index);
	if (is_address || code->class == CODE_NOP || code->flags & CODE_PREFETCH) {
		code->reads |= code->class == CODE_NOP ? 0 : mask;
		return;
	}
	code->address_reads |= mask;
	bool has_three = operand->mem.base != ZYDIS_REGISTER_NONE && operand->mem.disp.value != 0;
	if (operand->mem.index != ZYDIS_REGISTER_NONE && (operand->mem.scale > 1 || has_three))
		code->flags |= CODE_SCALED;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		code->flags |= CODE_LOAD;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		code->flags |= CODE_STORE;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		!(operand->actions & ZYDIS_OPERAND_ACTION_WRITE))
		code->flags |= CODE_CONDITIONAL;
	unsigned bytes = operand->size / 8;
	code->data_bytes = bytes < 255 ? (uint8_t)bytes : 255;
	if (code->class == CODE_STRING && code->data_bytes > 1)
		code->class = CODE_STRING_WORDS;
}

static void add_operands(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct raw_code *code)
{
	for (int i = 0; i < insn->operand_count; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(insn, &operands[i], code);
		else if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(&operands[i], code);
	}
	if (insn->cpu_flags) {
		const ZydisAccessedFlags *flags = insn->cpu_flags;
		uint64_t mask = UINT64_C(1) << CODE_REGISTER_FLAGS;
		if (!flags->tested)
			code->reads &= ~mask; /* Zydis: flags that stay count as read */
		if (flags->modified | flags->set_0 | flags->set_1 | flags->undefined)
			code->writes |= mask;
	}
	if (keeps_upper_part(insn, operands))
		code->reads |= register_mask(operands[0].reg.value);
}

static void add_jump(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct raw_code *code)
{
	if (insn->meta.category == ZYDIS_CATEGORY_CALL)
		code->flags |= CODE_CALL;
	if (insn->meta.category == ZYDIS_CATEGORY_RET)
		code->flags |= CODE_RETURN;
	else if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		code->flags |= CODE_INDIRECT;
}

static uint8_t register_of(ZydisRegister reg)
{
	int bit = register_bit(reg);
	return bit >= 0 && bit < DECODED_REGISTERS ? (uint8_t)bit : DECODED_NONE;
}

static void add_address(uint64_t address, const ZydisDecodedInstruction *insn,
	const ZydisDecodedOperand *operand, struct decoded_address *ret)
{
	const ZydisDecodedOperandMem *memory = &operand->mem;
	bool is_relative = memory->base == ZYDIS_REGISTER_RIP;
	ret->base = register_of(memory->base);
	ret->index = register_of(memory->index);
	ret->scale = memory->scale;
	ret->segment = memory->segment == ZYDIS_REGISTER_FS   ? 1
		       : memory->segment == ZYDIS_REGISTER_GS ? 2
							      : 0;
	ret->displacement = memory->disp.value;
	if (is_relative)
		ret->displacement += (int64_t)address + insn->length;
	ret->is_known =
		memory->type == ZYDIS_MEMOP_TYPE_MEM && insn->address_width == 64 &&
		(is_relative || memory->base == ZYDIS_REGISTER_NONE || ret->base != DECODED_NONE) &&
		(memory->index == ZYDIS_REGISTER_NONE || ret->index != DECODED_NONE);
}

static void add_move(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	struct decoded_address *ret)
{
	const ZydisDecodedOperand *from = &operands[1];
	bool is_sum = insn->mnemonic == ZYDIS_MNEMONIC_ADD || insn->mnemonic == ZYDIS_MNEMONIC_SUB;
	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		ZydisRegisterGetClass(operands[0].reg.value) != ZYDIS_REGCLASS_GPR64)
		return;
	bool is_moved = true;
	if (is_sum && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		ret->move = insn->mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s
								 : -from->imm.value.s;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_INC || insn->mnemonic == ZYDIS_MNEMONIC_DEC)
		ret->move = insn->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
	else if (insn->mnemonic == ZYDIS_MNEMONIC_LEA && from->mem.base == operands[0].reg.value &&
		 insn->address_width == 64 && from->mem.index == ZYDIS_REGISTER_NONE)
		ret->move = from->mem.disp.value;
	else
		is_moved = false;
	if (is_moved)
		ret->moved = register_of(operands[0].reg.value);
}

/* A push is to below the stack pointer, which comes down to it; a pop the reverse. */
static void add_stack(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
	const ZydisDecodedOperand *memory, bool is_one, struct decoded_address *ret)
{
	bool is_push =
		insn->mnemonic == ZYDIS_MNEMONIC_PUSH || insn->mnemonic == ZYDIS_MNEMONIC_CALL;
	bool is_pop = insn->mnemonic == ZYDIS_MNEMONIC_POP || insn->mnemonic == ZYDIS_MNEMONIC_RET;
	if (!is_push && !is_pop)
		return;
	ret->is_known = is_one && memory->size == 64 && memory->mem.base == ZYDIS_REGISTER_RSP;
	ret->base = register_of(ZYDIS_REGISTER_RSP);
	ret->displacement = is_push ? -8 : 0;
	bool is_loaded = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 operands[0].reg.value == ZYDIS_REGISTER_RSP;
	if (!ret->is_known || is_loaded)
		return;
	ret->moved = ret->base;
	ret->move = is_push ? -8 : 8;
}

static void find_address(uint64_t address, const ZydisDecodedInstruction *insn,
	const ZydisDecodedOperand *operands, struct decoded_address *ret)
{
	const ZydisDecodedOperand *memory = NULL;
	unsigned in_memory = 0;
	for (int i = 0; i < insn->operand_count; i++) {
		if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		memory = &operands[i];
		in_memory++;
	}
	if (in_memory == 1)
		add_address(address, insn, memory, ret);
	add_move(insn, operands, ret);
	if (memory)
		add_stack(insn, operands, memory, in_memory == 1, ret);
}

/* Renaming does moves of general registers of 32 bits and more. */
static bool moves_narrow(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_MOVZX ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOV && operands[0].size < 32);
}

bool decode(uint64_t address, const void *bytes, size_t size, struct raw_code *ret_code,
	struct decoded_address *ret_address)
{
	const struct decoded_address none = {
		.base = DECODED_NONE, .index = DECODED_NONE, .moved = DECODED_NONE
	};
	if (ret_address)
		*ret_address = none;
	*ret_code = (struct raw_code){
		.address = address, .class = CODE_OTHER, .bytes = (uint8_t)size
	};
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
		!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn, operands)))
		return false;
	ret_code->bytes = insn.length;
	ret_code->class = (uint8_t)classify(&insn, operands);
	if (is_prefetch(&insn))
		ret_code->flags |= CODE_PREFETCH;
	add_operands(&insn, operands, ret_code);
	if (ret_code->class == CODE_JUMP)
		add_jump(&insn, operands, ret_code);
	bool has_memory = ret_code->flags & (CODE_LOAD | CODE_STORE);
	if (insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
		(insn.mnemonic == ZYDIS_MNEMONIC_XCHG && has_memory))
		ret_code->class = CODE_ATOMIC;
	if (insn.mnemonic == ZYDIS_MNEMONIC_MOVSX && has_memory)
		ret_code->class = CODE_MOVE;
	if (!has_memory && moves_narrow(&insn, operands))
		ret_code->class = CODE_ALU;
	if (ret_address)
		find_address(address, &insn, operands, ret_address);
	int idiom = independent(&insn, operands);
	if (idiom) {
		ret_code->reads = 0;
		if (idiom == 2)
			ret_code->class = CODE_NOP;
	}
	return true;
}
