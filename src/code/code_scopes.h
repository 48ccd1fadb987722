/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What debug information says about an address of code: its compilation unit, and what it lies in. */
#ifndef CODE_CODE_SCOPES_H
#define CODE_CODE_SCOPES_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: none. The unit's own addresses are less by *ret_bias. */
Dwarf_Die *code_unit(Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias);

enum { CODE_SCOPES_MAX = 32 };

/*
 * The function around an address of a unit, and the blocks and inlined functions in it, outermost
 * first. Returns their number; 0: none is known.
 */
size_t code_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die ret[CODE_SCOPES_MAX]);

#endif
