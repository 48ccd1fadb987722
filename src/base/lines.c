/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files line by line, bounded. */
#include "base/lines.h"

#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int lines_fail(const struct lines *lines, struct err *err, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap); /* cut is fine: it is text for a person */
	va_end(ap);
	return err_set(err, -EINVAL, "%s:%u: %s", lines->name, lines->number, text);
}

struct text_shown text_show(const char *text)
{
	struct text_shown shown = { "" };
	size_t length = strnlen(text, TEXT_SHOWN_BYTES);
	size_t kept = length < TEXT_SHOWN_BYTES ? length : TEXT_SHOWN_BYTES - sizeof "...";
	if (kept < length) /* not in the middle of a UTF-8 character */
		while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80)
			kept--;
	for (size_t i = 0; i < kept; i++) {
		unsigned char c = (unsigned char)text[i];
		shown.text[i] = c < ' ' || c == 0x7f ? '?' : (char)c;
	}
	if (kept < length)
		memcpy(shown.text + kept, "...", sizeof "...");
	return shown;
}

/* Skips a byte order mark; refuses UTF-16, which no byte-wise reader can take. */
static int begin(struct lines *lines, struct err *err)
{
	lines->has_begun = true;
	int c = getc(lines->in);
	if (c == 0xfe || c == 0xff)
		return err_set(err, -EINVAL,
			"%s: it is not UTF-8 text (UTF-16, by its first byte): save it as UTF-8",
			lines->name);
	if (c == 0xef) {
		if (getc(lines->in) == 0xbb && getc(lines->in) == 0xbf)
			return 0;
		return err_set(err, -EINVAL,
			"%s: it does not start as UTF-8 text: save it as UTF-8", lines->name);
	}
	if (c != EOF)
		(void)ungetc(c, lines->in); /* one byte can always be put back */
	return 0;
}

static int check_io(const struct lines *lines, struct err *err)
{
	if (!ferror(lines->in))
		return 0;
	return err_set(err, -EIO, "%s: cannot be read: %s", lines->name, strerror(errno));
}

static int fail_zero_byte(const struct lines *lines, struct err *err)
{
	return lines_fail(lines, err,
		"it has a zero byte: it is binary or UTF-16; give a text file in UTF-8");
}

int lines_peek(struct lines *lines, struct err *err)
{
	if (!lines->has_begun) {
		int code = begin(lines, err);
		if (code < 0)
			return code;
	}
	int c;
	while ((c = getc(lines->in)) == ' ' || c == '\t' || c == '\r' || c == '\n')
		lines->number += c == '\n';
	if (c == EOF)
		return check_io(lines, err);
	if (c == '\0') {
		lines->number++; /* the line that begins here */
		return fail_zero_byte(lines, err);
	}
	(void)ungetc(c, lines->in); /* as above */
	return c;
}

/* The bytes of one line into `text`. 0, also at the end of the file. */
static int fill(struct lines *lines, bool *ret_is_end, struct err *err)
{
	lines->length = 0;
	int c;
	while ((c = getc_unlocked(lines->in)) != EOF && c != '\n') {
		if (c == '\0')
			return fail_zero_byte(lines, err);
		if (lines->length == LINE_BYTES_MAX)
			return lines_fail(lines, err, "the line is longer than %d bytes",
				(int)LINE_BYTES_MAX);
		if (mem_grow(&lines->text, &lines->capacity, lines->length + 2, 1) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		lines->text[lines->length++] = (char)c;
	}
	*ret_is_end = c == EOF && lines->length == 0;
	return check_io(lines, err);
}

int lines_next(struct lines *lines, struct err *err)
{
	if (lines->is_unread) {
		lines->is_unread = false;
		return 1;
	}
	if (!lines->has_begun) {
		int code = begin(lines, err);
		if (code < 0)
			return code;
	}
	if (mem_grow(&lines->text, &lines->capacity, 1, 1) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	lines->number++;
	bool is_end = false;
	int code = fill(lines, &is_end, err);
	if (code < 0 || is_end)
		return code;
	if (lines->length > 0 && lines->text[lines->length - 1] == '\r')
		lines->length--;
	lines->text[lines->length] = '\0';
	if (memchr(lines->text, '\r', lines->length))
		return lines_fail(lines, err,
			"it has a carriage return inside the line: save the file with line ends "
			"LF or CRLF");
	return 1;
}

void lines_unread(struct lines *lines)
{
	lines->is_unread = true;
}

void lines_release(struct lines *lines)
{
	free(lines->text);
	*lines = (struct lines){ 0 };
}
