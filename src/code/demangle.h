/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of C++ and Rust as people write them, by libiberty. A build without it leaves names as they
 * are.
 */
#ifndef CODE_DEMANGLE_H
#define CODE_DEMANGLE_H

#include <stdbool.h>

/*
 * "pool::worker::run" of "_ZN4pool6worker3runEv": without parameters, so that it fits a table. NULL
 * when the name is not mangled, cannot be read, or without memory: then it stays as it is. The
 * caller frees it.
 */
char *demangle(const char *name);

/*
 * The same of any symbol, and without what compilers put behind the name of a copy ("scan" of "scan.isra.0"); of libstdc++'s
 * function around what a thread is to run: that. NULL without memory. The caller frees it.
 */
char *name_in_source(const char *symbol);

/* Whether it is such a function of libstdc++'s: what name_in_source() says is the program's. */
bool is_around_given(const char *symbol);

#endif
