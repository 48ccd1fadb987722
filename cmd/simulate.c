/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast simulate: plays a model in settings that nobody ran: response time, throughput and what
 * limits them, over a grid of its parameters.
 */
#include "command.h"
#include "simulate_tasks.h"
#include "terminal.h"

#include "base/path.h"
#include "model/sample.h"
#include "report/report.h"
#include "model/goal.h"
#include "report/simulated.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLICATIONS = 5, REPLICATIONS_MAX = 1000 };

struct values {
	struct option_strings set;
	uint32_t replications, requests, seed, jobs;
	double duration;
	const char *goal;
	bool fragments, json;
	const char *csv, *svg, *html;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 's', "set", "NAME=VALUES",
		"values of a parameter: 4, 1,2,4,8 or 10-130:10; several times for a grid",
		OPTION_STRINGS, FIELD(set) },
	{ 'g', "goal", "GOAL",
		"say which setting is best: 'min response', 'max throughput, p99 < 100 ms', 'min "
		"workers, response < 0.1'",
		OPTION_STRING, FIELD(goal) },
	{ 'r', "replications", "N", "independent runs of each setting (default 5)", OPTION_U32,
		FIELD(replications), 1, REPLICATIONS_MAX },
	{ 'n', "requests", "N", "requests of each run (default 10000)", OPTION_U32, FIELD(requests),
		1 },
	{ 'd', "duration", "SECONDS", "simulated time of each run, instead of a number of requests",
		OPTION_DOUBLE, FIELD(duration) },
	{ 0, "seed", "N", "of the random numbers (default 1)", OPTION_U32, FIELD(seed) },
	{ 'j', "jobs", "N", "processes that simulate (default: one for each core)", OPTION_U32,
		FIELD(jobs), 1 },
	{ 0, "fragments", NULL, "with --json: also the time of each fragment", OPTION_FLAG,
		FIELD(fragments) },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 0, "csv", "FILE", "write a row for each setting", OPTION_OUTPUT, FIELD(csv) },
	{ 0, "svg", "FILE", "write response time and throughput over a parameter as SVG",
		OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file: figures, heat maps, tables",
		OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SVG, FORMAT_HTML };

static void render(struct strbuf *out, enum format format, const struct simulated *simulated,
	const char *subject, const struct values *v)
{
	struct text_style style;
	switch (format) {
	case FORMAT_TEXT:
		style = terminal_style(stdout);
		report_simulated_text(out, simulated, subject, &style);
		break;
	case FORMAT_JSON:
		report_simulated_json(out, simulated, subject, v->fragments);
		break;
	case FORMAT_CSV:
		report_simulated_csv(out, simulated);
		break;
	case FORMAT_SVG:
		report_simulated_svg(out, simulated, subject);
		break;
	case FORMAT_HTML:
		report_simulated_html(out, simulated, subject);
		break;
	}
}

/* The files that were asked for, then what is printed. */
static int write_reports(const struct values *v, const struct simulated *simulated,
	const char *subject, struct err *err)
{
	const struct {
		const char *path;
		enum format format;
	} reports[] = { { v->csv, FORMAT_CSV }, { v->svg, FORMAT_SVG }, { v->html, FORMAT_HTML },
		{ "-", v->json ? FORMAT_JSON : FORMAT_TEXT } };
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		if (!reports[i].path)
			continue;
		render(&text, reports[i].format, simulated, subject, v);
		int code = report_save(&text, reports[i].path, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_model(const char *path, struct model **ret, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	AUTO_FILE FILE *file = is_stdin ? NULL : fopen(path, "re");
	if (!is_stdin && !file) {
		(void)err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
		return -EIO; /* the text says more */
	}
	return model_read(is_stdin ? stdin : file, is_stdin ? "(standard input)" : path, ret, err);
}

/* A grid of which no setting has values that the model can take is wrong usage. Others are shown beside those that have. */
static int check_grid(const struct grid *grid, const struct model *model, struct err *err)
{
	AUTO_FREE double *parameters = calloc(model->parameter_count + 1, sizeof *parameters);
	int code = parameters ? -EINVAL : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = grid_size(grid); code == -EINVAL && i-- > 0;) {
		grid_setting(grid, model, i, parameters);
		code = model_check_at(model, parameters, err);
	}
	return code < 0 ? err_prefix(err, code, "--set") : 0;
}

static int read_grid(
	const struct values *v, const struct model *model, struct grid *grid, struct err *err)
{
	int code = 0;
	for (size_t i = 0; code == 0 && i < v->set.count; i++) {
		code = grid_add(grid, model, v->set.items[i], err);
		if (code < 0)
			code = err_prefix(err, code, "--set");
	}
	if (code == 0 && v->set.count > 0)
		code = check_grid(grid, model, err);
	if (code == 0 && v->svg && grid_size(grid) == 1)
		code = err_set(err, -EINVAL,
			"--svg draws results over a parameter: give one several values with --set");
	if (code == 0 && v->goal) {
		code = goal_check(model, v->goal, err);
		if (code < 0)
			code = err_prefix(err, code, "--goal");
	}
	return code;
}

/* How long a replication runs: what was asked for, else the model's own duration, else requests. */
static int set_length(
	const struct values *v, const struct model *model, struct tasks *tasks, struct err *err)
{
	double own = 0;
	int code = model_evaluate(model, &model->duration, MODEL_TIME, NULL, &own, err);
	tasks->requests = v->requests;
	tasks->duration_s = isnan(v->duration) ? 0 : v->duration;
	if (v->requests || tasks->duration_s > 0 || code < 0)
		return code;
	tasks->duration_s = own;
	if (own <= 0 && sample_has_requests(model))
		tasks->requests = SAMPLE_REQUESTS;
	return 0;
}

static int report(
	const struct values *v, const struct tasks *tasks, const char *path, struct err *err)
{
	const struct simulated_input input = {
		.model = tasks->model,
		.grid = tasks->grid,
		.runs = &tasks->results,
		.seed = tasks->seed,
		.requests = tasks->requests,
		.duration_s = tasks->duration_s,
		.goal = v->goal,
	};
	AUTO(simulated) struct simulated *simulated = NULL;
	int code = simulated_new(&input, &simulated, err);
	if (code < 0)
		return code;
	if (simulated->done == 0 && tasks->was_interrupted)
		return err_set(err, -EINTR, "interrupted before any setting was simulated");
	if (simulated->done == 0)
		return err_set(
			err, simulated->settings[0].code, "%s", simulated->settings[0].error);
	const char *name = tasks->model->name ? tasks->model->name : path_file_name(path);
	code = write_reports(v, simulated, name, err);
	if (code == 0 && tasks->was_interrupted)
		code = err_set(err, -EINTR, "interrupted: %zu of %zu settings were simulated",
			simulated->done, simulated->count);
	return code;
}

static int simulate(const struct values *v, const char *path, const struct model *model,
	const struct grid *grid, struct err *err)
{
	AUTO_RELEASE(tasks)
	struct tasks tasks = {
		.model = model,
		.grid = grid,
		.replications = v->replications,
		.seed = v->seed,
		.jobs = v->jobs,
		.shows_progress = isatty(STDERR_FILENO),
	};
	int code = set_length(v, model, &tasks, err);
	if (code == 0 && tasks.duration_s <= 0 && sample_never_ends(model))
		code = err_set(err, -EINVAL,
			"%s: requests come without end, and no fragment has 'do: end_request': "
			"add one, or say with --duration how long to simulate",
			path);
	if (code == 0)
		code = tasks_run(&tasks, err);
	if (code < 0 || tasks.is_silent)
		return code;
	return report(v, &tasks, path, err);
}

static int check(const struct command *command, const struct values *v)
{
	bool has_duration = !isnan(v->duration);
	if (has_duration && !(v->duration > 0 && v->duration <= MODEL_TIME_MAX_S))
		return command_usage_error(
			command, "--duration: above 0, to %d seconds", MODEL_TIME_MAX_S);
	if (has_duration && v->requests)
		return command_usage_error(command, "--requests and --duration exclude each other");
	if (v->fragments && !v->json)
		return command_usage_error(command, "--fragments needs --json");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .replications = REPLICATIONS, .seed = 1, .duration = NAN };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = check(command, &v);
	if (status != 0)
		return status;
	struct err err;
	AUTO(model) struct model *model = NULL;
	AUTO_RELEASE(grid) struct grid grid = { 0 };
	if (read_model(operands.items[0], &model, &err) < 0)
		return command_failure(&err);
	/* Only the model knows what its parameters can be. */
	if (read_grid(&v, model, &grid, &err) < 0)
		return command_usage_error(command, "%s", err.text);
	int code = simulate(&v, operands.items[0], model, &grid, &err);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_simulate;
const struct command cmd_simulate = {
	.name = "simulate",
	.summary = "play a model of a program in settings that nobody ran",
	.usage = "APP.yaml [--set NAME=VALUES]... [options]",
	.files = "model: APP.yaml, or - for standard input",
	.files_max = 1,
	.options = options,
	.run = run,
};
