/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast predict: how long a profiled program takes on other processors, why, and who is critical there. */
#include "command.h"
#include "predicted.h"
#include "terminal.h"

#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

enum { REPLICATIONS_MAX = 1000 };

struct values {
	struct option_strings machines;
	uint32_t cores, replications;
	bool json;
	const char *output, *svg, *html;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'm', "machine", "FILE",
		"a processor: base, zen4, ... or a machine file; may be given several times",
		OPTION_STRINGS, FIELD(machines) },
	{ 'n', "cores", "N", "cores to use (default: all that the machine has)", OPTION_U32,
		FIELD(cores), 1, REPLAY_CORES_MAX },
	{ 0, "replications", "N",
		"predictions for each processor, with other draws of what misses "
		"(default 5)",
		OPTION_U32, FIELD(replications), 1, REPLICATIONS_MAX },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 'o', "output", "FILE",
		"write the simulated timeline of the last processor: a trace file, or CSV if it "
		"ends in .csv",
		OPTION_OUTPUT, FIELD(output) },
	{ 0, "svg", "FILE", "write what cycles go to as SVG", OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file", OPTION_OUTPUT, FIELD(html) },
	{ 0 },
};

static int check(const struct command *command, const struct values *v)
{
	if (v->machines.count == 0)
		return command_usage_error(command, "say for which processor: --machine base");
	return 0;
}

static int save_as(void (*render)(struct strbuf *out, const struct predict_answer *answer),
	const struct predict_answer *answer, const char *path, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (!path)
		return 0;
	render(&text, answer);
	return report_save(&text, path, err);
}

static int write_reports(
	const struct values *v, const struct predict_answer *answer, struct err *err)
{
	int code = save_as(report_predict_svg, answer, v->svg, err);
	if (code == 0)
		code = save_as(report_predict_html, answer, v->html, err);
	if (code < 0 || v->json)
		return code < 0 ? code : save_as(report_predict_json, answer, "-", err);
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	const struct text_style style = terminal_style(stdout);
	report_predict_text(&text, answer, &style);
	return report_save(&text, "-", err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .replications = PREDICTED_REPLICATIONS };
	struct operands operands;
	int status;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = check(command, &v);
	if (status != 0)
		return status;
	struct err err = { "" };
	struct predicted predicted = { .path = operands.items[0] };
	int code = predicted_points(&predicted, &v.machines, v.cores, v.replications, &err);
	if (code == 0) {
		struct predict_answer answer = predicted_answer(&predicted);
		if (v.output)
			code = predicted_write(&predicted, v.cores, v.output, &err);
		if (code == 0)
			code = write_reports(&v, &answer, &err);
	}
	predicted_release(&predicted);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_predict;
const struct command cmd_predict = {
	.name = "predict",
	.summary = "how long a profiled program takes on other processors",
	.usage = "APP.ccp --machine FILE... [options]",
	.files = "profile: APP.ccp",
	.files_max = 1,
	.options = options,
	.run = run,
};
