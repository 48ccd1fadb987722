/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RUNS.csv, the contract of docs/formats/runs.md: a header that names the columns, then a row for
 * each run. Fields may be quoted as in RFC 4180, but none may contain a line end.
 */
#include "scaling/runs_formats.h"

#include "base/csv.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The columns that mean something; others are ignored. */
enum column {
	COLUMN_THREADS,
	COLUMN_TIME,
	COLUMN_THROUGHPUT,
	COLUMN_VALUE,
	COLUMN_REPEAT,
	COLUMN_RSS,
	COLUMN_STDDEV,
	COLUMN_N,
	COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_THREADS] = "threads",
	[COLUMN_TIME] = "time",
	[COLUMN_THROUGHPUT] = "throughput",
	[COLUMN_VALUE] = "value",
	[COLUMN_REPEAT] = "repeat",
	[COLUMN_RSS] = "rss_bytes",
	[COLUMN_STDDEV] = "stddev",
	[COLUMN_N] = "n",
};

/* As many remarks, and as much of each, as anybody reads. */
enum { REMARKS_MAX = 8, REMARK_BYTES = 300 };

static const char stall_prefix[] = "stall:";

struct csv {
	struct lines *lines;
	struct csv_fields line; /* of the current line */
	size_t header_count;
	size_t at[COLUMN_COUNT]; /* field of each column; SIZE_MAX: not in the file */
	enum column value; /* which column is the metric */
	size_t *stall_at;
	double *stalls; /* of the current row */
	uint32_t *seen; /* rows so far of each thread count, to number repeats */
	size_t skipped; /* rows without a value */
	unsigned first_skipped; /* line of the first of them */
	struct runs *runs;
};

static void csv_release(struct csv *csv)
{
	csv_fields_release(&csv->line);
	free(csv->stall_at);
	free(csv->stalls);
	free(csv->seen);
	runs_free(csv->runs);
	*csv = (struct csv){ 0 };
}

static bool has(const struct csv *csv, enum column column)
{
	return csv->at[column] != SIZE_MAX;
}

static bool is_stall(const char *name)
{
	return strncasecmp(name, stall_prefix, sizeof stall_prefix - 1) == 0;
}

static int find_column(struct csv *csv, size_t field, struct err *err)
{
	for (int c = 0; c < COLUMN_COUNT; c++) {
		if (strcasecmp(csv->line.items[field], column_names[c]) != 0)
			continue;
		if (csv->at[c] != SIZE_MAX)
			return lines_fail(
				csv->lines, err, "column '%s' is there twice", column_names[c]);
		csv->at[c] = field;
	}
	return 0;
}

/* Which column holds the metric. */
static int choose_value(struct csv *csv, const char *line, enum metric *metric, struct err *err)
{
	if (*metric != METRIC_TIME && has(csv, COLUMN_THROUGHPUT)) {
		csv->value = COLUMN_THROUGHPUT;
		*metric = METRIC_THROUGHPUT;
	} else if (*metric != METRIC_THROUGHPUT && has(csv, COLUMN_TIME)) {
		csv->value = COLUMN_TIME;
		*metric = METRIC_TIME;
	} else if (has(csv, COLUMN_VALUE)) {
		csv->value = COLUMN_VALUE;
	} else {
		const char *name = *metric == METRIC_THROUGHPUT ? "throughput" : "time";
		return lines_fail(csv->lines, err,
			"no column '%s' in '%s': the first line must name the columns, as "
			"threads,%s",
			name, text_show(line).text, name);
	}
	return 0;
}

/* What a header that cannot be ours most likely is. */
static int fail_header(const struct csv *csv, const char *line, struct err *err)
{
	if (csv->header_count == 1 && strpbrk(line, ";\t"))
		return lines_fail(csv->lines, err,
			"the fields are separated by %s: separate them by commas, and write "
			"decimal points",
			strchr(line, ';') ? "';'" : "tabs");
	double number;
	if (number_parse_double(csv->line.items[0], &number) == 0)
		return lines_fail(csv->lines, err,
			"there is no header: the first line must name the columns, as "
			"threads,time");
	return lines_fail(csv->lines, err,
		"no column 'threads' in '%s': the first line must name the columns, as "
		"threads,time",
		text_show(line).text);
}

static int make_runs(struct csv *csv, enum metric metric, struct err *err)
{
	AUTO_FREE const char **names = calloc(csv->header_count, sizeof *names);
	csv->stall_at = calloc(csv->header_count, sizeof *csv->stall_at);
	csv->stalls = calloc(csv->header_count, sizeof *csv->stalls);
	csv->seen = calloc(RUNS_THREADS_MAX + 1, sizeof *csv->seen);
	if (!names || !csv->stall_at || !csv->stalls || !csv->seen)
		return err_set(err, -ENOMEM, "out of memory");
	size_t count = 0;
	for (size_t i = 0; i < csv->header_count; i++) {
		if (!is_stall(csv->line.items[i]))
			continue;
		const char *name = csv->line.items[i] + sizeof stall_prefix - 1;
		if (*name == '\0')
			return lines_fail(csv->lines, err,
				"field %zu: a stall column needs a name: write stall:NAME", i + 1);
		for (size_t k = 0; k < count; k++)
			if (strcmp(names[k], name) == 0)
				return lines_fail(csv->lines, err,
					"column 'stall:%s' is there twice", text_show(name).text);
		csv->stall_at[count] = i;
		names[count++] = name;
	}
	csv->runs = runs_new(metric, names, count);
	return csv->runs ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int read_header(struct csv *csv, enum metric metric, struct err *err)
{
	int code = lines_next(csv->lines, err);
	if (code < 0)
		return code;
	AUTO_FREE char *line = strdup(csv->lines->text);
	if (!line)
		return err_set(err, -ENOMEM, "out of memory");
	code = csv_split(&csv->line, csv->lines, err);
	if (code < 0)
		return code;
	csv->header_count = csv->line.count;
	for (int c = 0; c < COLUMN_COUNT; c++)
		csv->at[c] = SIZE_MAX;
	for (size_t i = 0; i < csv->header_count; i++)
		if (find_column(csv, i, err) < 0)
			return -EINVAL;
	if (!has(csv, COLUMN_THREADS))
		return fail_header(csv, line, err);
	code = choose_value(csv, line, &metric, err);
	if (code < 0)
		return code;
	return make_runs(csv, metric, err);
}

/* A field as a finite number, NAN when it is empty or "nan"; `prefix` and `name` are the column's. */
static int read_number(const struct csv *csv, size_t field, const char *prefix, const char *name,
	double *ret, struct err *err)
{
	const char *text = csv->line.items[field];
	if (*text == '\0') {
		*ret = NAN;
		return 0;
	}
	int code = number_parse_double(text, ret);
	if (code == 0 && !isinf(*ret))
		return 0;
	const char *why = "is not a number";
	if (code == -ERANGE || code == 0)
		why = "is out of range";
	else if (strchr(text, ','))
		why = "is not a number: write a decimal point";
	return lines_fail(csv->lines, err, "column '%s%s': '%s' %s", prefix, text_show(name).text,
		text_show(text).text, why);
}

/* As read_number(), of a named column; absent is empty; negative is refused. */
static int read_column(const struct csv *csv, enum column column, double *ret, struct err *err)
{
	*ret = NAN;
	if (!has(csv, column))
		return 0;
	size_t field = csv->at[column];
	int code = read_number(csv, field, "", column_names[column], ret, err);
	if (code < 0)
		return code;
	if (*ret < 0)
		return lines_fail(csv->lines, err, "column '%s': '%s' is negative",
			column_names[column], text_show(csv->line.items[field]).text);
	return 0;
}

/* stddev and n, which only mean something together. */
static int read_merged(const struct csv *csv, struct runs_row *row, struct err *err)
{
	if (!has(csv, COLUMN_STDDEV) || !has(csv, COLUMN_N))
		return 0;
	double stddev;
	int code = read_column(csv, COLUMN_STDDEV, &stddev, err);
	if (code < 0)
		return code;
	const char *text = csv->line.items[csv->at[COLUMN_N]];
	if (*text && (number_parse_u32(text, &row->merged) < 0 || row->merged == 0))
		return lines_fail(csv->lines, err, "column 'n': '%s' is not a number of runs",
			text_show(text).text);
	row->stddev = isnan(stddev) ? 0 : stddev;
	return 0;
}

static int read_counts(const struct csv *csv, struct runs_row *row, struct err *err)
{
	const char *text = csv->line.items[csv->at[COLUMN_THREADS]];
	if (runs_parse_threads(text, &row->threads) < 0)
		return lines_fail(csv->lines, err,
			"column 'threads': '%s' is not a thread count: a whole number, 1 to %d",
			text_show(text).text, (int)RUNS_THREADS_MAX);
	row->repeat = csv->seen[row->threads]++;
	if (!has(csv, COLUMN_REPEAT))
		return 0;
	text = csv->line.items[csv->at[COLUMN_REPEAT]];
	if (*text && number_parse_u32(text, &row->repeat) < 0)
		return lines_fail(csv->lines, err,
			"column 'repeat': '%s' is not a whole number from 0", text_show(text).text);
	return 0;
}

static int read_stalls(struct csv *csv, struct err *err)
{
	for (size_t i = 0; i < csv->runs->stall_count; i++) {
		const char *name = csv->runs->stall_names[i];
		int code = read_number(
			csv, csv->stall_at[i], stall_prefix, name, &csv->stalls[i], err);
		if (code < 0)
			return code;
		if (csv->stalls[i] < 0)
			return lines_fail(csv->lines, err, "column 'stall:%s': '%s' is negative",
				text_show(name).text,
				text_show(csv->line.items[csv->stall_at[i]]).text);
	}
	return 0;
}

static int read_row(struct csv *csv, struct err *err)
{
	int code = csv_split(&csv->line, csv->lines, err);
	if (code < 0)
		return code;
	if (csv->line.count != csv->header_count)
		return lines_fail(csv->lines, err,
			"it has %zu fields and the header has %zu: separate fields by commas, "
			"write decimal points",
			csv->line.count, csv->header_count);
	struct runs_row row = { .stalls = csv->stalls, .line = csv->lines->number };
	if (read_counts(csv, &row, err) < 0 || read_column(csv, csv->value, &row.value, err) < 0 ||
		read_column(csv, COLUMN_RSS, &row.rss_bytes, err) < 0 ||
		read_merged(csv, &row, err) < 0 || read_stalls(csv, err) < 0)
		return -EINVAL;
	const char *value = csv->line.items[csv->at[csv->value]];
	if (isnan(row.value) && *value)
		return lines_fail(csv->lines, err,
			"column '%s': '%s' is not a measurement: leave the field empty if the run "
			"failed",
			column_names[csv->value], text_show(value).text);
	if (isnan(row.value)) {
		if (csv->skipped++ == 0)
			csv->first_skipped = row.line;
		return 0;
	}
	if (row.value == 0)
		return lines_fail(csv->lines, err,
			"column '%s' is 0: a measurement is above 0; leave the field empty if the "
			"run failed",
			column_names[csv->value]);
	return runs_add_row(csv->runs, &row, csv->lines->name, err);
}

static bool is_content(const char *text)
{
	text += strspn(text, " \t");
	return *text && *text != '#';
}

/* What follows `mark` at the beginning of a line, or NULL. */
static const char *text_behind(const char *text, const char *mark)
{
	size_t length = strlen(mark);
	return strncmp(text, mark, length) == 0 ? text + length : NULL;
}

/*
 * What `corecast measure` writes below the header beside its rows: the unit of stalls, how many cores it could use, and remarks that belong to
 * the figures (a busy machine, shared cores). 0 or -ENOMEM.
 */
static int read_comment(struct csv *csv, const char *text)
{
	if (text_behind(text, "# stalls: seconds"))
		csv->runs->has_stall_seconds = true;
	const char *note = text_behind(text, "# note: ");
	const char *cores = text_behind(text, "# cores: ");
	if (note && !cores)
		cores = text_behind(note, "oversubscribed above ");
	unsigned long count = cores ? strtoul(cores, NULL, 10) : 0;
	if (count >= 1 && count <= RUNS_THREADS_MAX)
		csv->runs->cores = (uint32_t)count;
	if (!note || cores || csv->runs->note_count == REMARKS_MAX)
		return 0;
	return runs_add_note(csv->runs, "measured with a remark: %.*s", REMARK_BYTES, note);
}

struct row_key {
	uint64_t threads_repeat; /* threads in the upper half */
	unsigned line;
};

static int compare_keys(const void *a, const void *b)
{
	const struct row_key *x = a, *y = b;
	if (x->threads_repeat != y->threads_repeat)
		return x->threads_repeat < y->threads_repeat ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Says which rows have the same threads and repeat. */
static int note_duplicates(struct csv *csv)
{
	const struct runs *runs = csv->runs;
	AUTO_FREE struct row_key *keys = malloc(runs->row_count * sizeof *keys);
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < runs->row_count; i++) {
		const struct runs_row *row = &runs->rows[i];
		keys[i].threads_repeat = (uint64_t)row->threads << 32 | row->repeat;
		keys[i].line = row->line;
	}
	qsort(keys, runs->row_count, sizeof *keys, compare_keys);
	size_t count = 0;
	const struct row_key *first = NULL;
	for (size_t i = 1; i < runs->row_count; i++) {
		if (keys[i].threads_repeat != keys[i - 1].threads_repeat)
			continue;
		count++;
		if (!first)
			first = &keys[i];
	}
	if (count == 0)
		return 0;
	return runs_add_note(csv->runs,
		"%zu %s the threads and repeat of an earlier row, first threads %u repeat %u "
		"(lines %u and %u): all are used, as repeats",
		count, count == 1 ? "row has" : "rows have",
		(uint32_t)(first->threads_repeat >> 32), (uint32_t)first->threads_repeat,
		first[-1].line, first->line);
}

static int note_skipped(struct csv *csv)
{
	if (csv->skipped == 0)
		return 0;
	return runs_add_note(csv->runs, "%zu %s no %s (first line %u): skipped", csv->skipped,
		csv->skipped == 1 ? "row has" : "rows have", column_names[csv->value],
		csv->first_skipped);
}

int runs_csv_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err)
{
	AUTO_RELEASE(csv) struct csv csv = { .lines = lines };
	int code = read_header(&csv, opts->metric, err);
	while (code >= 0 && (code = lines_next(lines, err)) > 0)
		if (is_content(lines->text))
			code = read_row(&csv, err);
		else
			code = read_comment(&csv, lines->text);
	if (code < 0)
		return code == -ENOMEM ? err_set(err, code, "out of memory") : code;
	if (csv.runs->row_count == 0)
		return err_set(err, -EINVAL,
			csv.skipped ? "%s: no row has a %s: every run failed"
				    : "%s: there is a header and no row with a %s after it",
			lines->name, column_names[csv.value]);
	if (note_skipped(&csv) < 0 || (has(&csv, COLUMN_REPEAT) && note_duplicates(&csv) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(csv.runs);
	return 0;
}
