/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An instruction of the profiled program, as far as models of processors need it: what it does, which
 * registers it reads and writes. Decoded once by the profiler; nothing here knows an instruction set.
 *
 * An instruction is up to four micro-operations: a load, the operation itself, a store's address and its
 * data. CODE_LOAD and CODE_STORE in `flags` say which are there beside the operation of `class`; a plain
 * load or store has the class CODE_MOVE and no operation of its own.
 */
#ifndef UARCH_CODE_H
#define UARCH_CODE_H

#include <stdint.h>

enum code_class {
	CODE_MOVE, /* register moves; with CODE_LOAD or CODE_STORE: a plain load or store */
	CODE_NOP, /* also what is done at renaming: zeroing idioms */
	CODE_ALU, /* integer add, logic, compare, lea */
	CODE_SHIFT,
	CODE_MULTIPLY,
	CODE_DIVIDE,
	CODE_FP_ADD, /* also compare and convert */
	CODE_FP_MULTIPLY,
	CODE_FP_FMA,
	CODE_FP_DIVIDE, /* and square root */
	CODE_VECTOR, /* integer SIMD */
	CODE_SHUFFLE, /* SIMD permutes, moves between register files */
	CODE_BRANCH, /* conditional */
	CODE_JUMP, /* unconditional: direct, call, return; CODE_INDIRECT if the target is in a register or memory */
	CODE_ATOMIC, /* locked read-modify-write, and xchg with memory */
	CODE_FENCE,
	CODE_STRING, /* rep movs, rep stos, ...: microcode */
	CODE_SYSTEM, /* system call, cpuid, ... */
	CODE_OTHER,
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
};

/* Bits of register masks: 0-15 general, 16 flags, 17-48 vector, 49-56 x87 or masks, 57 other. */
struct code {
	uint64_t address; /* in the guest */
	uint64_t reads; /* registers read for the operation */
	uint64_t address_reads; /* registers read for the memory address */
	uint64_t writes;
	uint8_t class; /* enum code_class */
	uint8_t flags;
	uint8_t bytes; /* of the instruction */
	uint8_t data_bytes; /* of its memory operand; 0: none */
	uint32_t reserved;
};

const char *code_class_name(enum code_class class); /* "alu", "fp_add", ... */

#endif
