/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/member_path.h"

#include "base/cleanup.h"
#include "code/die.h"

#include <ctype.h>
#include <dwarf.h>

enum { STEPS_MAX = 64, DIMENSIONS_MAX = 8 };

/* C11 7.1.3: names of the implementation. */
static bool is_reserved(const char *name)
{
	return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

/* Without its names and qualifiers. */
static bool read_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Die type;
	return die_type(die, &type) && dwarf_peel_type(&type, ret) == 0;
}

static bool has_parts(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

/* Those of the whole class (DWARF 4) are none of an object. */
static bool is_part(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_inheritance ||
	       (tag == DW_TAG_member && !dwarf_hasattr(die, DW_AT_declaration));
}

/* Base classes and members without data take no room, whatever their size. */
static bool is_empty(Dwarf_Die *type, int depth)
{
	Dwarf_Die die, inside;
	if (!has_parts(type) || dwarf_tag(type) == DW_TAG_array_type ||
		dwarf_hasattr(type, DW_AT_declaration) || depth > STEPS_MAX)
		return false;
	if (dwarf_child(type, &die) != 0)
		return true;
	do {
		if (is_part(&die) && (!read_type(&die, &inside) || !is_empty(&inside, depth + 1)))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

static bool holds(Dwarf_Die *member, Dwarf_Die *type, uint64_t offset, uint64_t *ret_begin)
{
	Dwarf_Attribute attribute;
	Dwarf_Word begin = 0, bytes = 0;
	if (!is_part(member) || !read_type(member, type))
		return false;
	/* Of a class that another unit describes no more is known than where it begins. */
	if (dwarf_hasattr(type, DW_AT_declaration))
		bytes = 1;
	else if (is_empty(type, 0) || dwarf_aggregate_size(type, &bytes) != 0)
		return false;
	/* In a union members have no place, being all at 0. */
	if (dwarf_attr(member, DW_AT_data_member_location, &attribute) &&
		dwarf_formudata(&attribute, &begin) != 0)
		return false;
	*ret_begin = begin;
	return offset >= begin && offset - begin < bytes;
}

/* One member on; *type and *offset become its. */
static bool step_into_member(
	struct strbuf *out, Dwarf_Die *type, uint64_t *offset, bool *is_private)
{
	Dwarf_Die member, inside;
	uint64_t begin = 0;
	if (dwarf_child(type, &member) != 0)
		return false;
	while (!holds(&member, &inside, *offset, &begin))
		if (dwarf_siblingof(&member, &member) != 0)
			return false;
	const char *name = dwarf_diename(&member);
	*is_private = name && dwarf_tag(&member) == DW_TAG_member && is_reserved(name);
	if (name && dwarf_tag(&member) == DW_TAG_member && !*is_private)
		strbuf_addf(out, ".%s", name);
	*type = inside;
	*offset -= begin;
	return true;
}

/* Elements of each dimension, outermost first; 0 when they are not known. */
static size_t read_dimensions(Dwarf_Die *type, uint64_t ret[DIMENSIONS_MAX])
{
	Dwarf_Die range;
	size_t count = 0;
	if (dwarf_child(type, &range) != 0)
		return 0;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word number = 0;
		if (dwarf_tag(&range) != DW_TAG_subrange_type || count == DIMENSIONS_MAX)
			return 0;
		bool is_count = dwarf_attr(&range, DW_AT_count, &attribute) != NULL;
		if ((!is_count && !dwarf_attr(&range, DW_AT_upper_bound, &attribute)) ||
			dwarf_formudata(&attribute, &number) != 0)
			return 0;
		ret[count++] = is_count ? number : number + 1;
	} while (dwarf_siblingof(&range, &range) == 0);
	return count;
}

/* One element on. */
static bool step_into_element(
	struct strbuf *out, Dwarf_Die *type, uint64_t *offset, bool was_private)
{
	uint64_t dimensions[DIMENSIONS_MAX];
	size_t count = read_dimensions(type, dimensions);
	Dwarf_Die element;
	Dwarf_Word bytes = 0;
	if (count == 0 || !read_type(type, &element) ||
		dwarf_aggregate_size(&element, &bytes) != 0 || bytes == 0)
		return false;
	/* The bytes of something private, not an array of things. */
	if (was_private && !has_parts(&element))
		return false;
	uint64_t index = *offset / bytes;
	uint64_t stride = 1;
	for (size_t i = 1; i < count; i++)
		stride *= dimensions[i];
	for (size_t i = 0; i < count && stride > 0; i++) {
		strbuf_addf(out, "[%llu]", (unsigned long long)(index / stride));
		index %= stride;
		stride = i + 1 < count && dimensions[i + 1] > 0 ? stride / dimensions[i + 1] : 0;
	}
	*offset %= bytes;
	*type = element;
	return true;
}

/*
 * Follows an offset as far as the type has parts; *type and *offset become those of the last one. What the
 * last one with a name begins with is at the offset: *ret_type is its type; else it stays as it is.
 */
static void walk(struct strbuf *out, Dwarf_Die *type, uint64_t *offset, Dwarf_Die *ret_type)
{
	bool is_private = false;
	for (int i = 0; i < STEPS_MAX; i++) {
		size_t length = out->length;
		bool has_moved = dwarf_tag(type) == DW_TAG_array_type
					 ? step_into_element(out, type, offset, is_private)
					 : has_parts(type) &&
						   step_into_member(out, type, offset, &is_private);
		if (!has_moved)
			return;
		if (out->length > length && *offset == 0)
			*ret_type = *type;
	}
}

void member_path_add(struct strbuf *out, const Dwarf_Die *object_type, uint64_t offset)
{
	Dwarf_Die given = *object_type, type, named = *object_type;
	if (dwarf_peel_type(&given, &type) == 0)
		walk(out, &type, &offset, &named);
}

bool member_path_add_to(
	struct strbuf *out, const Dwarf_Die *object_type, uint64_t offset, bool *ret_has_parts)
{
	Dwarf_Die given = *object_type, type, named = *object_type;
	if (dwarf_peel_type(&given, &type) != 0)
		return false;
	walk(out, &type, &offset, &named);
	*ret_has_parts = has_parts(&named) || dwarf_hasattr(&named, DW_AT_declaration);
	return named.addr != object_type->addr;
}

bool member_type(const Dwarf_Die *object_type, uint64_t offset, Dwarf_Die *ret)
{
	AUTO_RELEASE(strbuf) struct strbuf path = { 0 };
	Dwarf_Die given = *object_type, type, named = *object_type;
	if (dwarf_peel_type(&given, &type) != 0)
		return false;
	walk(&path, &type, &offset, &named);
	if (offset > 0 || has_parts(&type))
		return false;
	*ret = type;
	return true;
}
