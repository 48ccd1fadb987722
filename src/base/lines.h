/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text files line by line, with the place for messages. A line is at most LINE_BYTES_MAX long, so
 * a file that is not text, or not lines, is refused before it fills the memory. Line ends may be
 * LF or CRLF, the last one may be missing, and a UTF-8 byte order mark is skipped.
 *
 *	AUTO_RELEASE(lines) struct lines lines = { .in = file, .name = "runs.csv" };
 *	int code;
 *	while ((code = lines_next(&lines, err)) > 0)
 *		if (...)
 *			return lines_fail(&lines, err, "'%s' is odd", lines.text);
 *	return code;
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { LINE_BYTES_MAX = 1 << 20 };

struct lines {
	FILE *in; /* borrowed */
	const char *name; /* what messages call the file; borrowed */
	char *text; /* the line, without its end; until the next lines_next() it may be changed */
	size_t length;
	size_t capacity;
	unsigned number; /* of the line, from 1 */
	bool is_unread;
	bool has_begun;
};

/*
 * Skips a byte order mark and white space and returns the first byte after it without consuming
 * it, 0 at the end of the file. Before the first lines_next() only. Errors as lines_next().
 */
int lines_peek(struct lines *lines, struct err *err);

/*
 * 1: the next line is in `text`; 0: end of the file. -EINVAL: a line too long, a zero byte, UTF-16,
 * a carriage return inside a line; -EIO, -ENOMEM. After a failure only lines_release().
 */
int lines_next(struct lines *lines, struct err *err);

/* The next lines_next() gives the same line again, if its text was not changed. */
void lines_unread(struct lines *lines);

void lines_release(struct lines *lines);

/* Sets "name:number: text" and returns -EINVAL. */
int lines_fail(const struct lines *lines, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Bytes of a file made fit for a message: at most TEXT_SHOWN_BYTES - 1 of them, "..." where it was
 * cut, control characters as '?'.
 */
enum { TEXT_SHOWN_BYTES = 48 };
struct text_shown {
	char text[TEXT_SHOWN_BYTES];
};
struct text_shown text_show(const char *text);

#endif
