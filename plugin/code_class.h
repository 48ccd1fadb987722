/* SPDX-License-Identifier: MIT */
/*
 * What an instruction does: shared by those who decode (the backends of the profiler) and those who model
 * (src/uarch/code.h).
 */
#ifndef PLUGIN_CODE_CLASS_H
#define PLUGIN_CODE_CLASS_H

enum code_class {
	CODE_MOVE, /* register moves; with CODE_LOAD or CODE_STORE: a plain load or store */
	CODE_NOP, /* also what is done at renaming: zeroing idioms */
	CODE_ALU, /* integer add, logic, compare, lea of two parts */
	CODE_SHIFT,
	CODE_MULTIPLY,
	CODE_DIVIDE, /* of 64 bits: CODE_DIVIDE_LONG */
	CODE_FP_ADD, /* also compare */
	CODE_FP_MULTIPLY,
	CODE_FP_FMA,
	CODE_FP_DIVIDE, /* of single precision: CODE_FP_DIVIDE_SINGLE */
	CODE_VECTOR, /* integer SIMD */
	CODE_SHUFFLE, /* SIMD permutes */
	CODE_BRANCH, /* conditional */
	CODE_JUMP, /* unconditional: direct, call, return; CODE_INDIRECT if the target is in a register or memory */
	CODE_ATOMIC, /* locked read-modify-write, and xchg with memory */
	CODE_FENCE,
	CODE_STRING, /* rep movs, rep stos, ...: microcode; of more than bytes: CODE_STRING_WORDS */
	CODE_SYSTEM, /* system call, cpuid, ... */
	CODE_OTHER,
	CODE_CONVERT, /* between integers and floating point, and between its precisions */
	CODE_FP_DIVIDE_SINGLE,
	CODE_DIVIDE_LONG,
	CODE_FP_ROOT, /* square root; of single precision: CODE_FP_ROOT_SINGLE */
	CODE_FP_ROOT_SINGLE,
	CODE_STRING_WORDS,
	CODE_LEA, /* of three parts: base, index and displacement */
	CODE_SELECT, /* conditional moves by two flags or more: of signed "less", unsigned "not above", and their like */
	CODE_BIT_COUNT, /* popcnt, tzcnt, bsf, ... */
	CODE_CROSS, /* moves from general registers to those of vectors, and back */
	CODE_CONDITION, /* conditional moves by one flag; sets of a register or byte by flags */
	CODE_CLASSES,
};

enum code_flags {
	CODE_LOAD = 1,
	CODE_STORE = 2,
	CODE_INDIRECT = 4,
	CODE_CALL = 8,
	CODE_RETURN = 16,
	CODE_WIDE = 32, /* 256-bit vectors */
	CODE_WIDEST = 64, /* 512-bit vectors */
	CODE_CONDITIONAL = 128, /* a move or store that may not happen: it reads its target */
	CODE_SCALED =
		256, /* the address of its memory operand has an index that is multiplied, or three parts */
	CODE_PREFETCH =
		512, /* it asks for a line, of which emulators do not tell the address: CODE_ALU, which reads its registers */
};

/* Bits of register masks. */
enum code_registers {
	CODE_REGISTER_FLAGS = 16, /* 0-15: general */
	CODE_REGISTER_VECTOR = 17, /* 17-48 */
	CODE_REGISTER_X87 = 49, /* 49-56: x87, MMX, masks */
	CODE_REGISTER_OTHER = 57,
};

static inline _Bool code_is_string(unsigned class)
{
	return class == CODE_STRING || class == CODE_STRING_WORDS;
}

#endif
