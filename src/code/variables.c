/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/variables.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/strbuf.h"
#include "code/code_scopes.h"
#include "code/demangle.h"
#include "code/die.h"
#include "code/member_path.h"
#include "code/variable_type.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NESTING_MAX = 32, /* of scopes: namespaces, functions, blocks */
	X86_64_FRAME_POINTER = 6, /* DWARF's numbers of registers */
	X86_64_STACK_POINTER = 7,
	X86_64_SAVED_BYTES = 16, /* between frame pointer and canonical frame address */
};

struct variable {
	uint64_t address, bytes;
	Dwarf_Die die;
	Dwarf_Die function; /* whose it is */
	bool has_function;
};

void variables_release(struct variables *variables)
{
	free(variables->items);
	*variables = (struct variables){ 0 };
}

/* The address that an expression is, if it is that alone. */
static bool read_address(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute location, indexed;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	if (!dwarf_attr_integrate(die, DW_AT_location, &location) ||
		dwarf_getlocation(&location, &ops, &count) != 0 || count != 1)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*ret = ops[0].number;
		return true;
	}
	Dwarf_Addr address = 0;
	if (ops[0].atom != DW_OP_addrx ||
		dwarf_getlocation_attr(&location, &ops[0], &indexed) != 0 ||
		dwarf_formaddr(&indexed, &address) != 0)
		return false;
	*ret = address;
	return true;
}

static int add(
	struct variables *variables, Dwarf_Die *die, const Dwarf_Die *function, uint64_t bias)
{
	Dwarf_Die type;
	Dwarf_Word bytes = 0;
	uint64_t address = 0;
	if (!read_address(die, &address) || !die_type(die, &type) ||
		dwarf_aggregate_size(&type, &bytes) != 0 || bytes == 0)
		return 0;
	if (mem_grow(&variables->items, &variables->capacity, variables->count + 1,
		    sizeof variables->items[0]) < 0)
		return -1;
	variables->items[variables->count++] = (struct variable){ .address = address + bias,
		.bytes = bytes,
		.die = *die,
		.function = function ? *function : *die,
		.has_function = function != NULL };
	return 0;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_module;
}

/* Without memory what was found so far is kept. */
static void add_scope(struct variables *variables, Dwarf_Die *scope, const Dwarf_Die *function,
	uint64_t bias, int depth)
{
	Dwarf_Die die;
	if (depth > NESTING_MAX || dwarf_child(scope, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_variable && add(variables, &die, function, bias) < 0)
			return;
		if (!is_scope(tag))
			continue;
		add_scope(variables, &die, tag == DW_TAG_subprogram ? &die : function, bias,
			depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int by_address(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void read_all(struct variables *variables, Dwfl_Module *module)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = NULL;
	variables->is_read = true;
	while ((unit = dwfl_module_nextcu(module, unit, &bias)))
		add_scope(variables, unit, NULL, bias, 0);
	if (variables->count > 0)
		qsort(variables->items, variables->count, sizeof variables->items[0], by_address);
}

/* "pool::instance", from the name for the linker where there is one. */
static void add_name(struct strbuf *out, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *linkage =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	AUTO_FREE char *full = linkage ? demangle(linkage) : NULL;
	const char *plain = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
	strbuf_add(out, full ? full : plain ? plain : "");
}

/* What is in a lock of Rust's standard library, which reserves no names. */
static void leave_rust(struct strbuf *text)
{
	static const char *const insides[] = { ".inner.futex.v.value", ".inner.state.v.value",
		".inner.writer_notify.v.value" };
	for (size_t i = 0; text->text && i < ARRAY_SIZE(insides); i++) {
		size_t length = strlen(insides[i]);
		if (text->length < length ||
			strcmp(text->text + text->length - length, insides[i]) != 0)
			continue;
		text->length -= length;
		text->text[text->length] = '\0';
		return;
	}
}

/* NULL when the variable has no name. `function`: NULL if it belongs to none. */
static char *describe(Dwarf_Die *die, Dwarf_Die *function, uint64_t offset)
{
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 }, text = { 0 };
	Dwarf_Die type;
	add_name(&name, die);
	if (!name.text || !*name.text || !die_type(die, &type))
		return NULL;
	/* A static variable's name for the linker may tell its function; clang's may be nameless. */
	if (function && !strstr(name.text, "::")) {
		add_name(&text, function);
		strbuf_add(&text, text.length > 0 ? ": " : "");
	}
	strbuf_add(&text, name.text);
	member_path_add(&text, &type, offset);
	leave_rust(&text);
	return strbuf_failed(&text) < 0 ? NULL : TAKE(text.text);
}

static bool begins_by(const void *variable, const void *address)
{
	return ((const struct variable *)variable)->address <= *(const uint64_t *)address;
}

/* The variable around an address; NULL: none is known. */
static struct variable *find(struct variables *variables, Dwfl_Module *module, uint64_t address)
{
	if (!variables->is_read)
		read_all(variables, module);
	size_t before = sorted_before(
		variables->items, variables->count, sizeof *variables->items, begins_by, &address);
	struct variable *variable = before > 0 ? &variables->items[before - 1] : NULL;
	return variable && address - variable->address < variable->bytes ? variable : NULL;
}

char *variables_find(struct variables *variables, Dwfl_Module *module, uint64_t address)
{
	struct variable *variable = find(variables, module, address);
	if (!variable)
		return NULL;
	return describe(&variable->die, variable->has_function ? &variable->function : NULL,
		address - variable->address);
}

bool variable_type_at(struct variables *variables, Dwfl_Module *module, uint64_t address,
	Dwarf_Die *ret_type, uint64_t *ret_begin)
{
	struct variable *variable = find(variables, module, address);
	if (!variable || !die_type(&variable->die, ret_type))
		return false;
	*ret_begin = variable->address;
	return true;
}

/* What offsets of variables count from, as a distance from the canonical frame address. */
static bool find_frame_base(
	Dwarf_Die *function, Dwarf_Addr code, const struct stack_place *place, int64_t *ret)
{
	int base = 0;
	if (!die_frame_base(function, code, &base))
		return false;
	switch (base) {
	case FRAME_BASE_CFA:
		*ret = 0;
		return true;
#if defined __x86_64__
	case X86_64_FRAME_POINTER:
		*ret = -X86_64_SAVED_BYTES;
		return true;
	case X86_64_STACK_POINTER:
		*ret = place->begin;
		return true;
#endif
	default:
		(void)place; /* elsewhere nothing else is known */
		return false;
	}
}

/* How far a variable of a frame reaches beyond its begin to `offset`; -1: it does not hold it. */
static int64_t offset_in(Dwarf_Die *die, Dwarf_Addr code, int64_t offset)
{
	Dwarf_Op location;
	Dwarf_Die type;
	Dwarf_Word bytes = 0;
	int tag = dwarf_tag(die);
	if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) ||
		!die_operation(die, DW_AT_location, code, &location) ||
		location.atom != DW_OP_fbreg || !die_type(die, &type) ||
		dwarf_aggregate_size(&type, &bytes) != 0)
		return -1;
	int64_t begin = (int64_t)location.number;
	return offset >= begin && (uint64_t)(offset - begin) < bytes ? offset - begin : -1;
}

static char *find_in_scope(Dwarf_Die *scope, Dwarf_Die *function, Dwarf_Addr code, int64_t offset)
{
	Dwarf_Die die;
	if (dwarf_child(scope, &die) != 0)
		return NULL;
	do {
		int64_t inside = offset_in(&die, code, offset);
		if (inside >= 0)
			return describe(&die, function, (uint64_t)inside);
	} while (dwarf_siblingof(&die, &die) == 0);
	return NULL;
}

char *variables_find_local(struct code_index *index, Dwfl_Module *module, uint64_t code,
	const struct stack_place *place)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die scopes[CODE_SCOPES_MAX];
	Dwarf_Die *unit = code_unit(index, module, code, &bias);
	size_t count = unit ? code_scopes(index, unit, code - bias, scopes) : 0;
	int64_t base = 0;
	if (count == 0 || !find_frame_base(&scopes[0], code - bias, place, &base))
		return NULL;
	char *found = NULL;
	for (size_t i = count; i-- > 0 && !found;)
		found = find_in_scope(&scopes[i], &scopes[0], code - bias, place->offset - base);
	return found;
}
