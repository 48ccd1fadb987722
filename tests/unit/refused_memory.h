/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Allocations of our code go through __wrap_NAME (the linker's --wrap), which refuses one of them.
 */
#ifndef TESTS_REFUSED_MEMORY_H
#define TESTS_REFUSED_MEMORY_H

#include <stdarg.h>
#include <stdlib.h>

static long allowed = -1; /* allocations until one fails; -1: none fails */

static int is_refused(void)
{
	return allowed >= 0 && allowed-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_refused() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return is_refused() ? -1 : __real_vasprintf(ret, fmt, ap);
}

#endif
