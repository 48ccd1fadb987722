/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cleaning, measuring, padding and wrapping UTF-8 text. */
#include "report/text.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <string.h>

enum { REPLACEMENT = 0xFFFD };

unsigned text_width(const struct text_style *style)
{
	enum { DEFAULT = 80, LEAST = 40 }; /* the table and the plot need this much */
	if (style->width == 0)
		return DEFAULT;
	return style->width < LEAST ? LEAST : style->width;
}

/* Bytes that a UTF-8 sequence with this first byte has; 0 if it cannot start one. */
static size_t sequence_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xC2 && first < 0xE0)
		return 2;
	if (first >= 0xE0 && first < 0xF0)
		return 3;
	return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/*
 * The code point at *text and its length in bytes (0 at the end). What is not UTF-8 yields U+FFFD
 * byte by byte.
 */
static size_t next_code_point(const char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)*text;
	*ret = first;
	if (first < 0x80)
		return first != 0;
	size_t length = sequence_length(first);
	uint32_t code = length ? first & (0x7Fu >> length) : 0;
	for (size_t i = 1; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];
		if ((byte & 0xC0) != 0x80) { /* also stops at the terminating 0 */
			*ret = REPLACEMENT;
			return 1;
		}
		code = code << 6 | (byte & 0x3F);
	}
	bool is_surrogate = code >= 0xD800 && code < 0xE000;
	if (length == 0 || code < least[length] || is_surrogate || code > 0x10FFFF) {
		*ret = REPLACEMENT;
		return 1;
	}
	*ret = code;
	return length;
}

void text_add_code_point(struct strbuf *out, uint32_t code)
{
	char bytes[4];
	size_t length = 1;
	if (code < 0x80) {
		bytes[0] = (char)code;
	} else if (code < 0x800) {
		bytes[0] = (char)(0xC0 | code >> 6);
		length = 2;
	} else if (code < 0x10000) {
		bytes[0] = (char)(0xE0 | code >> 12);
		length = 3;
	} else {
		bytes[0] = (char)(0xF0 | code >> 18);
		length = 4;
	}
	for (size_t i = length; i-- > 1; code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3F));
	strbuf_add_bytes(out, bytes, length);
}

/* C0, DEL, C1, the two line separators, direction overrides: they would act, not show. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
	       (code >= 0x2066 && code <= 0x2069) || (code & 0xFFFE) == 0xFFFE;
}

void text_add_clean(struct strbuf *out, const char *text)
{
	uint32_t code;
	for (size_t n; (n = next_code_point(text, &code)) > 0; text += n) {
		if (code == '\n' || code == '\t' || code == '\r')
			code = ' ';
		text_add_code_point(out, is_control(code) ? REPLACEMENT : code);
	}
}

static void add_ascii(struct strbuf *out, const char *text)
{
	static const struct {
		uint32_t code;
		const char *ascii;
	} table[] = { { 0xB5, "u" }, { 0x3BC, "u" }, { 0xD7, "x" }, { 0x2013, "-" },
		{ 0x2014, "-" }, { 0x2018, "'" }, { 0x2019, "'" }, { 0x201C, "\"" },
		{ 0x201D, "\"" }, { 0x2026, "." }, { 0x221E, "inf" }, { 0x2248, "~" } };
	uint32_t code;
	for (size_t n; (n = next_code_point(text, &code)) > 0; text += n) {
		if (code < 0x80) {
			text_add_code_point(out, code);
			continue;
		}
		const char *ascii = "?";
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			if (table[i].code == code)
				ascii = table[i].ascii;
		strbuf_add(out, ascii);
	}
}

void text_add_in_charset(
	struct strbuf *out, const struct strbuf *text, const struct text_style *style)
{
	if (text->failed)
		out->failed = true;
	else if (text->text && style->is_utf8)
		strbuf_add(out, text->text);
	else if (text->text)
		add_ascii(out, text->text);
}

/* 0 for combining marks, 2 for East Asian wide characters and emoji (UAX 11), else 1. */
static unsigned code_columns(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		unsigned columns;
	} table[] = { { 0x300, 0x36F, 0 }, { 0x1100, 0x115F, 2 }, { 0x200B, 0x200F, 0 },
		{ 0x20D0, 0x20FF, 0 }, { 0x2E80, 0xA4CF, 2 }, { 0xAC00, 0xD7A3, 2 },
		{ 0xF900, 0xFAFF, 2 }, { 0xFE00, 0xFE0F, 0 }, { 0xFE30, 0xFE6F, 2 },
		{ 0xFF00, 0xFF60, 2 }, { 0xFFE0, 0xFFE6, 2 }, { 0x1F300, 0x1FAFF, 2 },
		{ 0x20000, 0x3FFFD, 2 } };
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (code >= table[i].first && code <= table[i].last)
			return table[i].columns;
	return 1;
}

size_t text_columns(const char *text)
{
	size_t columns = 0;
	uint32_t code;
	for (size_t n; (n = next_code_point(text, &code)) > 0; text += n)
		columns += code_columns(code);
	return columns;
}

/* The first columns of clean text; returns how many, and the rest's beginning. */
static size_t add_head(struct strbuf *out, const char **text, size_t columns)
{
	size_t used = 0;
	uint32_t code;
	for (size_t n; (n = next_code_point(*text, &code)) > 0; *text += n) {
		if (used + code_columns(code) > columns)
			break;
		strbuf_add_bytes(out, *text, n);
		used += code_columns(code);
	}
	return used;
}

/* The last columns of clean text, from where a character begins that is not put on the one before. */
static const char *tail_of(const char *text, size_t columns)
{
	uint32_t code;
	while (text_columns(text) > columns ||
		(next_code_point(text, &code) > 0 && code_columns(code) == 0))
		text += next_code_point(text, &code);
	return text;
}

/* As much of clean text as fits, of it so many columns from the end, with an ellipsis if that is not all; returns its columns. */
static size_t add_cut(struct strbuf *out, const char *text, size_t columns, size_t tail_columns)
{
	if (columns == 0)
		return 0;
	if (text_columns(text) <= columns)
		return add_head(out, &text, columns);
	size_t used = add_head(out, &text, columns - 1 - tail_columns);
	const char *tail = tail_of(text, tail_columns);
	strbuf_add(out, "…");
	strbuf_add(out, tail);
	return used + 1 + text_columns(tail);
}

void text_add_repeated(struct strbuf *out, const char *text, size_t times)
{
	while (times-- > 0)
		strbuf_add(out, text);
}

void text_add_lines(struct strbuf *out, const struct strbuf *lines, size_t width,
	const char *first_indent, const char *indent)
{
	AUTO_FREE char *copy = lines->text ? strdup(lines->text) : NULL;
	char *rest = NULL;
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		text_add_wrapped(out, line, width, first_indent, indent);
	out->failed |= lines->failed || (lines->text && !copy);
}

void text_trim(struct strbuf *out)
{
	while (out->length > 0 && out->text[out->length - 1] == ' ')
		out->text[--out->length] = '\0';
}

void text_add_cut(struct strbuf *out, const char *text, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	if (clean.text)
		(void)add_cut(out, clean.text, columns, 0); /* how wide it is does not matter */
}

void text_add_name(struct strbuf *out, const char *text, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	if (clean.text)
		(void)add_cut(out, clean.text, columns, columns / 3); /* as above */
}

void text_add_left(struct strbuf *out, const char *text, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	size_t used = clean.text ? add_cut(out, clean.text, columns, columns / 3) : 0;
	text_add_repeated(out, " ", columns - used);
}

void text_add_right(struct strbuf *out, const char *text, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	size_t wanted = clean.text ? text_columns(clean.text) : 0;
	text_add_repeated(out, " ", wanted < columns ? columns - wanted : 0);
	if (clean.text)
		(void)add_cut(out, clean.text, columns, 0); /* its width is known */
}

void text_add_wrapped(struct strbuf *out, const char *text, size_t width, const char *first_indent,
	const char *indent)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	size_t used = 0;
	char *rest = NULL;
	for (char *word = clean.text ? strtok_r(clean.text, " ", &rest) : NULL; word;
		word = strtok_r(NULL, " ", &rest)) {
		size_t columns = text_columns(word);
		if (used == 0) {
			strbuf_add(out, first_indent);
			used = text_columns(first_indent);
		} else if (used + 1 + columns > width) {
			strbuf_add(out, "\n");
			strbuf_add(out, indent);
			used = text_columns(indent);
		} else {
			strbuf_add(out, " ");
			used++;
		}
		strbuf_add(out, word);
		used += columns;
	}
	if (used > 0)
		strbuf_add(out, "\n");
}
