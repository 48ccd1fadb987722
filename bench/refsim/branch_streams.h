/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streams of branches of programs that are made up: nested loops with few or many rounds, conditions that are
 * biased, periodic, or follow earlier ones, and switches over symbols that follow one another with some
 * regularity. Each third is regular: loops whose number of rounds stays, few conditions. The same number gives the same
 * stream.
 */
#ifndef BENCH_REFSIM_BRANCH_STREAMS_H
#define BENCH_REFSIM_BRANCH_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct branch {
	uint64_t address;
	bool is_taken;
};

/* A stream of `count` branches, to be freed; NULL without memory. */
struct branch *branch_stream_new(uint64_t number, size_t count);

#endif
