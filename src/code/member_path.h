/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an object and an offset in it to the member there, by its type in debug information. */
#ifndef CODE_MEMBER_PATH_H
#define CODE_MEMBER_PATH_H

#include "base/strbuf.h"

#include <elfutils/libdw.h>
#include <stdint.h>

/*
 * Appends ".queue.lock" or "[3].lock"; nothing where the type has no parts. variables.h says which
 * names are left out.
 */
void member_path_add(struct strbuf *out, const Dwarf_Die *type, uint64_t offset);

#endif
