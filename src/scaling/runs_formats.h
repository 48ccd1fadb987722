/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers behind runs_read(), one for each format, and what they share. */
#ifndef SCALING_RUNS_FORMATS_H
#define SCALING_RUNS_FORMATS_H

#include "base/lines.h"
#include "scaling/runs.h"

#include <jansson.h>

/* Each as runs_read(), from the first line that is neither empty nor a comment. */
int runs_csv_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err);
int runs_extrap_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err);

/* `threads` is what the last comment "# threads=N" said, 0 if there was none. */
int runs_perf_read(struct lines *lines, uint32_t threads, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err);

/* From the first byte of a JSON text: hyperfine's or Google Benchmark's. */
int runs_json_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err);
int runs_hyperfine_read(const json_t *results, const char *name, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err);
int runs_gbench_read(const json_t *benchmarks, const char *name, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err);

/* Whether a file whose first line this is has the format. */
bool runs_extrap_is_line(const char *text);
bool runs_perf_is_line(const char *text, bool follows_mark);

/* The N of a line "# threads=N"; 0 if the line is none or N no thread count. */
uint32_t runs_perf_mark(const char *text);

/* A thread count, 1 .. RUNS_THREADS_MAX. 0 or -EINVAL. */
int runs_parse_threads(const char *text, uint32_t *ret);

int runs_refuse_select(const char *name, struct err *err);
/* runs_append() for readers: -EINVAL for sets that would fill the memory of a machine, and values that no program has. */
int runs_add_row(struct runs *runs, const struct runs_row *row, const char *name, struct err *err);

/*
 * A list of different names, with a bound that keeps a look-up by comparing short and a message
 * readable.
 */
enum { NAMES_MAX = 1024 };
struct names {
	char **items;
	size_t count, capacity;
};

/* The place of the name in the list, which gets a copy if it is new. -E2BIG or -ENOMEM. */
int names_add(struct names *names, const char *name);
void names_release(struct names *names);

/* "'a', 'b', ... (12 in all)" in `text`, cut to fit a message. */
struct names_shown {
	char text[400];
};
struct names_shown names_show(const struct names *names);

#endif
