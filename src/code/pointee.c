/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/pointee.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "code/code_scopes.h"
#include "code/die.h"
#include "code/member_path.h"
#include "code/variable_type.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

enum { QUALIFIERS_MAX = 16 };

/* Where a variable is at an instruction: `offset` from a base; in memory there, or itself that sum. */
struct location {
	uint8_t base;
	bool is_memory;
	int64_t offset;
};

static bool is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* What a pointer or reference is to. */
static bool read_pointee(Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die peeled;
	return dwarf_peel_type(type, &peeled) == 0 && is_pointer(&peeled) && die_type(&peeled, ret);
}

struct frame_rule frame_rule_at(const struct code_file *file, uint64_t address)
{
	struct frame_rule rule = { .reg = -1 };
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(file->module, &bias);
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	if (!cfi)
		cfi = dwfl_module_dwarf_cfi(file->module, &bias);
	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame) != 0)
		return rule;
	if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1) {
		if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
			rule = (struct frame_rule){ ops[0].atom - DW_OP_breg0,
				(int64_t)ops[0].number };
		else if (ops[0].atom == DW_OP_bregx)
			rule = (struct frame_rule){ (int)ops[0].number, (int64_t)ops[0].number2 };
	}
	free(frame);
	return rule;
}

/* What offsets of variables count from, as a distance from the canonical frame address. */
static bool find_frame_base(
	Dwarf_Die *function, Dwarf_Addr code, const struct frame_rule *rule, int64_t *ret)
{
	int base = 0;
	if (!die_frame_base(function, code, &base) || (base != FRAME_BASE_CFA && base != rule->reg))
		return false;
	*ret = base == FRAME_BASE_CFA ? 0 : -rule->offset;
	return true;
}

/* The code around an instruction, and what it calls a frame. */
struct scene {
	Dwarf_Die scopes[CODE_SCOPES_MAX]; /* outermost first */
	size_t scope_count;
	Dwarf_Addr code; /* as the unit counts */
	struct frame_rule rule;
	int64_t frame_base;
	bool has_frame_base;
};

static bool scene_find(const struct code_file *file, uint64_t address, struct scene *ret)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = code_unit(file->index, file->module, address, &bias);
	if (!unit)
		return false;
	ret->code = address - bias;
	ret->scope_count = code_scopes(file->index, unit, ret->code, ret->scopes);
	if (ret->scope_count == 0)
		return false;
	ret->rule = frame_rule_at(file, address);
	ret->frame_base = 0;
	ret->has_frame_base =
		find_frame_base(&ret->scopes[0], ret->code, &ret->rule, &ret->frame_base);
	return true;
}

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* One register, or one plus a constant, or a place in the frame. */
static bool find_location(Dwarf_Die *die, const struct scene *scene, struct location *ret)
{
	Dwarf_Attribute location;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	if (!dwarf_attr_integrate(die, DW_AT_location, &location) ||
		dwarf_getlocation_addr(&location, scene->code, &ops, &count, 1) < 1 || count == 0 ||
		count > 2)
		return false;
	unsigned atom = ops[0].atom;
	*ret = (struct location){ .is_memory = count == 1 };
	if (count == 2 && ops[1].atom != DW_OP_stack_value)
		return false;
	if (count == 1 && atom >= DW_OP_reg0 && atom < DW_OP_reg0 + CODE_REGISTERS) {
		ret->base = (uint8_t)(atom - DW_OP_reg0);
		ret->is_memory = false;
		return true;
	}
	ret->offset = (int64_t)ops[0].number;
	if (atom == DW_OP_fbreg) {
		ret->base = POINTER_FRAME;
		ret->offset += scene->frame_base;
		return scene->has_frame_base;
	}
	if (atom < DW_OP_breg0 || atom >= DW_OP_breg0 + CODE_REGISTERS)
		return false;
	ret->base = (uint8_t)(atom - DW_OP_breg0);
	if (ret->base == scene->rule.reg) {
		ret->base = POINTER_FRAME;
		ret->offset -= scene->rule.offset;
	}
	return true;
}

/* Members of a struct; base classes count as such. */
static unsigned count_members(Dwarf_Die *type)
{
	Dwarf_Die die;
	unsigned count = 0;
	if (dwarf_child(type, &die) != 0)
		return 0;
	do
		count += dwarf_tag(&die) == DW_TAG_member || dwarf_tag(&die) == DW_TAG_inheritance;
	while (dwarf_siblingof(&die, &die) == 0);
	return count;
}

/* "app::", of the namespaces and classes that a type is in. */
static void add_qualifiers(struct strbuf *out, Dwarf_Die *type)
{
	AUTO_FREE Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes_die(type, &scopes);
	for (int i = count < QUALIFIERS_MAX ? count : QUALIFIERS_MAX; i-- > 1;) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = dwarf_diename(&scopes[i]);
		if (name && (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
				    tag == DW_TAG_structure_type))
			strbuf_addf(out, "%s::", name);
	}
}

/* The struct behind a type and its name: its own, else that of the type. False: it is none. */
static bool find_struct(Dwarf_Die *type, Dwarf_Die *ret, const char **ret_name)
{
	Dwarf_Die at = *type;
	const char *alias = NULL;
	for (;;) {
		int tag = dwarf_tag(&at);
		if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			tag == DW_TAG_union_type)
			break;
		if (tag == DW_TAG_typedef)
			alias = dwarf_diename(&at);
		else if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
			 tag != DW_TAG_restrict_type && tag != DW_TAG_atomic_type)
			return false;
		if (!die_type(&at, &at))
			return false;
	}
	*ret = at;
	*ret_name = dwarf_diename(&at);
	if (!*ret_name)
		*ret_name = alias;
	return *ret_name != NULL;
}

/* Elements of an array whose number is not known: "shards[3].lock" is "shards[].lock". */
static void forget_indices(struct strbuf *path)
{
	char *to = path->text;
	bool is_inside = false;
	for (const char *from = path->text; from && *from; from++) {
		is_inside = *from == '[' || (is_inside && *from != ']');
		if (!is_inside || *from == '[')
			*to++ = *from;
	}
	if (to) {
		*to = '\0';
		path->length = (size_t)(to - path->text);
	}
}

/* "pool.lock" of a pointer to `type` plus an offset. */
static char *name_member(Dwarf_Die *type, int64_t offset, bool is_indexed, bool *ret_is_weak)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 }, path = { 0 };
	Dwarf_Die object;
	const char *name = NULL;
	Dwarf_Word bytes = 0;
	bool has_parts = false;
	if (!find_struct(type, &object, &name) || dwarf_aggregate_size(&object, &bytes) != 0 ||
		bytes == 0 || offset < 0)
		return NULL;
	/* The pointer may be into an array, of which this is another element. */
	bool is_beyond = (uint64_t)offset >= bytes;
	if (!member_path_add_to(&path, &object, (uint64_t)offset % bytes, &has_parts) ||
		path.text[0] != '.' || (!has_parts && (is_indexed || is_beyond)))
		return NULL;
	if (is_indexed)
		forget_indices(&path);
	add_qualifiers(&text, &object);
	strbuf_addf(&text, "%s%s", name, path.text);
	*ret_is_weak = is_beyond || count_members(&object) < 2 ||
		       (text.text && strncmp(text.text, "std::", strlen("std::")) == 0);
	return strbuf_failed(&text) < 0 ? NULL : TAKE(text.text);
}

/* From an object of `type` through the pointers at the offsets. */
static char *follow(
	Dwarf_Die *type, const int64_t *offsets, size_t count, bool is_indexed, bool *ret_is_weak)
{
	Dwarf_Die object = *type, member;
	for (size_t i = 0; i + 1 < count; i++)
		if (offsets[i] < 0 || !member_type(&object, (uint64_t)offsets[i], &member) ||
			!read_pointee(&member, &object))
			return NULL;
	return name_member(&object, offsets[count - 1], is_indexed, ret_is_weak);
}

/* A variable that has the pointer, or the pointer that it begins with. */
static char *name_by(Dwarf_Die *die, const struct location *location, const struct pointer *pointer,
	bool *ret_is_weak)
{
	struct pointer rest = *pointer;
	Dwarf_Die type, target;
	Dwarf_Word bytes = 0;
	if (location->base != pointer->base || !die_type(die, &type))
		return NULL;
	rest.offsets[0] -= location->offset;
	if (!location->is_memory)
		return read_pointee(&type, &target) ? follow(&target, rest.offsets, rest.count,
							      rest.is_indexed, ret_is_weak)
						    : NULL;
	if (rest.count < 2 || rest.offsets[0] < 0 || dwarf_aggregate_size(&type, &bytes) != 0 ||
		(uint64_t)rest.offsets[0] >= bytes)
		return NULL;
	return follow(&type, rest.offsets, rest.count, rest.is_indexed, ret_is_weak);
}

/* The best so far; what is weak gives way. */
struct candidate {
	char *name;
	bool is_weak;
};

static void look_in_scope(Dwarf_Die *scope, const struct scene *scene,
	const struct pointer *pointer, struct candidate *best)
{
	Dwarf_Die die;
	if (dwarf_child(scope, &die) != 0)
		return;
	do {
		struct location location;
		bool is_weak = false;
		if (!is_variable(&die) || !find_location(&die, scene, &location))
			continue;
		char *name = name_by(&die, &location, pointer, &is_weak);
		if (!name || (best->name && is_weak)) {
			free(name);
			continue;
		}
		free(best->name);
		*best = (struct candidate){ name, is_weak };
	} while ((!best->name || best->is_weak) && dwarf_siblingof(&die, &die) == 0);
}

static char *name_returned(
	const struct code_file *file, const struct pointer *pointer, bool *ret_is_weak)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die scopes[CODE_SCOPES_MAX], type, target;
	Dwarf_Die *unit = code_unit(file->index, file->module, pointer->function, &bias);
	if (!unit || code_scopes(file->index, unit, pointer->function - bias, scopes) == 0 ||
		!die_type(&scopes[0], &type) || !read_pointee(&type, &target))
		return NULL;
	return follow(&target, pointer->offsets, pointer->count, pointer->is_indexed, ret_is_weak);
}

static char *name_static(
	const struct code_file *file, const struct pointer *pointer, bool *ret_is_weak)
{
	struct pointer rest = *pointer;
	uint64_t begin = 0;
	Dwarf_Die type;
	if (pointer->count < 2 || !variable_type_at(file->variables, file->module,
					  (uint64_t)pointer->offsets[0], &type, &begin))
		return NULL;
	rest.offsets[0] -= (int64_t)begin;
	return follow(&type, rest.offsets, rest.count, rest.is_indexed, ret_is_weak);
}

char *pointee_name(const struct code_file *file, uint64_t address, const struct pointer *pointer,
	bool *ret_is_weak)
{
	struct scene scene;
	struct candidate best = { 0 };
	if (pointer->base == CODE_STATIC)
		return name_static(file, pointer, ret_is_weak);
	if (pointer->base == POINTER_RETURNED)
		return name_returned(file, pointer, ret_is_weak);
	if (!scene_find(file, address, &scene))
		return NULL;
	for (size_t i = scene.scope_count; i-- > 0 && (!best.name || best.is_weak);)
		look_in_scope(&scene.scopes[i], &scene, pointer, &best);
	*ret_is_weak = best.is_weak;
	return best.name;
}

/* An object of which only names of the implementation are known: std::mutex, pthread_mutex_t. */
static bool is_bare_lock(Dwarf_Die *parameter)
{
	AUTO_RELEASE(strbuf) struct strbuf path = { 0 };
	Dwarf_Die type, target, object, leaf;
	const char *name = NULL;
	if (!die_type(parameter, &type) || !read_pointee(&type, &target) ||
		!find_struct(&target, &object, &name))
		return false;
	member_path_add(&path, &object, 0);
	return (!path.text || path.text[0] == '\0') && member_type(&object, 0, &leaf) &&
	       dwarf_tag(&leaf) == DW_TAG_base_type;
}

int pointee_lock_argument(const struct code_file *file, uint64_t address)
{
	struct scene scene;
	Dwarf_Die die;
	int found = -1, number = 0;
	if (!scene_find(file, address, &scene) || dwarf_child(&scene.scopes[0], &die) != 0)
		return -1;
	do {
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		if (is_bare_lock(&die)) {
			if (found >= 0)
				return -1;
			found = number;
		}
		number++;
	} while (dwarf_siblingof(&die, &die) == 0);
	return found;
}
