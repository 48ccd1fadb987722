/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that no dynamic linker loads: nothing can be preloaded into them. */
#ifndef CODE_STATIC_PROGRAM_H
#define CODE_STATIC_PROGRAM_H

#include "base/err.h"

#include <stdbool.h>

/* Whether the file is such a program, for x86-64. False also when it cannot be read. */
bool static_program_is(const char *path);

/*
 * Whether its symbol table tells where its threads synchronise: the C library's functions, in a program that is not stripped.
 * 0; -EOPNOTSUPP: err says what to do.
 */
int static_program_check(const char *path, struct err *err);

#endif
