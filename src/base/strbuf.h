/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing string: { 0 } is empty, `text` is always terminated once something was added (NULL
 * before). A failed addition leaves the string as it was, is remembered, and strbuf_failed() tells
 * once at the end, so that a page can be built without a check at every line.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *text;
	size_t length;
	size_t capacity;
	bool failed;
};

void strbuf_release(struct strbuf *s);
void strbuf_add(struct strbuf *s, const char *text);
void strbuf_add_bytes(struct strbuf *s, const char *bytes, size_t length);
/* As printf() has it. */
void strbuf_addf(struct strbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 0, or -ENOMEM if any addition failed. */
int strbuf_failed(const struct strbuf *s);

#endif
