/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of the variables of variables.h, for those who are built with libdw only. */
#ifndef CODE_VARIABLE_TYPE_H
#define CODE_VARIABLE_TYPE_H

#include "code/variables.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

/* The type of the variable around an address, and where that begins. False: none is known. */
bool variable_type_at(struct variables *variables, struct Dwfl_Module *module, uint64_t address,
	Dwarf_Die *ret_type, uint64_t *ret_begin);

#endif
