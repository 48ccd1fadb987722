/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text for people: what came from a file is cleaned, measured in terminal columns, padded, wrapped.
 * Everything is UTF-8; what writes for a terminal without it passes its result through
 * text_add_in_charset() at the end.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The terminal (or file) that is written to; the caller knows it, this room never asks. */
struct text_style {
	unsigned width; /* columns; 0 means 80, less than 40 is taken as 40 */
	bool is_utf8; /* else everything is ASCII */
	bool has_colour; /* SGR sequences are allowed */
};

/* The columns to use. */
unsigned text_width(const struct text_style *style);

void text_add_code_point(struct strbuf *out, uint32_t code_point);

/*
 * Valid UTF-8 without control characters: what is neither becomes U+FFFD, a line break or a tab
 * becomes a space. Every name, title or note that may come from a file passes here first.
 */
void text_add_clean(struct strbuf *out, const char *text);

/*
 * Appends `text` in the style's character set: as it is, or the nearest ASCII, "?" for what has
 * none. SGR sequences and line breaks stay. If `text` failed, so does `out`.
 */
void text_add_in_charset(
	struct strbuf *out, const struct strbuf *text, const struct text_style *style);

/* Columns of clean text in a terminal. */
size_t text_columns(const char *text);

/* Cleaned, and cut with an ellipsis where it is wider. */
void text_add_cut(struct strbuf *out, const char *text, size_t columns);

/* The same for names, cut in the middle: what tells them apart (a number, file and line) is mostly at their end. */
void text_add_name(struct strbuf *out, const char *text, size_t columns);

/* Names exactly `columns` wide: cut in the middle, or filled with spaces. */
void text_add_left(struct strbuf *out, const char *text, size_t columns);
void text_add_right(struct strbuf *out, const char *text, size_t columns);

/* Cleaned and broken at spaces into lines of at most `width` columns, indented, each with '\n'. */
void text_add_wrapped(struct strbuf *out, const char *text, size_t width, const char *first_indent,
	const char *indent);
/* The same of each line of a text; fails if the text has. */
void text_add_lines(struct strbuf *out, const struct strbuf *lines, size_t width,
	const char *first_indent, const char *indent);

/* Removes spaces at the end. */
void text_trim(struct strbuf *out);

/* As it is, not cleaned. */
void text_add_repeated(struct strbuf *out, const char *text, size_t times);

#endif
