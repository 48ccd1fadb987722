/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast report: one page that a colleague can open, from measurement sets, timelines and profiles:
 * findings of all files first, then the figures and tables of each.
 */
#include "analysed.h"
#include "command.h"
#include "predicted.h"

#include "report/page.h"
#include "report/report.h"
#include "scaling/forecast.h"

#include <errno.h>
#include <string.h>

enum { FILES_MAX = 64 };

struct values {
	const char *output;
	struct option_strings machines;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'o', "output", "FILE", "the page to write (required)", OPTION_OUTPUT, FIELD(output) },
	{ 'm', "machine", "FILE",
		"a processor that profiles are predicted for: base, zen4, ... or a machine file; "
		"may be given several times",
		OPTION_STRINGS, FIELD(machines) },
	{ 0 },
};

/* A file and what became of it: a forecast, a prediction or an analysed timeline. */
struct source {
	struct analysed timeline;
	struct curve *curve;
	struct forecast *forecast;
	struct predicted predicted;
};

static void source_release(struct source *source)
{
	predicted_release(&source->predicted);
	analysed_release(&source->timeline);
	curve_free(source->curve);
	forecast_free(source->forecast);
}

/* A forecast to twice the largest measured count, by the default method. */
static int forecast_source(struct source *source, FILE *file, const char *path, struct err *err)
{
	struct runs_read_opts read_opts = { .metric = METRIC_UNKNOWN };
	AUTO(runs) struct runs *runs = NULL;
	int code = runs_read(file, path, &read_opts, &runs, err);
	if (code < 0)
		return code;
	code = curve_from_runs(runs, &source->curve, err);
	if (code < 0)
		return code;
	const struct curve *curve = source->curve;
	struct forecast_opts opts = { .target = 2 * curve->points[curve->point_count - 1].threads };
	code = forecast_run(curve, forecast_method_by_name("auto"), &opts, &source->forecast, err);
	return code < 0 ? err_prefix(err, code, "%s", path) : 0;
}

static int predict_source(struct source *source, const struct option_strings *machines,
	const char *path, struct err *err)
{
	if (machines->count == 0)
		return err_set(err, -EINVAL,
			"'%s' is a profile: say for which processors to predict it, --machine base",
			path);
	source->predicted.path = path;
	return predicted_points(&source->predicted, machines, 0, PREDICTED_REPLICATIONS, err);
}

static int read_source(struct source *source, const struct option_strings *machines,
	const char *path, struct err *err)
{
	struct analysis_opts opts = { 0 };
	source->timeline.path = path;
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (analysed_is_profile(file))
		return predict_source(source, machines, path, err);
	return analysed_is_timeline(file) ? analysed_read(&source->timeline, &opts, stderr, err)
					  : forecast_source(source, file, path, err);
}

/* Each sentence says which file it is about, if there are several. */
static void add_findings(struct strbuf *out, const struct source *sources, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_RELEASE(strbuf) struct strbuf findings = { 0 };
		if (sources[i].forecast) {
			forecast_add_findings(&findings, sources[i].forecast);
		} else if (sources[i].predicted.points) {
			struct predict_answer answer = predicted_answer(&sources[i].predicted);
			predict_add_findings(&findings, &answer);
		} else {
			struct criticality_input input = analysed_input(&sources[i].timeline);
			criticality_add_findings(&findings, &input);
		}
		out->failed |= strbuf_failed(&findings) < 0;
		char *rest = NULL;
		for (char *line = findings.text ? strtok_r(findings.text, "\n", &rest) : NULL; line;
			line = strtok_r(NULL, "\n", &rest))
			strbuf_addf(out, "%s%s%s\n",
				count > 1 ? analysed_subject(&sources[i].timeline) : "",
				count > 1 ? ": " : "", line);
	}
}

static void add_sections(struct strbuf *out, const struct source *source)
{
	if (source->forecast) {
		forecast_add_sections(out, source->forecast, analysed_subject(&source->timeline));
		return;
	}
	if (source->predicted.points) {
		struct predict_answer answer = predicted_answer(&source->predicted);
		predict_add_sections(out, &answer);
		return;
	}
	struct criticality_input input = analysed_input(&source->timeline);
	criticality_add_sections(out, &input);
}

static int write_page(const char *path, const struct source *sources, size_t count, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf page = { 0 }, title = { 0 }, findings = { 0 };
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&title, "%s%s", i ? ", " : "", analysed_subject(&sources[i].timeline));
	add_findings(&findings, sources, count);
	if (strbuf_failed(&findings) < 0 || strbuf_failed(&title) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	page_begin(&page, title.text ? title.text : "");
	page_findings(&page, findings.text ? findings.text : "");
	for (size_t i = 0; i < count; i++) {
		if (count > 1)
			page_file(&page, analysed_subject(&sources[i].timeline));
		add_sections(&page, &sources[i]);
	}
	page_end(&page, "corecast " CORECAST_VERSION ".");
	return report_save(&page, path, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { 0 };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	if (!v.output)
		return command_usage_error(command, "say where to: -o PAGE.html");
	struct err err;
	struct source sources[FILES_MAX] = { 0 };
	int code = 0;
	for (int i = 0; i < operands.count && code == 0; i++)
		code = read_source(&sources[i], &v.machines, operands.items[i], &err);
	if (code == 0)
		code = write_page(v.output, sources, (size_t)operands.count, &err);
	for (int i = 0; i < operands.count; i++)
		source_release(&sources[i]);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_report;
const struct command cmd_report = {
	.name = "report",
	.summary = "one page from measurements, timelines and profiles",
	.usage = "FILE... -o PAGE.html",
	.files = "files: RUNS.csv, RUN.cct, APP.ccp, ...",
	.files_max = FILES_MAX,
	.options = options,
	.run = run,
};
