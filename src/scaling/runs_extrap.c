/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Extra-P's text format: PARAMETER names the parameter, POINTS lists its values (for us: thread
 * counts), then each REGION and METRIC has one DATA line for each point, in order, with the repeats.
 */
#include "scaling/runs_formats.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/strbuf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct extrap {
	struct lines *lines;
	const struct runs_read_opts *opts;
	bool has_parameter;
	uint32_t *points;
	size_t point_count, point_capacity;
	char *region; /* of the DATA lines that follow */
	char *metric;
	struct names series; /* "region" or "region, metric", of all DATA lines */
	int chosen; /* the series that is read; -1 until one is */
	char *chosen_metric;
	unsigned first_line; /* of the chosen series */
	size_t data_count; /* its DATA lines so far */
	struct runs *runs;
};

static void extrap_release(struct extrap *x)
{
	free(x->points);
	free(x->region);
	free(x->metric);
	free(x->chosen_metric);
	names_release(&x->series);
	runs_free(x->runs);
	*x = (struct extrap){ 0 };
}

/* What follows the keyword, NULL if the line has another keyword. */
static char *after_keyword(char *text, const char *keyword)
{
	text += strspn(text, " \t");
	size_t length = strlen(keyword);
	if (strncmp(text, keyword, length) != 0 || (text[length] && !strchr(" \t(", text[length])))
		return NULL;
	return text + length + strspn(text + length, " \t");
}

bool runs_extrap_is_line(const char *text)
{
	static const char *const keywords[] = { "PARAMETER", "POINTS", "REGION", "METRIC", "DATA" };
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (after_keyword((char *)text, keywords[i])) /* which does not change it */
			return true;
	return false;
}

static int read_parameter(struct extrap *x, char *rest, struct err *err)
{
	char *state;
	bool is_one = strtok_r(rest, " \t", &state) && !strtok_r(NULL, " \t", &state);
	if (!is_one || x->has_parameter)
		return lines_fail(x->lines, err,
			"there must be one PARAMETER, with one name: the number of threads");
	x->has_parameter = true;
	return 0;
}

static int read_points(struct extrap *x, char *rest, struct err *err)
{
	enum { POINTS_MAX = RUNS_THREADS_MAX };
	char *state;
	/* With one parameter the brackets around a point say nothing. */
	for (char *p = strtok_r(rest, " \t()", &state); p; p = strtok_r(NULL, " \t()", &state)) {
		double value;
		if (number_parse_double(p, &value) < 0 || !(value >= 1) ||
			value > RUNS_THREADS_MAX || value != floor(value))
			return lines_fail(x->lines, err,
				"POINTS: '%s' is not a thread count: a whole number, 1 to %d",
				text_show(p).text, (int)RUNS_THREADS_MAX);
		if (x->point_count == POINTS_MAX)
			return lines_fail(x->lines, err, "more than %d POINTS", (int)POINTS_MAX);
		if (mem_grow(&x->points, &x->point_capacity, x->point_count + 1,
			    sizeof *x->points) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		x->points[x->point_count++] = (uint32_t)value;
	}
	return 0;
}

static int keep_name(char **name, const char *rest, struct err *err)
{
	char *copy = strdup(rest);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*name);
	*name = copy;
	return 0;
}

/* Whether the current region and metric are what --select asks for, or anything is. */
static bool is_selected(const struct extrap *x, const char *series)
{
	const char *select = x->opts->select;
	if (!select)
		return x->chosen < 0;
	return strcmp(select, series) == 0 || (x->region && strcmp(select, x->region) == 0);
}

/* Which series the DATA line belongs to; chooses the one to read. */
static int find_series(struct extrap *x, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text, "%s%s%s", x->region ? x->region : "", x->region && x->metric ? ", " : "",
		x->metric ? x->metric : "");
	if (strbuf_failed(&text))
		return err_set(err, -ENOMEM, "out of memory");
	const char *series = text.text;
	int found = names_add(&x->series, series);
	if (found == -E2BIG)
		return lines_fail(x->lines, err,
			"more than %d regions and metrics: give a file with fewer", (int)NAMES_MAX);
	if (found < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (found == x->chosen || !is_selected(x, series))
		return found;
	if (x->chosen >= 0)
		return lines_fail(x->lines, err,
			"region '%s' has several metrics: --select one, as '%s'",
			text_show(x->opts->select).text, text_show(series).text);
	x->chosen = found;
	x->first_line = x->lines->number;
	if (x->metric && keep_name(&x->chosen_metric, x->metric, err) < 0)
		return -ENOMEM;
	return found;
}

static int read_data(struct extrap *x, char *rest, struct err *err)
{
	int series = find_series(x, err);
	if (series < 0 || series != x->chosen)
		return series < 0 ? series : 0;
	if (x->data_count == x->point_count)
		return lines_fail(x->lines, err,
			"there are more DATA lines than the %zu POINTS before them",
			x->point_count);
	struct runs_row row = {
		.threads = x->points[x->data_count++], .rss_bytes = NAN, .line = x->lines->number
	};
	char *state;
	for (char *p = strtok_r(rest, " \t", &state); p; p = strtok_r(NULL, " \t", &state)) {
		if (number_parse_double(p, &row.value) < 0 || !isfinite(row.value) ||
			row.value <= 0)
			return lines_fail(x->lines, err,
				"DATA: '%s' is not a measurement: a number above 0",
				text_show(p).text);
		int code = runs_add_row(x->runs, &row, x->lines->name, err);
		if (code < 0)
			return code;
		row.repeat++;
	}
	if (row.repeat == 0)
		return lines_fail(x->lines, err, "DATA: there is no value");
	return 0;
}

static int read_line(struct extrap *x, struct err *err)
{
	char *text = x->lines->text;
	for (size_t end = x->lines->length; end > 0 && strchr(" \t", text[end - 1]); end--)
		text[end - 1] = '\0';
	char *rest;
	if ((rest = after_keyword(text, "PARAMETER")))
		return read_parameter(x, rest, err);
	if ((rest = after_keyword(text, "POINTS")))
		return read_points(x, rest, err);
	if ((rest = after_keyword(text, "REGION")))
		return keep_name(&x->region, rest, err);
	if ((rest = after_keyword(text, "METRIC")))
		return keep_name(&x->metric, rest, err);
	if ((rest = after_keyword(text, "DATA")))
		return read_data(x, rest, err);
	text += strspn(text, " \t");
	if (*text == '\0' || *text == '#')
		return 0;
	return lines_fail(x->lines, err,
		"'%s' does not begin with PARAMETER, POINTS, REGION, METRIC or DATA",
		text_show(text).text);
}

/* What the name of an Extra-P metric means; UNKNOWN for others than these. */
static enum metric metric_of(const char *name)
{
	static const char *const times[] = { "time", "runtime", "walltime", "wall_time",
		"seconds" };
	for (size_t i = 0; name && i < ARRAY_SIZE(times); i++)
		if (strcasecmp(name, times[i]) == 0)
			return METRIC_TIME;
	return name && strcasecmp(name, "throughput") == 0 ? METRIC_THROUGHPUT : METRIC_UNKNOWN;
}

static int check(struct extrap *x, struct err *err)
{
	const char *name = x->lines->name;
	if (x->series.count == 0)
		return err_set(err, -EINVAL, "%s: there is no DATA line", name);
	if (x->chosen < 0)
		return err_set(err, -EINVAL, "%s: no region '%s': there are %s", name,
			text_show(x->opts->select).text, names_show(&x->series).text);
	if (!x->opts->select && x->series.count > 1)
		return err_set(err, -EINVAL, "%s: it has several curves: --select one of %s", name,
			names_show(&x->series).text);
	if (x->data_count < x->point_count)
		return err_set(err, -EINVAL, "%s:%u: %zu DATA lines from here for %zu POINTS", name,
			x->first_line, x->data_count, x->point_count);
	enum metric said = metric_of(x->chosen_metric);
	if (said != METRIC_UNKNOWN && x->opts->metric != METRIC_UNKNOWN && said != x->opts->metric)
		return err_set(err, -EINVAL, "%s:%u: the values are a %s, not a %s", name,
			x->first_line, metric_name(said), metric_name(x->opts->metric));
	x->runs->metric = said != METRIC_UNKNOWN ? said : x->opts->metric;
	return 0;
}

int runs_extrap_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err)
{
	AUTO_RELEASE(extrap) struct extrap x = { .lines = lines, .opts = opts, .chosen = -1 };
	x.runs = runs_new(METRIC_UNKNOWN, NULL, 0);
	if (!x.runs)
		return err_set(err, -ENOMEM, "out of memory");
	int code;
	while ((code = lines_next(lines, err)) > 0) {
		code = read_line(&x, err);
		if (code < 0)
			break;
	}
	if (code < 0)
		return code;
	code = check(&x, err);
	if (code < 0)
		return code;
	*ret = TAKE(x.runs);
	return 0;
}
