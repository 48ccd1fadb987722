/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One line of a CSV file into its fields (RFC 4180, but a quoted field ends on its line). Spaces
 * around a field are dropped.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/lines.h"

enum { CSV_FIELDS_MAX = 4096 };

struct csv_fields {
	char **items; /* point into the text of the line */
	size_t count;
	size_t capacity;
};

/*
 * Splits the current line, in place; the fields live as long as its text. 0, -EINVAL (quotes that
 * do not match, more than CSV_FIELDS_MAX fields), -ENOMEM.
 */
int csv_split(struct csv_fields *fields, struct lines *lines, struct err *err);
void csv_fields_release(struct csv_fields *fields);

#endif
