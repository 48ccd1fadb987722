/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An instruction of the profiled program, as far as models of processors need it: what it does, which
 * registers it reads and writes. Decoded once by the profiler; nothing here knows an instruction set.
 *
 * An instruction is up to three micro-operations: a load, the operation itself, a store (address and data
 * together). CODE_LOAD and CODE_STORE in `flags` say which are there beside the operation of `class`; a plain
 * load or store has the class CODE_MOVE and no operation of its own.
 */
#ifndef UARCH_CODE_H
#define UARCH_CODE_H

#include "plugin/code_class.h"

#include <stdbool.h>
#include <stdint.h>

/* Register masks: bits of enum code_registers. */
struct code {
	uint64_t address; /* in the guest */
	uint64_t reads; /* registers read for the operation */
	uint64_t address_reads; /* registers read for the memory address */
	uint64_t writes;
	uint8_t class; /* enum code_class */
	uint8_t bytes; /* of the instruction */
	uint8_t data_bytes; /* of its memory operand; 0: none */
	uint8_t reserved;
	uint16_t flags, more_reserved;
};

static const uint64_t code_vector_registers =
	(UINT64_C(1) << CODE_REGISTER_X87) - (UINT64_C(1) << CODE_REGISTER_VECTOR);

/* Whether what it loads or stores is of a vector register. */
static inline bool code_uses_vectors(const struct code *code)
{
	return (code->reads | code->writes) & code_vector_registers;
}

/* Whether it does nothing but what its load or its store does. */
static inline bool code_is_plain_access(const struct code *code)
{
	return code->class == CODE_MOVE && code->flags & (CODE_LOAD | CODE_STORE);
}

/* What is older is done before, and what is younger begins after. */
static inline bool code_is_serial(const struct code *code)
{
	return code->class == CODE_ATOMIC || code->class == CODE_FENCE ||
	       code->class == CODE_SYSTEM;
}

/* Compares that a branch right behind them is fused with. */
static inline bool code_sets_flags_for_branch(const struct code *code)
{
	return code->class == CODE_ALU && code->writes >> 16 & 1 && !(code->flags & CODE_STORE);
}

/* A conversion from a general register to a vector's. */
static inline bool code_crosses(const struct code *code)
{
	uint64_t general = (UINT64_C(1) << CODE_REGISTER_VECTOR) - 1;
	return code->class == CODE_CONVERT && code->reads & general && code_uses_vectors(code);
}

/*
 * What a core must be able to do to rename the memory of this access: 0, none can; 1: it loads (also with an operation on it)
 * or stores 4 or 8 bytes that are not a vector's, and no index is added to the address; 2: it does both, or has an index. An
 * address of one register twice counts as without index.
 */
static inline unsigned code_renaming(const struct code *code)
{
	bool is_plain = code->class == CODE_MOVE || code->flags & CODE_LOAD;
	if (!is_plain || (code->data_bytes != 4 && code->data_bytes != 8) ||
		code_uses_vectors(code))
		return 0;
	bool is_either = !(code->flags & CODE_LOAD) != !(code->flags & CODE_STORE);
	return is_either && __builtin_popcountll(code->address_reads) <= 1 ? 1 : 2;
}

/* Of a load that gets what a store wrote: the more of both; 0 if one of them cannot be renamed. */
static inline unsigned code_renaming_of_both(unsigned store, unsigned load)
{
	if (store == 0 || load == 0)
		return 0;
	return store > load ? store : load;
}

const char *code_class_name(enum code_class class); /* "alu", "fp_add", ... */

#endif
