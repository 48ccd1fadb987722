/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What went wrong, in words for the person who runs the command.
 *
 * A fallible function returns 0 (or a count) or a negative errno, and takes `struct err *` last
 * when a person must understand the failure. It ends
 *
 *	return err_set(err, -EINVAL, "%s:%u: '%s' is not a number", name, line, field);
 *
 * The text says what failed, on what, and what to do. Nothing here prints.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum { ERR_TEXT_BYTES = 1024 };

struct err {
	char text[ERR_TEXT_BYTES];
};

/* Stores the formatted text (cut at ERR_TEXT_BYTES) if err is not NULL; returns code, negative. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there; returns code. */
int err_prefix(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
/* The analyser does not see into err.c; this tells it that what comes back is negative. */
#define err_set(err, code, ...) (err_set(err, code, __VA_ARGS__), (code) < 0 ? (code) : -1)
#define err_prefix(err, code, ...) (err_prefix(err, code, __VA_ARGS__), (code) < 0 ? (code) : -1)
#endif

#endif
