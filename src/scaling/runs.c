/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement sets: made by hand or read from a file whose format its first lines tell. */
#include "scaling/runs.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/plural.h"
#include "scaling/runs_formats.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *metric_name(enum metric metric)
{
	switch (metric) {
	case METRIC_TIME:
		return "time";
	case METRIC_THROUGHPUT:
		return "throughput";
	case METRIC_UNKNOWN:
		break;
	}
	return "unknown";
}

struct runs *runs_new(enum metric metric, const char *const *stall_names, size_t stall_count)
{
	AUTO(runs) struct runs *runs = calloc(1, sizeof *runs);
	if (!runs)
		return NULL;
	runs->metric = metric;
	if (stall_count == 0)
		return TAKE(runs);
	runs->stall_names = calloc(stall_count, sizeof *runs->stall_names);
	if (!runs->stall_names)
		return NULL;
	for (; runs->stall_count < stall_count; runs->stall_count++) {
		char *name = strdup(stall_names[runs->stall_count]);
		if (!name)
			return NULL;
		runs->stall_names[runs->stall_count] = name;
	}
	return TAKE(runs);
}

void runs_free(struct runs *runs)
{
	if (!runs)
		return;
	for (size_t i = 0; i < runs->row_count; i++)
		free(runs->rows[i].stalls);
	for (size_t i = 0; i < runs->stall_count; i++)
		free(runs->stall_names[i]);
	for (size_t i = 0; i < runs->note_count; i++)
		free(runs->notes[i]);
	free(runs->rows);
	free(runs->stall_names);
	free(runs->notes);
	free(runs);
}

int runs_append(struct runs *runs, const struct runs_row *row)
{
	AUTO_FREE double *stalls = NULL;
	if (runs->stall_count > 0) {
		stalls = malloc(runs->stall_count * sizeof *stalls);
		if (!stalls)
			return -ENOMEM;
		memcpy(stalls, row->stalls, runs->stall_count * sizeof *stalls);
	}
	if (mem_grow(&runs->rows, &runs->row_capacity, runs->row_count + 1, sizeof *runs->rows) < 0)
		return -ENOMEM;
	struct runs_row *copy = &runs->rows[runs->row_count++];
	*copy = *row;
	copy->stalls = TAKE(stalls);
	return 0;
}

int runs_add_note(struct runs *runs, const char *fmt, ...)
{
	char **notes = realloc(runs->notes, (runs->note_count + 1) * sizeof *notes);
	if (!notes)
		return -ENOMEM;
	runs->notes = notes;
	va_list ap;
	va_start(ap, fmt);
	int length = vasprintf(&notes[runs->note_count], fmt, ap);
	va_end(ap);
	if (length < 0)
		return -ENOMEM;
	runs->note_count++;
	return 0;
}

int runs_parse_threads(const char *text, uint32_t *ret)
{
	uint32_t threads;
	if (number_parse_u32(text, &threads) < 0 || threads < 1 || threads > RUNS_THREADS_MAX)
		return -EINVAL;
	*ret = threads;
	return 0;
}

int runs_refuse_select(const char *name, struct err *err)
{
	return err_set(err, -EINVAL, "%s: there is one curve in it: leave --select out", name);
}

int runs_add_row(struct runs *runs, const struct runs_row *row, const char *name, struct err *err)
{
	enum { CELLS_MAX = 1 << 24 }; /* some hundred megabytes at most */
	if ((runs->row_count + 1) * (runs->stall_count + 4) > CELLS_MAX)
		return err_set(err, -EINVAL, "%s: more than %zu runs: give a smaller set", name,
			runs->row_count);
	if (!(row->value >= RUNS_VALUE_LEAST && row->value <= RUNS_VALUE_MOST))
		return err_set(err, -EINVAL,
			"%s: %g at %u thread%s is not a measurement: one from %g to %g", name,
			row->value, row->threads, plural(row->threads), RUNS_VALUE_LEAST,
			RUNS_VALUE_MOST);
	if (runs_append(runs, row) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/*
 * To the first line that is neither empty nor a comment. 1, 0 at the end, or an error. A comment
 * "# threads=N" on the way says what perf's output after it is of.
 */
static int skip_comments(struct lines *lines, uint32_t *ret_perf_threads, struct err *err)
{
	int code;
	while ((code = lines_next(lines, err)) > 0) {
		const char *text = lines->text + strspn(lines->text, " \t");
		if (*text && *text != '#')
			break;
		uint32_t threads = runs_perf_mark(text);
		if (threads > 0)
			*ret_perf_threads = threads;
	}
	return code;
}

static int read_text(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err)
{
	uint32_t perf_threads = 0;
	int code = skip_comments(lines, &perf_threads, err);
	if (code < 0)
		return code;
	if (code == 0)
		return err_set(err, -EINVAL,
			"%s: it has only comments: the first line must name the columns, as "
			"threads,time",
			lines->name);
	lines_unread(lines);
	if (runs_extrap_is_line(lines->text))
		return runs_extrap_read(lines, opts, ret, err);
	if (opts->select)
		return runs_refuse_select(lines->name, err);
	if (runs_perf_is_line(lines->text, perf_threads > 0))
		return runs_perf_read(lines, perf_threads, opts, ret, err);
	return runs_csv_read(lines, opts, ret, err);
}

int runs_read(FILE *in, const char *name, const struct runs_read_opts *opts, struct runs **ret,
	struct err *err)
{
	static const struct runs_read_opts defaults = { 0 };
	AUTO_RELEASE(lines) struct lines lines = { .in = in, .name = name };
	if (!opts)
		opts = &defaults;
	int first = lines_peek(&lines, err);
	if (first < 0)
		return first;
	if (first == 0)
		return err_set(err, -EINVAL, "%s: it is empty", name);
	if (first == '{' || first == '[')
		return runs_json_read(&lines, opts, ret, err);
	return read_text(&lines, opts, ret, err);
}
