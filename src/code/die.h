/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several readers of debug information ask of one of its entries. */
#ifndef CODE_DIE_H
#define CODE_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* The type of a variable, member, function or type, as it is written. False: it has none. */
bool die_type(Dwarf_Die *die, Dwarf_Die *ret);

/* The only operation of a location attribute at an address of code. False: there are more, or none. */
bool die_operation(Dwarf_Die *die, unsigned attribute, Dwarf_Addr code, Dwarf_Op *ret);

enum { FRAME_BASE_CFA = -1 }; /* the canonical frame address */

/* What offsets of a function's variables count from at `code`: a register (DWARF's number), or the above. */
bool die_frame_base(Dwarf_Die *function, Dwarf_Addr code, int *ret);

#endif
