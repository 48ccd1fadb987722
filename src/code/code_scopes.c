/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/code_scopes.h"

#include <dwarf.h>
#include <stdbool.h>

/* clang leaves out the index by address: then every compilation unit is asked. */
Dwarf_Die *code_unit(Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, ret_bias);
	if (unit)
		return unit;
	unit = dwfl_module_nextcu(module, NULL, ret_bias);
	while (unit && dwarf_haspc(unit, address - *ret_bias) <= 0)
		unit = dwfl_module_nextcu(module, unit, ret_bias);
	return unit;
}

static bool holds_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block;
}

/* OpenMP's regions are functions of their own, which gcc puts into the one that they were written in. */
static bool find_nested(Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *ret)
{
	Dwarf_Die die;
	if (dwarf_child(function, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram && dwarf_haspc(&die, address) > 0) {
			*ret = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The child that the address lies in; namespaces hold code without having addresses. */
static bool find_child(Dwarf_Die *scope, Dwarf_Addr address, int depth, Dwarf_Die *ret)
{
	Dwarf_Die die;
	if (depth > CODE_SCOPES_MAX || dwarf_child(scope, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		if (holds_code(tag) && dwarf_haspc(&die, address) > 0) {
			*ret = die;
			return true;
		}
		if (tag == DW_TAG_namespace && find_child(&die, address, depth + 1, ret))
			return true;
		if (tag == DW_TAG_subprogram && find_nested(&die, address, ret))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/*
 * libdw's own (dwarf_getscopes) goes on from inlined code with where that was written, not where it
 * is, and that of Debian 12 finds nothing in some units of clang's.
 */
size_t code_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die ret[CODE_SCOPES_MAX])
{
	Dwarf_Die scope = *unit;
	size_t count = 0;
	while (count < CODE_SCOPES_MAX && find_child(&scope, address, 0, &scope))
		ret[count++] = scope;
	return count;
}
