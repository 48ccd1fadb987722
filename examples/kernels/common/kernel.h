/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernels share: options, memory, threads, the region of interest, the checksum.
 *
 *	NAME [-n THREADS] [-s SIZE]
 *
 * Work grows in proportion to SIZE, near enough: 100, which is the default, takes from a fifth of a
 * second to a second with one thread, 1 makes some ten million instructions. A kernel prepares its
 * data, does its work between kernel_begin_work() and kernel_end_work() (the region "roi" of
 * corecast/probe.h), and ends with a checksum that no number of threads changes.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "examples/common/arguments.h"

#include <stddef.h>

enum { KERNEL_THREADS_MAX = 256, KERNEL_LINE = 64 };

struct kernel {
	const char *name;
	int threads;
	double size, begin_s, work_s;
};

/* Reads the options; ends the program when they are wrong or ask for help. */
struct kernel kernel_start(int argc, char **argv, const char *summary);

/* A count that is `at_100` at SIZE 100 and in proportion to SIZE; never 0. */
size_t kernel_scaled(const struct kernel *kernel, size_t at_100);

/* The side of something whose `power`th power is in proportion to SIZE; never 0. */
size_t kernel_side(const struct kernel *kernel, size_t at_100, int power);

/* Zeroed memory that begins with a cache line and stays until the end. Ends the program if there is none. */
void *kernel_array(size_t count, size_t item_bytes);

/* Main works outside the region of interest before the first and after the second. */
void kernel_begin_work(struct kernel *kernel);
void kernel_end_work(struct kernel *kernel);

/* Prints the checksum and the seconds of work. Returns the exit status. */
int kernel_finish(const struct kernel *kernel, uint64_t checksum);

/* Called in each thread, which are counted from 0. */
typedef void kernel_work(const struct kernel *kernel, int thread, void *shared);

/* THREADS new threads work; main waits for their end. */
void kernel_run_threads(const struct kernel *kernel, kernel_work *work, void *shared);

/* The same with main as thread 0. */
void kernel_run_team(const struct kernel *kernel, kernel_work *work, void *shared);

/* The part of `count` things that is this thread's: from `begin` to before `end`. */
struct kernel_part {
	size_t begin, end;
};

static inline struct kernel_part kernel_part(const struct kernel *kernel, size_t count, int thread)
{
	size_t threads = (size_t)kernel->threads, i = (size_t)thread;
	return (struct kernel_part){ count * i / threads, count * (i + 1) / threads };
}

/* What the threads left, each at the beginning of a line of its own, together. */
uint64_t kernel_sum_of_lines(const struct kernel *kernel, const uint64_t *lines);

/* A hash of values in their order. */
static inline uint64_t kernel_mix(uint64_t hash, uint64_t value)
{
	uint64_t mixed = (hash ^ value) * 0x9e3779b97f4a7c15U;
	return mixed ^ (mixed >> 29);
}

/* The same of bytes; what does not fill eight at the end is left out. */
uint64_t kernel_hash(uint64_t hash, const void *bytes, size_t size);

#endif
