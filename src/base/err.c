/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error texts: formatted once, where the failure is known best. */
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#undef err_set /* see the end of err.h */
#undef err_prefix

int err_set(struct err *err, int code, const char *fmt, ...)
{
	assert(code < 0);
	if (!err)
		return code;
	/* The arguments may point into err->text: format aside. */
	char text[ERR_TEXT_BYTES];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap); /* cut is fine: it is text for a person */
	va_end(ap);
	memcpy(err->text, text, sizeof text);
	return code;
}

int err_prefix(struct err *err, int code, const char *fmt, ...)
{
	assert(code < 0);
	if (!err)
		return code;
	char prefix[ERR_TEXT_BYTES / 2];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(prefix, sizeof prefix, fmt, ap); /* cut is fine, as above */
	va_end(ap);
	return err_set(err, code, "%s: %.*s", prefix, ERR_TEXT_BYTES / 2, err->text);
}
