/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast doctor: what this machine and build can measure, and how to get the rest. */
#include "command.h"
#include "doctor_machine.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "collect/counters.h"
#include "doctor/doctor.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, STATUS_WIDTH = 8 };

struct doctor_options {
	bool json;
	bool verbose;
	bool measure_machine;
	const char *output;
};

static const struct option_spec options[] = {
	{ 0, "json", NULL, "the same, and all details, as JSON (docs/formats/doctor.md)",
		OPTION_FLAG, offsetof(struct doctor_options, json) },
	{ 'v', "verbose", NULL, "also what each part is for, and what was seen", OPTION_FLAG,
		offsetof(struct doctor_options, verbose) },
	{ 0, "measure-machine", NULL,
		"measure this machine for some seconds and write it as a machine file, for "
		"'corecast predict'",
		OPTION_FLAG, offsetof(struct doctor_options, measure_machine) },
	{ 'o', "output", "FILE", "where --measure-machine writes it (default: standard output)",
		OPTION_OUTPUT, offsetof(struct doctor_options, output) },
	{ 0 },
};

static void add_labelled(struct strbuf *out, const char *label, const char *text)
{
	char head[32];
	snprintf(head, sizeof head, "%9s%-8s ", "", label);
	if (*text)
		text_add_wrapped(out, text, WIDTH, head, "                  ");
}

static void add_finding(struct strbuf *out, const struct doctor_finding *f, bool verbose)
{
	char head[64];
	snprintf(head, sizeof head, "%-*s %-16s ", STATUS_WIDTH, doctor_status_name(f->status),
		f->name);
	text_add_wrapped(out, f->summary, WIDTH, head, "                          ");
	if (verbose) {
		add_labelled(out, "for", f->purpose);
		add_labelled(out, "seen", f->detail);
	}
	add_labelled(out, "lost", f->lost);
	add_labelled(out, "instead", f->instead);
	add_labelled(out, "get it", f->command);
}

static bool has_colour(void)
{
	const char *no_color = getenv("NO_COLOR");
	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

/* The finding, with its first word in the colour of its status. */
static void print_finding(const char *text, enum doctor_status status)
{
	static const char *const colours[] = {
		[DOCTOR_OK] = "\033[32m",
		[DOCTOR_LIMITED] = "\033[33m",
		[DOCTOR_MISSING] = "\033[31m",
	};
	if (has_colour())
		printf("%s%.*s\033[0m%s", colours[status], STATUS_WIDTH, text, text + STATUS_WIDTH);
	else
		fputs(text, stdout);
}

static int print_text(const struct doctor *doctor, bool verbose)
{
	const char *processor = doctor->machine.cpu.name;
	printf("corecast %s on %s\n\n", CORECAST_VERSION, *processor ? processor : "this machine");
	for (size_t i = 0; i < doctor->count; i++) {
		AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
		add_finding(&out, &doctor->findings[i], verbose);
		if (strbuf_failed(&out) < 0)
			return -ENOMEM;
		print_finding(out.text, doctor->findings[i].status);
	}
	if (!verbose)
		puts("\n'corecast doctor -v' tells what each part is for and what was seen.");
	return 0;
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_text(text) : json_null();
}

/* Of a quantity, 0 means that the machine does not tell it, or does not have it. */
static json_t *quantity_or_null(double value)
{
	return value > 0 ? json_number(value) : json_null();
}

static json_t *count_or_null(uint32_t count)
{
	return count > 0 ? json_integer(count) : json_null();
}

static json_t *cpu_json(const struct machine_cpu *cpu)
{
	return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:b}", "name", text_or_null(cpu->name),
		"vendor", text_or_null(cpu->vendor), "family", (int)cpu->family, "model",
		(int)cpu->model, "part", (int)cpu->part, "max_hz", quantity_or_null(cpu->max_hz),
		"virtual", cpu->is_virtual);
}

static json_t *machine_json(const struct machine *m)
{
	return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "processor", cpu_json(&m->cpu),
		"usable_cores", (int)m->usable, "sockets", count_or_null(m->topology.sockets),
		"cores", count_or_null(m->topology.cores), "hardware_threads",
		count_or_null(m->topology.threads), "affinity", count_or_null(m->limits.affinity),
		"cpuset", count_or_null(m->limits.cpuset), "quota",
		quantity_or_null(m->limits.quota));
}

static json_t *finding_json(const struct doctor_finding *f)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", f->name, "purpose",
		f->purpose, "status", doctor_status_name(f->status), "summary",
		text_or_null(f->summary), "detail", text_or_null(f->detail), "lost",
		text_or_null(f->lost), "instead", text_or_null(f->instead), "command",
		text_or_null(f->command));
}

static int print_json(const struct doctor *doctor)
{
	json_t *checks = json_array();
	for (size_t i = 0; i < doctor->count; i++)
		checks = json_push(checks, finding_json(&doctor->findings[i]));
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	json_add(&out, json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "corecast", CORECAST_VERSION,
			       "machine", machine_json(&doctor->machine), "checks", checks));
	if (strbuf_failed(&out) < 0)
		return -ENOMEM;
	fputs(out.text, stdout);
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct doctor_options values = { 0 };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (operands.count > 0 || operands.program)
		return command_usage_error(command, "takes no program and no file");

	if (values.output && !values.measure_machine)
		return command_usage_error(command, "--output is for --measure-machine");

	struct err err;
	AUTO(doctor) struct doctor *doctor = NULL;
	const struct doctor_opts opts = {
		.root = "",
		.source = &counter_source_kernel,
		.has_charts = report_has_charts(),
	};
	if (doctor_new(&opts, &doctor, &err) < 0)
		return command_failure(&err);
	if (values.measure_machine) {
		const char *path = values.output ? values.output : "-";
		int code = doctor_measure_machine(&doctor->machine, path, &err);
		return code < 0 ? command_failure(&err) : 0;
	}
	int r = values.json ? print_json(doctor) : print_text(doctor, values.verbose);
	if (r < 0) {
		(void)err_set(&err, r, "out of memory"); /* printed just below */
		return command_failure(&err);
	}
	return 0;
}

extern const struct command cmd_doctor;
const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "what this machine can measure, and how to get the rest",
	.usage = "[options]",
	.options = options,
	.run = run,
};
