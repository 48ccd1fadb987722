/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of an ELF file as bytes, and the functions of other files that it calls. */
#ifndef CODE_CODE_BYTES_H
#define CODE_CODE_BYTES_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes from `address` (as libdwfl counts) to the end of its section, at most `size`. NULL: none. */
const void *code_bytes(Dwfl_Module *module, uint64_t address, size_t *size);

/* The function whose address the loader writes to `slot`; NULL: none. Borrowed from the module. */
const char *code_import(Dwfl_Module *module, uint64_t slot);

#endif
