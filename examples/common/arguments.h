/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the larger examples share: reading numbers, the clock, the end with a message. */
#ifndef EXAMPLES_ARGUMENTS_H
#define EXAMPLES_ARGUMENTS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Says what is wrong and ends the program: 1 is a failure, 2 wrong usage. */
static inline void __attribute__((noreturn, format(printf, 2, 3)))
die(int status, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fputc('\n', stderr);
	exit(status);
}

static inline double number_of(const char *option, const char *text, double least, double most)
{
	char *end = NULL;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= least && value <= most))
		die(2, "%s: '%s' is not a number from %g to %g", option, text, least, most);
	return value;
}

static inline uint32_t count_of(const char *option, const char *text, uint32_t least, uint32_t most)
{
	double value = number_of(option, text, least, most);
	if (value != (uint32_t)value)
		die(2, "%s: '%s' is not a whole number", option, text);
	return (uint32_t)value;
}

static inline double now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* splitmix64: 64 random bits. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* A uniform number in [0, 1). */
static inline double next_uniform(uint64_t *state)
{
	return (double)(next_random(state) >> 11) * 0x1p-53;
}

#endif
