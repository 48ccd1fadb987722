/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing string that remembers a failed addition. */
#include "base/strbuf.h"

#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strbuf_release(struct strbuf *s)
{
	free(s->text);
	*s = (struct strbuf){ 0 };
}

void strbuf_add_bytes(struct strbuf *s, const char *bytes, size_t length)
{
	if (s->failed || mem_grow(&s->text, &s->capacity, s->length + length + 1, 1) < 0) {
		s->failed = true;
		return;
	}
	memcpy(s->text + s->length, bytes, length);
	s->length += length;
	s->text[s->length] = '\0';
}

void strbuf_add(struct strbuf *s, const char *text)
{
	strbuf_add_bytes(s, text, strlen(text));
}

void strbuf_addf(struct strbuf *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	va_list again;
	va_copy(again, ap);
	int length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (length < 0 || s->failed ||
		mem_grow(&s->text, &s->capacity, s->length + (size_t)length + 1, 1) < 0) {
		s->failed = true;
		va_end(again);
		return;
	}
	(void)vsnprintf(s->text + s->length, (size_t)length + 1, fmt, again); /* length is known */
	va_end(again);
	s->length += (size_t)length;
}

int strbuf_failed(const struct strbuf *s)
{
	return s->failed ? -ENOMEM : 0;
}
