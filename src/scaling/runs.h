/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A measurement set: one row for each run of a program, columns for what was measured. This is
 * what `corecast measure` writes and `corecast forecast` reads (docs/formats/runs.md), and what the
 * importers of other tools' files produce.
 */
#ifndef SCALING_RUNS_H
#define SCALING_RUNS_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum metric {
	METRIC_UNKNOWN,
	METRIC_TIME, /* seconds, less is better */
	METRIC_THROUGHPUT, /* per second, more is better */
};

/* "time", "throughput"; "unknown" otherwise. */
const char *metric_name(enum metric metric);

/*
 * What a measurement can be: from far below a cycle to far above the age of the universe, and of a
 * range whose squares and ratios are finite.
 */
#define RUNS_VALUE_LEAST 1e-30
#define RUNS_VALUE_MOST 1e30

struct runs_row {
	uint32_t threads;
	uint32_t repeat; /* 0, 1, ... within a thread count */
	double value; /* of the set's metric, RUNS_VALUE_LEAST .. RUNS_VALUE_MOST */
	double rss_bytes; /* NAN where not measured */
	double *stalls; /* stall_count values, summed over threads; NAN where not measured */
	unsigned line; /* of the file, for messages; 0 if it has no lines */
	uint32_t merged; /* runs behind the value, which is their mean; 0 means 1 */
	double stddev; /* of their values; 0 where not known */
};

struct runs {
	enum metric metric;
	struct runs_row *rows;
	size_t row_count;
	char **stall_names; /* without the "stall:" prefix */
	size_t stall_count;
	bool has_stall_seconds; /* `measure` said so; else they are cycles, or nobody knows */
	uint32_t cores; /* that `measure` could use; 0: it did not say */
	char **notes; /* documented treatments of odd input, and remarks of `measure`: one sentence each */
	size_t note_count;
	size_t row_capacity; /* of runs_append() */
};

struct runs_read_opts {
	/* Which column, and what `threads,value` means. UNKNOWN: throughput where the file has it,
	   else time; a set read from `threads,value` is then of an unknown metric. */
	enum metric metric;
	/* Which of several curves in one file: a benchmark's name (Google Benchmark) or a region
	   (Extra-P). NULL: there must be only one. Refused by formats that hold one. */
	const char *select;
};

enum { RUNS_THREADS_MAX = 65536 };

/*
 * Reads a measurement set from `in`; `name` is what messages call it. The format is recognised by
 * its content: CSV (ours), hyperfine's JSON, Google Benchmark's JSON, Extra-P's text,
 * `perf stat -x,` blocks that follow "# threads=N" lines.
 * opts may be NULL. Rows without a value (failed runs) are skipped with a note; a set that is
 * returned has at least one row. 0; -EINVAL (the text names line or object), -EIO, -ENOMEM. The
 * caller frees *ret with runs_free().
 */
int runs_read(FILE *in, const char *name, const struct runs_read_opts *opts, struct runs **ret,
	struct err *err);

/* An empty set to append to; NULL without memory. stall_names are copied. */
struct runs *runs_new(enum metric metric, const char *const *stall_names, size_t stall_count);
void runs_free(struct runs *runs);

/* Appends a copy of the row (and of its stalls). 0 or -ENOMEM. */
int runs_append(struct runs *runs, const struct runs_row *row);

/* 0 or -ENOMEM. */
int runs_add_note(struct runs *runs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

CLEANUP_DEFINE(runs, runs_free)

#endif
