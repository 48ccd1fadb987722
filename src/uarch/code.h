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
	uint8_t flags;
	uint8_t bytes; /* of the instruction */
	uint8_t data_bytes; /* of its memory operand; 0: none */
	uint32_t reserved;
};

/* Whether what it loads or stores is of a vector register. */
static inline bool code_uses_vectors(const struct code *code)
{
	uint64_t below = UINT64_C(1) << CODE_REGISTER_VECTOR;
	uint64_t vectors = (UINT64_C(1) << CODE_REGISTER_X87) - below;
	return (code->reads | code->writes) & vectors;
}

/*
 * Whether it only loads or stores (a load also with an operation on it) 4 or 8 bytes that are not a vector's, where no index
 * is added to the address: accesses that renamed memory knows. An address of one register twice counts as without index.
 */
static inline bool code_is_simple_access(const struct code *code)
{
	bool is_either = !(code->flags & CODE_LOAD) != !(code->flags & CODE_STORE);
	bool is_plain = code->class == CODE_MOVE || code->flags & CODE_LOAD;
	return is_either && is_plain && (code->data_bytes == 4 || code->data_bytes == 8) &&
	       !code_uses_vectors(code) && __builtin_popcountll(code->address_reads) <= 1;
}

const char *code_class_name(enum code_class class); /* "alu", "fp_add", ... */

#endif
