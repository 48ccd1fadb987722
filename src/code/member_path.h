/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an object and an offset in it to the member there, by its type in debug information. */
#ifndef CODE_MEMBER_PATH_H
#define CODE_MEMBER_PATH_H

#include "base/strbuf.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Appends ".queue.lock" or "[3].lock"; nothing where the type has no parts. variables.h says which
 * names are left out.
 */
void member_path_add(struct strbuf *out, const Dwarf_Die *type, uint64_t offset);

/*
 * The same of what begins at the offset and has a name. False: nothing does. *ret_has_parts: it is a struct,
 * or the like.
 */
bool member_path_add_to(
	struct strbuf *out, const Dwarf_Die *type, uint64_t offset, bool *ret_has_parts);

/* The type, without parts, of what begins at an offset in an object; false: nothing does. */
bool member_type(const Dwarf_Die *type, uint64_t offset, Dwarf_Die *ret);

#endif
