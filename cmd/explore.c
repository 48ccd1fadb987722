/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast explore: every point of a space of processors, predicted from one profile. */
#include "command.h"
#include "machines.h"
#include "predicted.h"
#include "share_tasks.h"
#include "terminal.h"

#include "base/path.h"
#include "report/explored.h"
#include "report/report.h"

#include <errno.h>
#include <unistd.h>

enum { SPACE_BYTES_MAX = 1 << 20 };

struct values {
	const char *space, *csv, *svg, *html;
	double within;
	uint32_t jobs;
	bool json;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 's', "space", "FILE", "what varies: docs/formats/space.md", OPTION_STRING, FIELD(space) },
	{ 'w', "within", "PERCENT", "list all points that are so near to the fastest (default 1)",
		OPTION_DOUBLE, FIELD(within) },
	{ 'j', "jobs", "N", "processes that predict (default: one for each core)", OPTION_U32,
		FIELD(jobs), 1 },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 0, "csv", "FILE", "write a row for each point", OPTION_OUTPUT, FIELD(csv) },
	{ 0, "svg", "FILE", "write time against energy as SVG", OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file", OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

/* What each process has. */
struct exploring {
	const struct values *values;
	struct predicted predicted;
	struct space *space;
	struct processor base;
	struct explored_point *points; /* shared */
};

static void play(void *context, size_t number)
{
	struct exploring *e = context;
	struct explored_point *point = &e->points[number];
	struct processor processor;
	struct err err = { "" };
	AUTO_RELEASE(prediction) struct prediction prediction = { 0 };
	int code = space_point(e->space, &e->base, number, &processor, &err);
	const struct predict_run run = { .processor = &processor };
	enum explored_state state = code == 0 ? EXPLORED_LEFT_OUT : EXPLORED_FAILED;
	if (code > 0 && rppm_run(e->predicted.rppm, &run, &prediction, &err) == 0) {
		state = EXPLORED_DONE;
		point->ns = prediction.ns;
		point->energy_j = prediction.energy.total_j;
		for (unsigned k = 0; k < PREDICT_PARTS; k++)
			point->cpi += prediction.stack[k];
	} else {
		(void)snprintf(point->why, sizeof point->why, "%.*s", (int)sizeof point->why - 1,
			err.text);
	}
	point->state = state;
}

static int save_as(void (*render)(struct strbuf *, const struct explored *, const char *),
	const struct explored *explored, const char *subject, const char *path, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (!path)
		return 0;
	render(&text, explored, subject);
	return report_save(&text, path, err);
}

static void render_csv(struct strbuf *out, const struct explored *explored, const char *subject)
{
	(void)subject;
	report_explored_csv(out, explored);
}

static int write_reports(const struct values *v, const struct explored *explored,
	const char *subject, struct err *err)
{
	int code = save_as(render_csv, explored, subject, v->csv, err);
	if (code == 0)
		code = save_as(report_explored_svg, explored, subject, v->svg, err);
	if (code == 0)
		code = save_as(report_explored_html, explored, subject, v->html, err);
	if (code < 0 || v->json)
		return code < 0 ? code : save_as(report_explored_json, explored, subject, "-", err);
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	const struct text_style style = terminal_style(stdout);
	report_explored_text(&text, explored, subject, &style);
	return report_save(&text, "-", err);
}

static int report(const struct exploring *e, const struct share_tasks *tasks, struct err *err)
{
	AUTO_RELEASE(explored)
	struct explored explored = { .space = e->space,
		.base = &e->base,
		.points = e->points,
		.count = tasks->count,
		.within = e->values->within / 100 };
	if (explored_sort(&explored) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (explored.done == 0)
		return err_set(err, tasks->was_interrupted ? -EINTR : -EINVAL,
			"no point could be predicted: %s",
			tasks->was_interrupted ? "interrupted" : e->points[0].why);
	int code = write_reports(e->values, &explored, path_file_name(e->predicted.path), err);
	if (code == 0 && tasks->was_interrupted)
		code = err_set(err, -EINTR, "interrupted: %zu of %zu points were predicted",
			explored.done, explored.count);
	return code;
}

static int load(struct exploring *e, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t length = 0;
	int code = file_read(e->values->space, SPACE_BYTES_MAX, &text, &length, err);
	if (code == 0)
		code = space_parse(e->values->space, text, length, &e->space, err);
	if (code == 0)
		code = machine_load(space_base(e->space), &e->base, err);
	if (code == 0)
		code = predicted_load(&e->predicted, 0, err);
	if (code == 0)
		code = predicted_settle(&e->predicted, &e->base, err);
	return code;
}

static int explore(struct exploring *e, struct err *err)
{
	int code = load(e, err);
	if (code < 0)
		return code;
	AUTO_RELEASE(share_tasks)
	struct share_tasks tasks = { .count = space_size(e->space),
		.play = play,
		.context = e,
		.bytes = space_size(e->space) * sizeof *e->points,
		.jobs = e->values->jobs,
		.verb = "predicted",
		.noun = "points",
		.shows_progress = isatty(STDERR_FILENO) };
	code = share_tasks_prepare(&tasks, err);
	if (code < 0)
		return code;
	e->points = tasks.memory;
	code = share_tasks_run(&tasks, err);
	return code < 0 || tasks.is_silent ? code : report(e, &tasks, err);
}

static int check(const struct command *command, const struct values *v)
{
	if (!v->space)
		return command_usage_error(command, "say what varies: --space FILE");
	if (!(v->within >= 0 && v->within <= 1000))
		return command_usage_error(command, "--within: from 0 to 1000 percent");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .within = 1 };
	struct operands operands;
	int status;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = check(command, &v);
	if (status != 0)
		return status;
	struct err err = { "" };
	struct exploring exploring = { .values = &v, .predicted = { .path = operands.items[0] } };
	int code = explore(&exploring, &err);
	predicted_release(&exploring.predicted);
	processor_release(&exploring.base);
	space_free(exploring.space);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_explore;
const struct command cmd_explore = {
	.name = "explore",
	.summary = "the best processor of a space, for a profiled program",
	.usage = "APP.ccp --space FILE [options]",
	.files = "profile: APP.ccp",
	.files_max = 1,
	.options = options,
	.run = run,
};
