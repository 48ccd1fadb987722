/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that come with a language: who is there was sent by somebody else, and no line of theirs is the user's. */
#ifndef CODE_RUNTIMES_H
#define CODE_RUNTIMES_H

#include <stdbool.h>

/* Whether the file, by its name, is one: the C library, C++'s, OpenMP's, our own. */
bool runtime_is(const char *path);

#endif
