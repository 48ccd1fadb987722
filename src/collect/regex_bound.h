/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an extended regular expression stays small when compiled. The C library copies what is
 * repeated ("x+" becomes "xx*", "x{9}" nine x), so repetitions within repetitions grow without
 * bound: a line of plus signs takes gigabytes.
 */
#ifndef COLLECT_REGEX_BOUND_H
#define COLLECT_REGEX_BOUND_H

#include "base/err.h"

enum {
	REGEX_BYTES_MAX = 1000,
	REGEX_DEPTH_MAX = 8, /* of groups within groups */
	REGEX_COPIES_MAX = 1000, /* product of the bounds of all intervals {m,n} */
};

/* 0, or -EINVAL with what is too much. Says nothing about syntax: that is regcomp's. */
int regex_bound_check(const char *expression, struct err *err);

#endif
