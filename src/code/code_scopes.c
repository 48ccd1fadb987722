/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/code_scopes.h"

#include "base/mem.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* The functions of a unit by address. */
struct unit_functions {
	struct ranges ranges; /* as numbers in dies */
	Dwarf_Die *dies;
	size_t count, capacity;
};

void code_index_release(struct code_index *index)
{
	for (size_t i = 0; i < index->unit_count; i++) {
		ranges_release(&index->units[i].ranges);
		free(index->units[i].dies);
	}
	free(index->units);
	map_release(&index->unit_index);
	ranges_release(&index->all);
	free(index->all_units);
	*index = (struct code_index){ 0 };
}

static int add_ranges(struct ranges *ranges, Dwarf_Die *die, size_t number)
{
	Dwarf_Addr base = 0, begin = 0, end = 0;
	int status = 0;
	for (ptrdiff_t next = 0;
		status == 0 && (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0;)
		status = ranges_add(ranges, begin, end, 0, number);
	return status;
}

/* Without memory what was read so far is kept; as for the functions below. */
static void read_units(struct code_index *index, Dwfl_Module *module)
{
	Dwarf_Die *unit = NULL;
	index->has_all = true;
	while ((unit = dwfl_module_nextcu(module, unit, &index->bias))) {
		if (mem_grow(&index->all_units, &index->all_capacity, index->all_count + 1,
			    sizeof(Dwarf_Die *)) < 0 ||
			add_ranges(&index->all, unit, index->all_count) < 0)
			break;
		index->all_units[index->all_count++] = unit;
	}
	ranges_sort(&index->all);
}

/* clang leaves out the index by address: then every compilation unit is read. */
Dwarf_Die *code_unit(
	struct code_index *index, Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, ret_bias);
	if (unit)
		return unit;
	if (!index->has_all)
		read_units(index, module);
	const struct range *found = ranges_find(&index->all, address - index->bias);
	*ret_bias = index->bias;
	return found ? index->all_units[found->index] : NULL;
}

static bool holds_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block;
}

static int add_function(struct unit_functions *unit, const Dwarf_Die *function)
{
	if (mem_grow(&unit->dies, &unit->capacity, unit->count + 1, sizeof unit->dies[0]) < 0)
		return -ENOMEM;
	Dwarf_Die *die = &unit->dies[unit->count++];
	*die = *function;
	return add_ranges(&unit->ranges, die, unit->count - 1);
}

/* OpenMP's regions are functions of their own, which gcc puts into the one that they were written in. */
static int add_nested(struct unit_functions *unit, Dwarf_Die *function)
{
	Dwarf_Die die;
	int status = 0;
	if (dwarf_child(function, &die) != 0)
		return 0;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			status = add_function(unit, &die);
	} while (status == 0 && dwarf_siblingof(&die, &die) == 0);
	return status;
}

/* Namespaces hold code without having addresses. */
static int add_functions(struct unit_functions *unit, Dwarf_Die *scope, int depth)
{
	Dwarf_Die die;
	int status = 0;
	if (depth > CODE_SCOPES_MAX || dwarf_child(scope, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);
		if (holds_code(tag))
			status = add_function(unit, &die);
		if (status == 0 && tag == DW_TAG_namespace)
			status = add_functions(unit, &die, depth + 1);
		if (status == 0 && tag == DW_TAG_subprogram)
			status = add_nested(unit, &die);
	} while (status == 0 && dwarf_siblingof(&die, &die) == 0);
	return status;
}

/* NULL without memory. */
static struct unit_functions *functions_of(struct code_index *index, Dwarf_Die *unit)
{
	uint64_t *place;
	if (mem_grow(&index->units, &index->unit_capacity, index->unit_count + 1,
		    sizeof index->units[0]) < 0 ||
		map_add(&index->unit_index, dwarf_dieoffset(unit), (uintptr_t)unit->cu,
			index->unit_count, &place) < 0)
		return NULL;
	struct unit_functions *functions = &index->units[*place];
	if (*place < index->unit_count)
		return functions;
	*functions = (struct unit_functions){ 0 };
	index->unit_count++;
	(void)add_functions(functions, unit, 0); /* what there was memory for is kept */
	ranges_sort(&functions->ranges);
	return functions;
}

/* What of a function, or of what is in it, the address lies in. */
static bool find_child(Dwarf_Die *scope, Dwarf_Addr address, Dwarf_Die *ret)
{
	Dwarf_Die die;
	if (dwarf_child(scope, &die) != 0)
		return false;
	do {
		if (holds_code(dwarf_tag(&die)) && dwarf_haspc(&die, address) > 0) {
			*ret = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/*
 * libdw's own (dwarf_getscopes) goes on from inlined code with where that was written, not where it
 * is, and that of Debian 12 finds nothing in some units of clang's.
 */
size_t code_scopes(struct code_index *index, Dwarf_Die *unit, Dwarf_Addr address,
	Dwarf_Die ret[CODE_SCOPES_MAX])
{
	const struct unit_functions *functions = functions_of(index, unit);
	const struct range *found = functions ? ranges_find(&functions->ranges, address) : NULL;
	if (!found)
		return 0;
	Dwarf_Die scope = functions->dies[found->index];
	size_t count = 0;
	do
		ret[count++] = scope;
	while (count < CODE_SCOPES_MAX && find_child(&scope, address, &scope));
	return count;
}
