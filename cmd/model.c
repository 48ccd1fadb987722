/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast model: a model of a program, made from the recording of one run of it.
 */
#include "analysed.h"
#include "command.h"
#include "terminal.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/path.h"
#include "builder/build.h"
#include "model/fit.h"
#include "report/model.h"
#include "report/report.h"
#include "trace/amended.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct values {
	const char *output;
	uint32_t cores;
	double took_s, response_s;
	bool json, show, is_forced;
	const char *svg, *html;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'o', "output", "FILE", "where the model goes (YAML)", OPTION_OUTPUT, FIELD(output) },
	{ 0, "cores", "N", "cores that the run had (default: as the recording says)", OPTION_U32,
		FIELD(cores), 1 },
	{ 0, "took", "SECONDS",
		"wall time of the same run without a recorder, whose cost is taken off",
		OPTION_DOUBLE, FIELD(took_s) },
	{ 0, "response", "SECONDS",
		"mean response time that clients measured: what is not the program's is the way to "
		"it",
		OPTION_DOUBLE, FIELD(response_s) },
	{ 0, "force", NULL,
		"a model also of what does not show locks: waits at them sleep as recorded",
		OPTION_FLAG, FIELD(is_forced) },
	{ 0, "show", NULL, "show a model (APP.yaml), or that of a recording, with its graphs",
		OPTION_FLAG, FIELD(show) },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 0, "svg", "FILE", "draw threads, where they meet, and their graphs, as SVG",
		OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file: drawing, tables, notes",
		OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

static struct build_place find_place(void *context, const char *module, uint64_t address)
{
	struct symbol found = symbols_find(context, module, address);
	return (struct build_place){ .symbol = found.function,
		.offset = found.offset,
		.file = found.file,
		.line = found.line };
}

/* A model, and how like the run that it was made from it is, if it says which. */
struct fitted {
	struct model *model;
	uint32_t slow_paths; /* build_slow_paths() */
	bool has_order; /* build_has_order() */
	bool has_fit;
	struct model_fit fit;
};

static void fitted_release(struct fitted *fitted)
{
	model_free(fitted->model);
	fitted->model = NULL;
}

static int fit(struct fitted *fitted, struct err *err)
{
	fitted->has_fit =
		fitted->model->recorded.is_known && fitted->model->recorded.duration_s > 0;
	if (fitted->has_fit && model_fit_run(fitted->model, &fitted->fit) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int build_once(struct amended *run, const struct values *v, struct symbols *symbols,
	enum build_conds conds, uint32_t slow_path, struct fitted *ret, struct err *err)
{
	AUTO(build) struct build *build = NULL;
	struct build_opts opts = {
		.name = path_file_name(run->path),
		.cores = v->cores ? v->cores : run->quality.cores,
		.wakes = run->quality.wakes,
		.others = run->quality.others,
		.took_s = v->took_s,
		.own = run->quality.own,
		.conds = conds,
		.slow_path = slow_path,
		.is_forced = v->is_forced,
		.find = find_place,
		.context = symbols,
	};
	if (build_new(&opts, &build) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct event_sink sink = build_sink(build);
	int code = amended_replay(run, &sink, err);
	if (code < 0)
		return code;
	code = build_model(build, &ret->model, err);
	ret->slow_paths = build_slow_paths(build);
	ret->has_order = build_has_order(build);
	return code < 0 ? err_prefix(err, code, "%s", run->path) : fit(ret, err);
}

/*
 * How far the simulated time of the run, or its CPU time, is from the recorded one; of what others decide, how much of what they
 * asked for it does not do. INFINITY: there is no such time.
 */
static double miss_of(const struct fitted *fitted)
{
	const struct model_fit *fit = &fitted->fit;
	if (fitted->has_fit && !fit->is_known)
		return INFINITY;
	if (!fitted->has_fit)
		return 0;
	if (fit->is_open)
		return fit->measured_per_s > fit->simulated_per_s
			       ? model_fit_error(fit->measured_per_s, fit->simulated_per_s)
			       : 0;
	double time = fit->measured_s > 0 ? model_fit_error(fit->measured_s, fit->simulated_s) : 0;
	double cpu = fit->measured_cpu_s > 0
			     ? model_fit_error(fit->measured_cpu_s, fit->simulated_cpu_s)
			     : 0;
	return fmax(time, cpu);
}

/* Made otherwise, it takes the place of the model that is off by more than twice as much. 1: it does; 0. */
static int try_otherwise(struct amended *run, const struct values *v, struct symbols *symbols,
	enum build_conds conds, uint32_t slow_path, struct fitted *best, struct err *err)
{
	AUTO_RELEASE(fitted) struct fitted other = { 0 };
	int code = build_once(run, v, symbols, conds, slow_path, &other, err);
	if (code < 0 || !(miss_of(&other) < miss_of(best) / 2))
		return code;
	struct fitted worse = *best;
	*best = other;
	other = worse;
	return 1;
}

static int try_as_recorded(struct amended *run, const struct values *v, struct symbols *symbols,
	struct fitted *best, struct err *err)
{
	int code = try_otherwise(run, v, symbols, BUILD_AS_RECORDED, 0, best, err);
	if (code > 0 &&
		model_add_note(best->model,
			"threads that meet at barriers go from one to the next in the order of the "
			"recording: drawn they would wait at different ones for ever") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return code;
}

/* Where conditions were misunderstood the model ends in a deadlock, or is not like the run: then it is made otherwise, too. */
static int read_run(const char *path, const struct values *v, struct symbols *symbols,
	struct fitted *ret, struct err *err)
{
	static const double expected = 0.1; /* of any model */
	enum { SLOW_PATHS_MAX = 8 };
	AUTO_RELEASE(amended) struct amended run = { .path = path };
	int code = amended_look(&run, err);
	if (code == 0)
		code = build_once(&run, v, symbols, BUILD_BY_MEANING, 0, ret, err);
	if (code == 0 && ret->has_order && miss_of(ret) > expected)
		code = try_otherwise(&run, v, symbols, BUILD_IN_ORDER, 0, ret, err);
	if (code >= 0 && isinf(miss_of(ret)))
		code = try_as_recorded(&run, v, symbols, ret, err);
	uint32_t count = ret->slow_paths < SLOW_PATHS_MAX ? ret->slow_paths : SLOW_PATHS_MAX;
	for (uint32_t i = 0; i < count && code >= 0 && miss_of(ret) > expected; i++)
		code = try_otherwise(&run, v, symbols, BUILD_WITHOUT_SLOW_PATH, i, ret, err);
	if (code >= 0 && miss_of(ret) > expected)
		code = try_otherwise(&run, v, symbols, BUILD_BY_CALLS, 0, ret, err);
	if (code < 0 || miss_of(ret) <= expected)
		return code < 0 ? code : 0;
	code = try_otherwise(&run, v, symbols, BUILD_BY_SIGNALS, 0, ret, err);
	if (code > 0 &&
		model_add_note(ret->model,
			"with what its conditions were found to mean the model would not be like "
			"the run: here threads wait for signals, as often as recorded") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return code < 0 ? code : 0;
}

static int write_model(const struct model *model, const char *path, struct err *err)
{
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	int code = outfile_open(&out, path, err);
	if (code < 0)
		return code;
	code = model_write(model, out.file, err);
	return code < 0 ? err_prefix(err, code, "cannot write '%s'", path)
			: outfile_commit(&out, err);
}

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML };

static int write_report(const char *path, enum format format, const struct model_report *report,
	bool has_graphs, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct text_style style = terminal_style(stdout);
	if (format == FORMAT_TEXT)
		report_model_text(&text, report, &style);
	if (format == FORMAT_TEXT && has_graphs)
		report_model_graphs(&text, report, &style);
	if (format == FORMAT_JSON)
		report_model_json(&text, report);
	if (format == FORMAT_SVG)
		report_model_svg(&text, report);
	if (format == FORMAT_HTML)
		report_model_html(&text, report);
	return report_save(&text, path, err);
}

/* What the model is, and how well it reproduces the run that it was made from, if it says. */
static int write_reports(
	const struct fitted *fitted, const struct values *v, const char *subject, struct err *err)
{
	struct model_report report = { .model = fitted->model,
		.fit = fitted->has_fit ? &fitted->fit : NULL,
		.subject = subject };
	int code = v->svg ? write_report(v->svg, FORMAT_SVG, &report, false, err) : 0;
	if (code == 0 && v->html)
		code = write_report(v->html, FORMAT_HTML, &report, false, err);
	return code < 0 ? code
			: write_report(
				  "-", v->json ? FORMAT_JSON : FORMAT_TEXT, &report, v->show, err);
}

/* A model as it was written, or made of a recording. */
static int read_any(const char *path, const struct values *v, struct symbols *symbols,
	struct fitted *ret, struct err *err)
{
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	int code;
	if (!v->show || analysed_is_timeline(in)) {
		code = read_run(path, v, symbols, ret, err);
		if (code == 0 && ret->has_fit && ret->fit.is_open &&
			model_fit_think(ret->model, &ret->fit) < 0)
			code = err_set(err, -ENOMEM, "out of memory");
		if (code == 0 && v->response_s > 0 && ret->has_fit && ret->fit.is_open &&
			model_fit_response(ret->model, v->response_s, &ret->fit) < 0)
			code = err_set(err, -ENOMEM, "out of memory");
		if (code == 0 && ret->has_fit && model_fit_add_note(ret->model, &ret->fit) < 0)
			code = err_set(err, -ENOMEM, "out of memory");
		return code;
	}
	code = model_read(in, path, &ret->model, err);
	return code < 0 ? code : fit(ret, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { 0 };
	struct operands operands;
	int status;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	if (v.took_s < 0 || v.response_s < 0)
		return command_usage_error(command, "--took and --response need a time above 0");
	if (!v.output && !v.show)
		return command_usage_error(command, "say where the model goes: -o APP.yaml");
	struct err err;
	AUTO(symbols) struct symbols *symbols = NULL;
	AUTO_RELEASE(fitted) struct fitted fitted = { 0 };
	int code = symbols_new(&symbols) < 0 ? err_set(&err, -ENOMEM, "out of memory") : 0;
	if (code == 0)
		code = read_any(operands.items[0], &v, symbols, &fitted, &err);
	if (code == 0 && v.output)
		code = write_model(fitted.model, v.output, &err);
	if (code == 0)
		code = write_reports(
			&fitted, &v, path_file_name(v.output ? v.output : operands.items[0]), &err);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_model;
const struct command cmd_model = {
	.name = "model",
	.summary = "a model of a program from one recorded run of it",
	.usage = "RUN.cct -o APP.yaml | --show RUN.cct|APP.yaml",
	.files = "recording: RUN.cct",
	.files_max = 1,
	.options = options,
	.run = run,
};
