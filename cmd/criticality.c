/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast criticality: from a recorded timeline to what limits the program: findings, criticality
 * stack, bottle graph, locks and code by blame; or what changed between two of them.
 */
#include "command.h"
#include "terminal.h"
#include "analysed.h"

#include "base/number.h"
#include "report/report.h"

#include <errno.h>
#include <string.h>

enum { SIDES_MAX = 2 };

struct values {
	const char *by, *window, *active;
	uint32_t cores;
	bool json;
	const char *svg, *html, *folded;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 0, "by", "thread|routine",
		"show each thread, or threads with the same start routine as one (default thread)",
		OPTION_STRING, FIELD(by) },
	{ 'w', "window", "A-B", "only from A to B seconds after the first event", OPTION_STRING,
		FIELD(window) },
	{ 0, "active", "runnable|on-cpu",
		"who counts as active: also those who wait for a core (default), or only those who "
		"have one",
		OPTION_STRING, FIELD(active) },
	{ 0, "cores", "N",
		"waiting that so many cores could not have served is no loss (default: all is)",
		OPTION_U32, FIELD(cores), 1 },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 0, "folded", "FILE", "write criticality by code as folded stacks, for flame graphs",
		OPTION_OUTPUT, FIELD(folded) },
	{ 0, "svg", "FILE", "write stack, bottle graph and strip over time as SVG", OPTION_OUTPUT,
		FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file: findings, figures, tables",
		OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

/* "A-B" in seconds; either may be left out. */
static int read_window(const struct command *command, const char *text, struct analysis_opts *opts)
{
	AUTO_FREE char *copy = strdup(text);
	char *dash = copy ? strchr(copy, '-') : NULL;
	double from = 0, to = 4e9; /* beyond any timeline */
	if (dash)
		*dash = '\0';
	bool is_wrong = !dash || (*copy && number_parse_double(copy, &from) < 0) ||
			(dash[1] && number_parse_double(dash + 1, &to) < 0);
	if (is_wrong || !(from >= 0) || !(to > from) || !(to <= 4e9))
		return command_usage_error(
			command, "--window: '%s' is not A-B, two times in seconds", text);
	opts->window_from_ns = (uint64_t)(from * 1e9);
	opts->window_to_ns = (uint64_t)(to * 1e9);
	return 0;
}

static int check(const struct command *command, const struct values *v,
	const struct operands *operands, struct analysis_opts *opts)
{
	if (operands->count == SIDES_MAX && (v->svg || v->html || v->folded))
		return command_usage_error(
			command, "--svg, --html and --folded write one timeline: name one file");
	if (strcmp(v->by, "thread") != 0 && strcmp(v->by, "routine") != 0)
		return command_usage_error(command, "--by: '%s' is not thread or routine", v->by);
	if (strcmp(v->active, "runnable") != 0 && strcmp(v->active, "on-cpu") != 0)
		return command_usage_error(
			command, "--active: '%s' is not runnable or on-cpu", v->active);
	opts->needs_core = strcmp(v->active, "on-cpu") == 0;
	opts->cores = opts->served_cores = v->cores;
	return v->window ? read_window(command, v->window, opts) : 0;
}

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_FOLDED, FORMAT_SVG, FORMAT_HTML };

static void render(struct strbuf *out, enum format format, const struct criticality_input *input)
{
	struct text_style style;
	switch (format) {
	case FORMAT_TEXT:
		style = terminal_style(stdout);
		report_criticality_text(out, input, &style);
		break;
	case FORMAT_JSON:
		report_criticality_json(out, input);
		break;
	case FORMAT_FOLDED:
		report_criticality_folded(out, input);
		break;
	case FORMAT_SVG:
		report_criticality_svg(out, input);
		break;
	case FORMAT_HTML:
		report_criticality_html(out, input);
		break;
	}
}

/* The files that were asked for, then what is printed. */
static int write_reports(
	const struct values *v, const struct criticality_input *input, struct err *err)
{
	const struct {
		const char *path;
		enum format format;
	} reports[] = { { v->folded, FORMAT_FOLDED }, { v->svg, FORMAT_SVG },
		{ v->html, FORMAT_HTML }, { "-", v->json ? FORMAT_JSON : FORMAT_TEXT } };
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		if (!reports[i].path)
			continue;
		render(&text, reports[i].format, input);
		int code = report_save(&text, reports[i].path, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int write_change(const struct values *v, const struct analysed *sides, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct criticality_input a = analysed_input(&sides[0]), b = analysed_input(&sides[1]);
	if (strcmp(a.subject, b.subject) == 0) {
		a.subject = sides[0].path;
		b.subject = sides[1].path;
	}
	if (v->json) {
		report_criticality_change_json(&text, &a, &b);
	} else {
		struct text_style style = terminal_style(stdout);
		report_criticality_change_text(&text, &a, &b, &style);
	}
	return report_save(&text, "-", err);
}

static int analyse(struct analysed *sides, size_t count, const struct values *v,
	const struct analysis_opts *opts, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		int code = analysed_read(&sides[i], opts, stderr, err);
		if (code == 0 && strcmp(v->by, "routine") == 0 &&
			results_merge(sides[i].results) < 0)
			code = err_set(err, -ENOMEM, "out of memory");
		if (code < 0)
			return code;
	}
	if (count == SIDES_MAX)
		return write_change(v, sides, err);
	struct criticality_input input = analysed_input(&sides[0]);
	return write_reports(v, &input, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .by = "thread", .active = "runnable" };
	struct operands operands;
	struct analysis_opts opts = { 0 };
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = check(command, &v, &operands, &opts);
	if (status != 0)
		return status;
	struct err err;
	struct analysed sides[SIDES_MAX] = { 0 };
	for (int i = 0; i < operands.count; i++)
		sides[i].path = operands.items[i];
	int code = analyse(sides, (size_t)operands.count, &v, &opts, &err);
	for (int i = 0; i < SIDES_MAX; i++)
		analysed_release(&sides[i]);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_criticality;
const struct command cmd_criticality = {
	.name = "criticality",
	.summary = "which thread, lock and line of code held the others up",
	.usage = "RUN.cct [B.cct] [options]",
	.files = "file: RUN.cct, or two of them",
	.files_max = SIDES_MAX,
	.options = options,
	.run = run,
};
