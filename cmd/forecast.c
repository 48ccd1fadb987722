/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast forecast: from a measurement set to values with intervals at every thread count up to a
 * target, or the same for two versions of a program side by side.
 */
#include "command.h"
#include "terminal.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "report/report.h"
#include "scaling/advice.h"
#include "scaling/forecast.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES_MAX = 2 };

struct values {
	uint32_t target, within;
	const char *method, *metric, *select;
	double dataset_ratio, frequency_ratio;
	bool compare, what_next, json;
	const char *csv, *svg, *html;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 't', "to", "N", "highest thread count to predict (default: twice the largest measured)",
		OPTION_U32, FIELD(target), 1, RUNS_THREADS_MAX },
	{ 'm', "method", "auto|presca|estima|usl|amdahl|pmnf", "how to predict (default auto)",
		OPTION_STRING, FIELD(method) },
	{ 0, "metric", "time|throughput",
		"what the file's values are (threads,value) or which column to use", OPTION_STRING,
		FIELD(metric) },
	{ 0, "select", "NAME",
		"one of several curves in a file: a benchmark of Google Benchmark's, a region of "
		"Extra-P's",
		OPTION_STRING, FIELD(select) },
	{ 0, "compare", NULL, "two files: both forecasts, their ratio, where they cross",
		OPTION_FLAG, FIELD(compare) },
	{ 0, "what-next", NULL, "which count, if measured, would narrow the answer most",
		OPTION_FLAG, FIELD(what_next) },
	{ 0, "within", "N",
		"counts up to N can be measured (for --what-next; default: twice the largest "
		"measured)",
		OPTION_U32, FIELD(within), 1, RUNS_THREADS_MAX },
	{ 0, "dataset-ratio", "X", "estima: target's data size over the measured one",
		OPTION_DOUBLE, FIELD(dataset_ratio) },
	{ 0, "frequency-ratio", "X", "estima: target's clock over the measured one", OPTION_DOUBLE,
		FIELD(frequency_ratio) },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 0, "csv", "FILE", "write threads,value,low,high,measured", OPTION_OUTPUT, FIELD(csv) },
	{ 0, "svg", "FILE", "write the figure as SVG", OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file: findings, figures, table",
		OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

/* One file and what became of it. */
struct side {
	const char *path;
	struct curve *curve;
	struct forecast *forecast;
};

static void side_release(struct side *side)
{
	curve_free(side->curve);
	forecast_free(side->forecast);
}

static int read_metric(const struct command *command, const char *name, enum metric *ret)
{
	if (!name)
		*ret = METRIC_UNKNOWN;
	else if (strcmp(name, "time") == 0)
		*ret = METRIC_TIME;
	else if (strcmp(name, "throughput") == 0)
		*ret = METRIC_THROUGHPUT;
	else
		return command_usage_error(
			command, "--metric: '%s' is not time or throughput", name);
	return 0;
}

static int read_side(struct side *side, const struct runs_read_opts *opts, struct err *err)
{
	bool is_stdin = strcmp(side->path, "-") == 0;
	AUTO_FILE FILE *opened = is_stdin ? NULL : fopen(side->path, "re");
	if (!opened && !is_stdin)
		return err_set(err, -errno, "cannot read '%s': %s", side->path, strerror(errno));
	AUTO(runs) struct runs *runs = NULL;
	int code = runs_read(is_stdin ? stdin : opened, is_stdin ? "standard input" : side->path,
		opts, &runs, err);
	if (code < 0)
		return code;
	return curve_from_runs(runs, &side->curve, err);
}

static uint32_t largest(const struct side *side)
{
	return side->curve->points[side->curve->point_count - 1].threads;
}

/* Adds which count to measure next, as data and as a sentence. */
static int advise(struct side *side, const struct forecast_method *method,
	const struct forecast_opts *opts, uint32_t within, struct err *err)
{
	struct advice *advice = &side->forecast->advice;
	int code = advice_what_next(side->curve, side->forecast, method, opts,
		within ? within : 2 * largest(side), advice, err);
	if (code < 0)
		return code;
	code = advice->threads == 0
		       ? forecast_add_note(side->forecast,
				 "no unmeasured count that can be run would "
				 "narrow the interval at %u threads",
				 opts->target)
		       : forecast_add_note(side->forecast,
				 "measure at %u threads next: the interval at %u "
				 "threads, a factor of %.2f now, would narrow to about %.2f",
				 advice->threads, opts->target, advice->factor_now,
				 advice->factor_then);
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

static int predict_side(struct side *side, const struct values *v,
	const struct forecast_method *method, uint32_t target, struct err *err)
{
	struct forecast_opts opts = { .target = target,
		.dataset_ratio = v->dataset_ratio,
		.frequency_ratio = v->frequency_ratio };
	int code = forecast_run(side->curve, method, &opts, &side->forecast, err);
	if (code < 0)
		return err_prefix(err, code, "%s", side->path);
	return v->what_next ? advise(side, method, &opts, v->within, err) : 0;
}

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SVG, FORMAT_HTML };

/* What titles call the measurements: the file without its folders. */
static const char *subject(const struct side *side)
{
	return strcmp(side->path, "-") == 0 ? "standard input" : path_file_name(side->path);
}

static void render_forecast(struct strbuf *out, enum format format, const struct side *side)
{
	struct text_style style;
	switch (format) {
	case FORMAT_TEXT:
		style = terminal_style(stdout);
		report_forecast_text(out, side->forecast, &style);
		break;
	case FORMAT_JSON:
		report_forecast_json(out, side->forecast);
		break;
	case FORMAT_CSV:
		report_forecast_csv(out, side->forecast);
		break;
	case FORMAT_SVG:
		report_forecast_svg(out, side->forecast, subject(side));
		break;
	case FORMAT_HTML:
		report_forecast_html(out, side->forecast, subject(side));
		break;
	}
}

static void render_comparison(
	struct strbuf *out, enum format format, const struct comparison *comparison)
{
	struct text_style style;
	switch (format) {
	case FORMAT_TEXT:
		style = terminal_style(stdout);
		report_comparison_text(out, comparison, &style);
		break;
	case FORMAT_JSON:
		report_comparison_json(out, comparison);
		break;
	case FORMAT_CSV: /* refused by check() */
		break;
	case FORMAT_SVG:
		report_comparison_svg(out, comparison);
		break;
	case FORMAT_HTML:
		report_comparison_html(out, comparison);
		break;
	}
}

static int write_report(const char *path, enum format format, const struct side *sides,
	const struct comparison *comparison, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (!path)
		return 0;
	if (comparison)
		render_comparison(&text, format, comparison);
	else
		render_forecast(&text, format, &sides[0]);
	return report_save(&text, path, err);
}

/* The files that were asked for, then what is printed. */
static int write_reports(const struct values *v, const struct side *sides,
	const struct comparison *comparison, struct err *err)
{
	const struct {
		const char *path;
		enum format format;
	} reports[] = { { v->csv, FORMAT_CSV }, { v->svg, FORMAT_SVG }, { v->html, FORMAT_HTML },
		{ "-", v->json ? FORMAT_JSON : FORMAT_TEXT } };
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		int code = write_report(reports[i].path, reports[i].format, sides, comparison, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int forecast_files(struct side *sides, size_t count, const struct values *v,
	enum metric metric, const struct forecast_method *method, struct err *err)
{
	struct runs_read_opts opts = { .metric = metric, .select = v->select };
	uint32_t target = v->target;
	for (size_t i = 0; i < count; i++) {
		int code = read_side(&sides[i], &opts, err);
		if (code < 0)
			return code;
		if (!v->target && 2 * largest(&sides[i]) > target)
			target = 2 * largest(&sides[i]);
	}
	for (size_t i = 0; i < count; i++) {
		int code = predict_side(&sides[i], v, method, target, err);
		if (code < 0)
			return code;
	}
	if (count < SIDES_MAX)
		return write_reports(v, sides, NULL, err);
	bool has_names = strcmp(subject(&sides[0]), subject(&sides[1])) != 0;
	struct comparison both = { .a = sides[0].forecast,
		.b = sides[1].forecast,
		.label_a = has_names ? subject(&sides[0]) : sides[0].path,
		.label_b = has_names ? subject(&sides[1]) : sides[1].path };
	int code = forecast_crossing(both.a, both.b, &both.crossing, err);
	return code < 0 ? code : write_reports(v, sides, &both, err);
}

static int check(
	const struct command *command, const struct values *v, const struct operands *operands)
{
	if (operands->count != (v->compare ? SIDES_MAX : 1))
		return command_usage_error(
			command, "--compare needs two files, and two files --compare");
	if (v->compare && v->csv)
		return command_usage_error(
			command, "--csv writes one forecast: leave --compare out");
	if (v->dataset_ratio < 0 || v->frequency_ratio < 0)
		return command_usage_error(command, "ratios are above 0");
	if ((v->dataset_ratio > 0 || v->frequency_ratio > 0) && strcmp(v->method, "estima") != 0)
		return command_usage_error(
			command, "--dataset-ratio and --frequency-ratio are of --method estima");
	if (v->within && !v->what_next)
		return command_usage_error(command, "--within goes with --what-next");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .method = "auto" };
	struct operands operands;
	enum metric metric = METRIC_UNKNOWN;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = check(command, &v, &operands);
	if (status == 0)
		status = read_metric(command, v.metric, &metric);
	if (status != 0)
		return status;
	const struct forecast_method *method = forecast_method_by_name(v.method);
	if (!method)
		return command_usage_error(command, "--method: there is no '%s'", v.method);

	struct err err;
	struct side sides[SIDES_MAX] = { 0 };
	for (int i = 0; i < operands.count; i++)
		sides[i].path = operands.items[i];
	int code = forecast_files(sides, (size_t)operands.count, &v, metric, method, &err);
	for (int i = 0; i < SIDES_MAX; i++)
		side_release(&sides[i]);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_forecast;
const struct command cmd_forecast = {
	.name = "forecast",
	.summary = "predict performance at thread counts that nobody has run",
	.usage = "RUNS.csv [--to N] [options]",
	.files = "file: RUNS.csv, or - for standard input",
	.files_max = SIDES_MAX,
	.options = options,
	.run = run,
};
