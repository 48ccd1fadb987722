/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The symbol of an address of a loaded file, as libdw's dwfl_module_addrinfo() chooses it; but that looks through
 * all symbols each time, and programs have hundreds of thousands. Here they are sorted once.
 */
#ifndef CODE_SYMBOL_TABLE_H
#define CODE_SYMBOL_TABLE_H

#include "code/ranges.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

/* { 0 } has not been read. */
struct symbol_table {
	bool is_read;
	struct ranges global, local; /* symbols that tell their size */
	struct ranges labels; /* that do not: in assembly */
};

void symbol_table_release(struct symbol_table *table);

/*
 * The name, which the module owns, and how far behind the symbol's begin the address is: of those that reach over it a
 * global one before a local one, then the one that begins last, then the shortest; if none does, the label before it in the same
 * section. NULL: none, or no memory. Reads the module's symbols at the first call. `address` as in the module.
 */
const char *symbol_table_find(
	struct symbol_table *table, Dwfl_Module *module, uint64_t address, uint64_t *ret_offset);

#endif
