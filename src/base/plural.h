/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a count adds to the word behind it. */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

/* The ending of a noun: "" of one, else "s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
