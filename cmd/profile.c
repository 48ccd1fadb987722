/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast profile: runs a program in an emulator and keeps what its threads execute, for any processor. */
#include "analysed.h"
#include "base/plural.h"
#include "command.h"
#include "profiled.h"
#include "terminal.h"

#include "base/cleanup.h"
#include "base/outfile.h"
#include "report/profile.h"
#include "report/profile_names.h"
#include "report/quantity.h"
#include "uarch/profile_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_MIB = 4096 };

struct profile_options {
	const char *output, *backend, *instructions;
	uint32_t limit_mib;
	bool native, force, json, quiet;
};

#define FIELD(name) offsetof(struct profile_options, name)

static const struct option_spec options[] = {
	{ 'o', "output", "FILE", "the profile to write (default: corecast.ccp)", OPTION_OUTPUT,
		FIELD(output) },
	{ 0, "backend", "auto|qemu|valgrind", "what runs the program (default: auto)",
		OPTION_STRING, FIELD(backend) },
	{ 0, "instructions", "FILE", "also write every instruction, for simulators", OPTION_OUTPUT,
		FIELD(instructions) },
	{ 0, "native", NULL, "run it plainly first, for the time that it takes", OPTION_FLAG,
		FIELD(native) },
	{ 0, "size-limit", "MIB",
		"stop recording events, not the program, at this size (default: 4096)", OPTION_U32,
		FIELD(limit_mib), 1 },
	{ 0, "force", NULL, "replace the file that is there", OPTION_FLAG, FIELD(force) },
	{ 0, "json", NULL, "print the summary as JSON", OPTION_FLAG, FIELD(json) },
	{ 'q', "quiet", NULL, "show no progress and no summary", OPTION_FLAG, FIELD(quiet) },
	{ 0 },
};

static int write_profile(const char *path, const struct profile *profile, struct err *err)
{
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	AUTO_FREE void *bytes = NULL;
	size_t count = 0;
	int code = profile_write(profile, &bytes, &count, err);
	if (code == 0)
		code = outfile_open(&out, path, err);
	if (code < 0)
		return code;
	if (fwrite(bytes, 1, count, out.file) != count)
		return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	return outfile_commit(&out, err);
}

/* For people on stderr: stdout is the program's. */
static int print(const struct profile_options *values, const struct profile *profile)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	const struct text_style style = terminal_style(stderr);
	if (values->json)
		report_profile_json(&text, profile, values->output);
	else
		report_profile_text(&text, profile, values->output, &style);
	struct err err = { 0 };
	if (strbuf_failed(&text) < 0) {
		(void)err_set(&err, -ENOMEM, "out of memory"); /* printed at once */
		return command_failure(&err);
	}
	fputs(text.text, values->json ? stdout : stderr);
	return EXIT_SUCCESS;
}

/* What the profile does not know of. */
static void print_notes(const struct profile_options *values, const char *program,
	const struct profiler_result *ran)
{
	if (ran->processes > 1)
		fprintf(stderr,
			"corecast: '%s' started other processes (%u in all): only the first is "
			"profiled; for another, profile its own command line\n",
			program, ran->processes);
	if (ran->is_timeline_full)
		fprintf(stderr,
			"corecast: events were no longer recorded at %u MiB, or at the end of the "
			"disk: --size-limit MIB, TMPDIR=FOLDER\n",
			values->limit_mib);
}

static const char clear_line[] = "\r\033[K";

/* The line is the program's, too: what it prints goes over it. */
static void show_progress(const struct profiler_state *state)
{
	struct quantity_text instructions =
		quantity_format(QUANTITY_COUNT, (double)state->instructions);
	fprintf(stderr, "%sprofiled for %.0f s: %s instructions, %u thread%s\r", clear_line,
		state->elapsed_s, instructions.text, state->threads, plural(state->threads));
	fflush(stderr);
}

/* Of code and objects, by the files that the program was made of. */
static int find_names(struct profile *profile, struct err *err)
{
	AUTO(symbols) struct symbols *symbols = NULL;
	if (symbols_new(&symbols) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct code_finder finder = analysed_finder(symbols);
	return profile_names_find(profile, &finder, err);
}

static int profile_program(const struct profile_options *values, char **program)
{
	const struct profiler_opts opts = {
		.argv = program,
		.backend = values->backend,
		.is_run_plainly = values->native,
		.instructions = values->instructions,
		.trace_bytes_max = (uint64_t)values->limit_mib << 20,
		.show_progress = isatty(STDERR_FILENO) && !values->quiet ? show_progress : NULL,
	};
	struct err err = { 0 };
	AUTO_RELEASE(profiler_result) struct profiler_result ran = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	if (outfile_check(values->output, values->force, &err) < 0)
		return command_failure(&err);
	int code = profile_run(&opts, &ran, &profile, &err);
	if (opts.show_progress)
		fputs(clear_line, stderr);
	if (code < 0 || find_names(&profile, &err) < 0 ||
		write_profile(values->output, &profile, &err) < 0)
		return command_failure(&err);
	print_notes(values, program[0], &ran);
	if (strcmp(values->backend, "auto") == 0 && !values->quiet)
		fprintf(stderr, "corecast: profiled by %s: %s\n", ran.backend, ran.why);
	if ((values->json || !values->quiet) && print(values, &profile) != EXIT_SUCCESS)
		return EXIT_FAILURE;
	return command_program_status(program[0], ran.status);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct profile_options values = {
		.output = "corecast.ccp",
		.backend = "auto",
		.limit_mib = LIMIT_MIB,
	};
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (operands.count > 0)
		return command_usage_error(
			command, "'%s': the program goes behind --", operands.items[0]);
	if (!operands.program || !operands.program[0])
		return command_usage_error(command, "needs a program: -- PROGRAM ARGS...");
	return profile_program(&values, operands.program);
}

extern const struct command cmd_profile;
const struct command cmd_profile = {
	.name = "profile",
	.summary = "run a program once, to predict it on any processor",
	.usage = "[-o APP.ccp] [options] -- PROGRAM ARGS...",
	.options = options,
	.run = run,
};
