/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs whose threads meet all the time share. A source file has a table of the kinds of
 * meeting that it knows; MEETING, which the build file defines, is the one of this program.
 *
 * The checksum is of the number of rounds, and of what the threads left where they met less what they
 * put there (nothing, unless one overwrote what another had put), or what comes out in any order.
 */
#ifndef MEETINGS_MEETING_H
#define MEETINGS_MEETING_H

#include "examples/kernels/common/kernel.h"

#include <string.h>

/* As far apart, two things share no line, nor a pair of lines that processors fetch together. */
enum { MEETING_APART = 2 * KERNEL_LINE };

struct meeting {
	const char *name;
	kernel_work *work;
	size_t rounds; /* at SIZE 100, of all threads together */
	const char *summary;
};

/* From a table that ends with an empty one. */
static inline const struct meeting *meeting_find(const struct meeting *meetings, const char *name)
{
	for (; meetings->name; meetings++)
		if (strcmp(meetings->name, name) == 0)
			return meetings;
	die(1, "no meeting is called '%s'", name);
}

/* How many of `rounds` are this thread's. */
static inline size_t meeting_part(const struct kernel *kernel, size_t rounds, int thread)
{
	struct kernel_part part = kernel_part(kernel, rounds, thread);
	return part.end - part.begin;
}

static inline uint64_t meeting_mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdU;
	return value ^ (value >> 33);
}

/* A chain of so many steps, each of which waits for the one before it. */
static inline uint64_t meeting_work(uint64_t value, int steps)
{
	for (int i = 0; i < steps; i++)
		value = meeting_mix(value + (uint64_t)i);
	return value;
}

/* The compiler may not leave out what made this. */
static inline void meeting_keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

static inline void meeting_pause(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static inline void meeting_run(struct kernel *kernel, const struct meeting *meeting, void *shared)
{
	kernel_begin_work(kernel);
	kernel_run_threads(kernel, meeting->work, shared);
	kernel_end_work(kernel);
}

static inline int meeting_finish(
	const struct kernel *kernel, size_t rounds, uint64_t found, uint64_t put)
{
	return kernel_finish(kernel, kernel_mix(found - put, rounds));
}

#endif
