/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a library can be preloaded into a program; the dynamic linker ignores it silently. */
#ifndef CODE_PRELOADABLE_H
#define CODE_PRELOADABLE_H

#include "base/err.h"

#include <limits.h>

/*
 * The file that execvp() would run: a name with a slash is a path, another is searched for in PATH. -ENOENT: there is
 * none that can be run.
 */
int preloadable_find(const char *name, char ret[PATH_MAX], struct err *err);

/*
 * `program` is looked up as execvp() does; of a script, its interpreter is judged.
 * 0; -ENOENT (nothing that can be run), -EACCES (it gains privileges: set-user-ID or file capabilities),
 * -EOPNOTSUPP (static, another architecture, another C library), -ENOEXEC (not a program),
 * -errno of reading it. err says what to do.
 */
int preloadable_check(const char *program, struct err *err);

/* The same of the program alone: a script is none (-ENOEXEC). */
int preloadable_check_program(const char *program, struct err *err);

#endif
