/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/member_path.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdbool.h>

enum { STEPS_MAX = 64, DIMENSIONS_MAX = 8 };

/* C11 7.1.3: names of the implementation. */
static bool is_reserved(const char *name)
{
	return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

static bool read_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, &type) && dwarf_peel_type(&type, ret) == 0;
}

static bool has_parts(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

static bool holds(Dwarf_Die *member, Dwarf_Die *type, uint64_t offset, uint64_t *ret_begin)
{
	Dwarf_Attribute attribute;
	Dwarf_Word begin = 0, bytes = 0;
	int tag = dwarf_tag(member);
	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !read_type(member, type) ||
		dwarf_aggregate_size(type, &bytes) != 0)
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

void member_path_add(struct strbuf *out, const Dwarf_Die *object_type, uint64_t offset)
{
	Dwarf_Die given = *object_type, type;
	bool is_private = false;
	if (dwarf_peel_type(&given, &type) != 0)
		return;
	for (int i = 0; i < STEPS_MAX; i++) {
		bool has_moved = dwarf_tag(&type) == DW_TAG_array_type
					 ? step_into_element(out, &type, &offset, is_private)
					 : has_parts(&type) && step_into_member(out, &type, &offset,
								       &is_private);
		if (!has_moved)
			return;
	}
}
