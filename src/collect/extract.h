/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers read from a program's text: a POSIX extended regular expression with one capture group
 * around the number, tried on every line, and a reduction of all that matched.
 */
#ifndef COLLECT_EXTRACT_H
#define COLLECT_EXTRACT_H

#include "base/err.h"

#include <regex.h>
#include <stddef.h>

enum reduction {
	REDUCE_LAST,
	REDUCE_MIN,
	REDUCE_MAX,
	REDUCE_SUM,
	REDUCE_AVERAGE,
	REDUCE_COUNT, /* of the lines that match: each is 1, and no group is needed */
};

struct extractor {
	regex_t regex;
	enum reduction reduction;
};

/* 0; -EINVAL: not an expression, without the capture group that it needs, or too large (regex_bound.h). Release only what was initialised. */
int extractor_init(struct extractor *extractor, const char *expression, enum reduction reduction,
	struct err *err);
void extractor_release(struct extractor *extractor);

/*
 * 1: the number in one line, which may hold any bytes; 0: the line does not match; -EINVAL: what was
 * captured is no number (the error tells it and the line).
 */
int extractor_line(const struct extractor *extractor, const char *line, size_t length,
	double *ret_value, struct err *err);

/*
 * Reads the whole file behind the descriptor, wherever its position is. *ret_value is NAN when
 * nothing matched. Returns the number of matches (of one line only the first counts), or -EINVAL
 * (what was captured is no number), or another negative errno.
 */
int extractor_read(const struct extractor *extractor, int fd, double *ret_value, struct err *err);

#endif
