/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast whatif: a recorded run, replayed on other numbers of cores, or with a part of it made faster
 * or left out; with each prediction how well the replay reproduces what was measured.
 */
#include "base/plural.h"
#include "command.h"
#include "terminal.h"
#include "whatif_parts.h"

#include "base/intlist.h"
#include "report/report.h"

#include <errno.h>
#include <string.h>

struct values {
	const char *cores;
	struct whatif_asked asked;
	uint32_t recorded_cores, replications, jobs;
	bool force, json;
	const char *output, *svg, *html, *csv;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'n', "cores", "LIST",
		"cores to predict for: 16, or several: 1-16, 1,2,4,8 (default: as "
		"recorded)",
		OPTION_STRING, FIELD(cores) },
	{ 0, "speed", "NAME=FACTOR",
		"with this thread, lock (what is done while it is held), function or region FACTOR "
		"times as "
		"fast; may be given several times",
		OPTION_STRINGS, FIELD(asked.speed) },
	{ 0, "without", "LOCK", "as if this lock were not there; may be given several times",
		OPTION_STRINGS, FIELD(asked.without) },
	{ 0, "pin", "NAME=CORES",
		"with this thread on these cores only: 0, or several: 0-2; may be given several "
		"times",
		OPTION_STRINGS, FIELD(asked.pin) },
	{ 0, "recorded-cores", "N",
		"cores that the recorded run could use, if the file does not say", OPTION_U32,
		FIELD(recorded_cores), 1, REPLAY_CORES_MAX },
	{ 0, "replications", "N",
		"replays for each prediction, with other small delays (default 5)", OPTION_U32,
		FIELD(replications), 1, WHATIF_REPLICATIONS_MAX },
	{ 'j', "jobs", "N", "processes that replay (default: one for each core)", OPTION_U32,
		FIELD(jobs), 1 },
	{ 0, "force", NULL, "answer even if the replay does not reproduce the recording",
		OPTION_FLAG, FIELD(force) },
	{ 0, "json", NULL, "print JSON", OPTION_FLAG, FIELD(json) },
	{ 'o', "output", "FILE",
		"write the simulated timeline of the last prediction: a trace file, or CSV if it "
		"ends in "
		".csv",
		OPTION_OUTPUT, FIELD(output) },
	{ 0, "svg", "FILE", "write the curve (of one prediction: its criticality stack) as SVG",
		OPTION_OUTPUT, FIELD(svg) },
	{ 0, "html", "FILE", "write a page that needs no other file", OPTION_OUTPUT, FIELD(html) },
	{ 0, "csv", "FILE", "write the curve: a row for each number of cores", OPTION_OUTPUT,
		FIELD(csv) },
	{ 0 },
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML, FORMAT_CSV };

static void render(struct strbuf *out, enum format format, const struct whatif_answer *answer)
{
	struct text_style style;
	switch (format) {
	case FORMAT_TEXT:
		style = terminal_style(stdout);
		report_whatif_text(out, answer, &style);
		break;
	case FORMAT_JSON:
		report_whatif_json(out, answer);
		break;
	case FORMAT_SVG:
		report_whatif_svg(out, answer);
		break;
	case FORMAT_HTML:
		report_whatif_html(out, answer);
		break;
	case FORMAT_CSV:
		report_whatif_csv(out, answer);
		break;
	}
}

static int write_reports(
	const struct values *v, const struct whatif_answer *answer, struct err *err)
{
	const struct {
		const char *path;
		enum format format;
	} reports[] = { { v->svg, FORMAT_SVG }, { v->html, FORMAT_HTML }, { v->csv, FORMAT_CSV },
		{ "-", v->json ? FORMAT_JSON : FORMAT_TEXT } };
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		if (!reports[i].path)
			continue;
		render(&text, reports[i].format, answer);
		int code = report_save(&text, reports[i].path, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int refuse(const struct whatif *whatif, struct err *err)
{
	return err_set(err, -EDOM,
		"the replay on %u core%s takes %.4g s, but %.4g s were measured (%+.1f%%, more "
		"than "
		"%.0f%%): a prediction would not be worth much. --force gives it all the same; "
		"docs/models/replay.md tells what may be the reason",
		whatif->facts.cores, plural(whatif->facts.cores),
		(double)whatif->answer.replayed_ns / 1e9, (double)whatif->facts.measured_ns / 1e9,
		100 * whatif->answer.error, 100 * WHATIF_LIMIT);
}

static int replay(struct whatif *whatif, const struct values *v, const struct whatif_opts *opts,
	struct err *err)
{
	int code = whatif_check(whatif, err);
	if (code == 0 && !whatif->answer.is_within_limit && !v->force)
		code = refuse(whatif, err);
	return code < 0 ? code : whatif_predict(whatif, opts, err);
}

static int predict(struct whatif *whatif, const struct values *v, const struct whatif_opts *opts,
	struct err *err)
{
	int code = whatif_load(whatif, stderr, err);
	if (code == 0)
		code = whatif_resolve(whatif, &v->asked, err);
	if (code == 0)
		code = replay(whatif, v, opts, err);
	/* A meaning that leads into a deadlock is wrong: each turn leaves out at least one. */
	while (code == -EDEADLK && (code = whatif_load_again(whatif, err)) == 0)
		code = replay(whatif, v, opts, err);
	if (code == 0 && v->output)
		code = whatif_write(whatif, v->output, err);
	return code < 0 ? code : write_reports(v, &whatif->answer, err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .replications = 5 };
	struct operands operands;
	int status;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	struct err err;
	if (whatif_check_asked(&v.asked, &err) < 0)
		return command_usage_error(command, "%s", err.text);
	AUTO_FREE uint32_t *cores = NULL;
	struct whatif_opts opts = { .replications = v.replications, .jobs = v.jobs };
	if (v.cores &&
		intlist_parse(v.cores, 1, REPLAY_CORES_MAX, &cores, &opts.core_count, &err) < 0)
		return command_usage_error(command, "--cores: %s", err.text);
	opts.cores = cores;
	struct whatif whatif = { .before = { .path = operands.items[0] },
		.recorded_cores = v.recorded_cores };
	int code = predict(&whatif, &v, &opts, &err);
	whatif_release(&whatif);
	return code < 0 ? command_failure(&err) : 0;
}

extern const struct command cmd_whatif;
const struct command cmd_whatif = {
	.name = "whatif",
	.summary = "a recorded run on other cores, or with a part of it made faster",
	.usage = "RUN.cct [--cores LIST] [--speed NAME=FACTOR] [options]",
	.files = "file: RUN.cct",
	.files_max = 1,
	.options = options,
	.run = run,
};
