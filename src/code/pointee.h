/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a pointer in the middle of some code points to, by the types in debug information: from what is
 * known of a register or a place on the stack there to "pool.lock", a member of a struct.
 */
#ifndef CODE_POINTEE_H
#define CODE_POINTEE_H

#include "code/code_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	POINTER_LOADS_MAX = 6,
	/* Bases beside registers and CODE_STATIC. */
	POINTER_FRAME = CODE_NOWHERE + 1, /* the canonical frame address */
	POINTER_RETURNED, /* by the function at `function` */
};

/* A pointer: base + offsets[0], the word there + offsets[1], and so on. */
struct pointer {
	uint8_t base; /* a register, or one of the above */
	uint8_t count; /* of offsets: at least 1 */
	bool is_indexed; /* plus a distance that is not known */
	uint64_t function;
	int64_t offsets[POINTER_LOADS_MAX];
};

struct Dwfl_Module;
struct variables;
struct code_index;

/* Addresses as libdwfl counts. */
struct code_file {
	struct Dwfl_Module *module;
	struct variables *variables;
	struct code_index *index;
};

/* Where the canonical frame address is: that register (DWARF's number) + offset. */
struct frame_rule {
	int reg; /* -1: not known */
	int64_t offset;
};

/* Before the instruction at `address`, by its call frame information. */
struct frame_rule frame_rule_at(const struct code_file *file, uint64_t address);

/*
 * "pool.lock", "app::queue.mutex"; NULL: not known, or nothing that is worth saying. *ret_is_weak: the
 * struct is little more than the object itself, so that whoever holds the struct is more worth saying.
 * `address`: of the instruction before which that is so. The caller frees it.
 */
char *pointee_name(const struct code_file *file, uint64_t address, const struct pointer *pointer,
	bool *ret_is_weak);

/*
 * Which argument of the function around an address, counted from 0, is the only one that points to
 * nothing but a lock; -1: none.
 */
int pointee_lock_argument(const struct code_file *file, uint64_t address);

#endif
