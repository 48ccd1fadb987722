/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the functions of an ELF file start, also of a stripped one: by the search table of its
 * unwind information (.eh_frame_hdr, Linux Standard Base), one entry per function.
 */
#ifndef CODE_FUNCTION_TABLE_H
#define CODE_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* { 0 } is empty. */
struct function_table {
	uint64_t *starts; /* addresses in the file, rising */
	size_t count;
};

void function_table_release(struct function_table *table);

/* Empty when the file cannot be read or has no such table. */
void function_table_read(const char *path, struct function_table *ret);

/* Start of the function around an address; 0: not known. */
uint64_t function_table_find(const struct function_table *table, uint64_t address);

/* Where the function after that one starts; 0: not known. */
uint64_t function_table_next(const struct function_table *table, uint64_t address);

#endif
