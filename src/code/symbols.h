/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses in ELF files, by elfutils' libdw: separate debug files are found as debuggers
 * find them. In a build without libdw, and for a stripped file, there are no names: that is not an
 * error, and the caller shows file and address. C++ and Rust names are readable (demangle.h); those of
 * the kernel's vDSO, which is no file, are this machine's, and begin with "[vdso]+".
 */
#ifndef CODE_SYMBOLS_H
#define CODE_SYMBOLS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_place; /* variables.h */
struct symbols; /* opaque: files that were opened */

/*
 * Texts are borrowed from the struct symbols; NULL and 0 where nothing is known. File and line of what the compiler took from
 * a system header: where it was used.
 */
struct symbol {
	const char *module; /* the path asked for */
	const char *function; /* or the object of that address */
	uint64_t offset; /* from where what `function` names begins */
	uint64_t start; /* of the function, also where its name is not known; 0: not known */
	const char *file; /* source; NULL of code of a runtime (runtimes.h) */
	uint32_t line;
	bool is_system; /* of a system header, as far as is known */
	bool is_given; /* `function` is what the program gave a thread to run, and the code C++'s library's around it */
	/* Of such a header, put into other code by the compiler: what that code called, as the linker calls it; NULL. */
	const char *header_function;
};

/* 0 or -ENOMEM. */
int symbols_new(struct symbols **ret);
void symbols_free(struct symbols *symbols);
CLEANUP_DEFINE(symbols, symbols_free)

/* `address` as in the ELF file at `path` (no load bias). Unknown is empty; module only without memory. */
struct symbol symbols_find(struct symbols *symbols, const char *path, uint64_t address);

enum { SYMBOL_INLINED_MAX = 3 };

/*
 * The functions that the compiler put into the one of that address, and that it lies in: outermost first, of more
 * than so many the innermost; none of system headers. Returns their number.
 */
size_t symbols_inlined(struct symbols *symbols, const char *path, uint64_t address,
	const char *ret[SYMBOL_INLINED_MAX]);

/*
 * What the variable at an address is called, with the way to the member there (variables.h). NULL when
 * that is not known, or without memory. The caller frees it.
 */
char *symbols_variable(struct symbols *symbols, const char *path, uint64_t address);

/* The same of a variable of the function around `code`, in one of its frames. */
char *symbols_local(
	struct symbols *symbols, const char *path, uint64_t code, const struct stack_place *place);

/* A call on a stack: where it returns to, as in the ELF file at `path`. */
struct call_place {
	const char *path;
	uint64_t site;
};

/*
 * What one of the C library's functions (their names begin so; ended by NULL) was given by the callers on the
 * stack, innermost first, and their types: "pool.lock" (passed.h). Otherwise as symbols_variable().
 */
char *symbols_passed(struct symbols *symbols, const struct call_place *calls, size_t count,
	const char *const *functions);

/* The function of another file that is called there, as the linker calls it; NULL: not known. */
const char *symbols_callee(struct symbols *symbols, const struct call_place *call);

/*
 * The address at which a byte of the code of an ELF file is meant to be loaded, by its program
 * headers; a mapping of code may begin before it, in the page of its first byte. The offset itself
 * when the file cannot be read.
 */
uint64_t symbols_address_of_offset(const char *path, uint64_t offset);

/* The first address behind all that an ELF file is meant to take in memory; 0 when it cannot be read. */
uint64_t symbols_end(const char *path);

#endif
