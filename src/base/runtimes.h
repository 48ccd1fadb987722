/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that come with a language: who is there was sent by somebody else, and no line of theirs is the user's. */
#ifndef BASE_RUNTIMES_H
#define BASE_RUNTIMES_H

#include <stdbool.h>

/* Whether the file, by its name, is one: the C library, C++'s, Java's, OpenMP's, oneTBB, our own. */
bool runtime_is(const char *path);

/* Whether it is one whose threads spin before they sleep: OpenMP's, oneTBB. */
bool runtime_spins(const char *path);

/* Whether it is one that parks its users' threads by means of its own, which say nothing of what for: Java's. */
bool runtime_parks(const char *path);

/* What a variable of a language's interpreter, by its symbol, has locks for: "Python's GIL"; NULL: not known. */
const char *runtime_lock(const char *symbol);

#endif
