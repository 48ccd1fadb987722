/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How programs that work until they are told to end are told. */
#ifndef TESTS_PROGRAMS_HAS_WORD_H
#define TESTS_PROGRAMS_HAS_WORD_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether a file has the word in it. */
static inline bool has_word(const char *path, const char *word)
{
	char line[256];
	AUTO_FILE FILE *in = fopen(path, "re");
	while (in && fgets(line, sizeof line, in))
		if (strstr(line, word))
			return true;
	return false;
}

#endif
