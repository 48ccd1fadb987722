/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function's machine code (x86-64) as far as pointers go through it: what each instruction does to
 * registers and memory, and which ones may have run before it.
 */
#ifndef CODE_CODE_STEPS_H
#define CODE_CODE_STEPS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers have DWARF's numbers (System V ABI, AMD64 supplement, figure 3.36). */
enum code_register {
	CODE_RAX,
	CODE_RDX,
	CODE_RCX,
	CODE_RBX,
	CODE_RSI,
	CODE_RDI,
	CODE_RBP,
	CODE_RSP,
	CODE_REGISTERS = 16,
	CODE_STATIC = CODE_REGISTERS, /* no register: `offset` is an address */
	CODE_NOWHERE,
};

enum code_does {
	CODE_CHANGES, /* registers, in a way that is not followed */
	CODE_SETS, /* to = offset, a number */
	CODE_ADDS, /* to = from + offset */
	CODE_INDEXES, /* to = from + index + offset: one is a pointer, the other a distance */
	CODE_ADDS_MEMORY, /* to = to + memory at from + offset: one is a pointer */
	CODE_CHOOSES, /* to = from, or as it was */
	CODE_LOADS, /* to = memory at from + offset */
	CODE_STORES, /* memory at to + offset = from */
	CODE_CALLS,
};

struct code_step {
	uint64_t address;
	uint64_t target; /* of a call or jump; 0: none, or computed */
	uint64_t slot; /* a call or jump goes where the word at this address says; 0: it does not */
	int64_t offset;
	uint16_t changed; /* a bit for each register */
	uint8_t does, to, from, index;
	bool is_jump, goes_on; /* goes_on: what is behind may run next */
	bool jumps_anywhere;
};

struct code_steps;

/*
 * Decodes the bytes of a function, of which the first is at `address`. 0, -ENOMEM, or -EOPNOTSUPP in a
 * build that decodes nothing. The caller frees *ret.
 */
int code_steps_new(uint64_t address, const void *bytes, size_t size, struct code_steps **ret);
void code_steps_free(struct code_steps *steps);
CLEANUP_DEFINE(code_steps, code_steps_free)

/* In the order of their addresses; borrowed. */
size_t code_steps_count(const struct code_steps *steps);
const struct code_step *code_steps_at(const struct code_steps *steps, size_t index);

/* The step whose last byte lies before a return address; code_steps_count() if there is none. */
size_t code_steps_before(const struct code_steps *steps, uint64_t return_address);

enum { CODE_BEFORE_MAX = 16 };

/* Fills ret with the steps that may have run just before a step; returns how many: more are left out. */
size_t code_steps_preceding(
	const struct code_steps *steps, size_t index, size_t ret[CODE_BEFORE_MAX]);

#endif
