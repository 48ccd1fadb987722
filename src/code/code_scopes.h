/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What debug information says about an address of code: its compilation unit, and what it lies in. */
#ifndef CODE_CODE_SCOPES_H
#define CODE_CODE_SCOPES_H

#include "base/map.h"
#include "code/ranges.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_functions;

/* What has been read of a module: { 0 } at first. Units are read once, when an address of theirs is asked for. */
struct code_index {
	struct unit_functions *units;
	size_t unit_count, unit_capacity;
	struct map unit_index; /* a unit's place in its file -> which it is */
	struct ranges all; /* of all units, as numbers in all_units */
	Dwarf_Die **all_units;
	size_t all_count, all_capacity;
	uint64_t bias;
	bool has_all;
};

void code_index_release(struct code_index *index);

/* NULL: none. The unit's own addresses are less by *ret_bias. */
Dwarf_Die *code_unit(
	struct code_index *index, Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias);

enum { CODE_SCOPES_MAX = 32 };

/*
 * The function around an address of a unit, and the blocks and inlined functions in it, outermost
 * first. Returns their number; 0: none is known.
 */
size_t code_scopes(struct code_index *index, Dwarf_Die *unit, Dwarf_Addr address,
	Dwarf_Die ret[CODE_SCOPES_MAX]);

#endif
