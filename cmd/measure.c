/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast measure: run a program at several thread counts and keep one row for each run in
 * RUNS.csv, so that whatever stops the measurement, what was measured stays.
 */
#include "command.h"

#include "base/cleanup.h"
#include "base/intlist.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "collect/argv.h"
#include "collect/extract.h"
#include "measure_session.h"
#include "measure_summary.h"
#include "modelled.h"
#include "scaling/runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REPEATS = 1000 };

struct values {
	const char *counts;
	uint32_t repeats;
	const char *output;
	bool warmup, resume, force, json;
	double timeout_s;
	const char *pin, *standard_output;
	const char *count_variable; /* NULL: OMP_NUM_THREADS */
	const char *throughput_regex;
	struct option_strings plugins;
	const char *stalls;
	const char *machine;
	bool sync_stalls;
	const char *where;
	uint32_t seed;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'n', "threads", "LIST",
		"thread counts: 1-12, 1,2,4,8 or 1-64:4 (default: 1 to all usable cores)",
		OPTION_STRING, FIELD(counts) },
	{ 'r', "repeats", "N", "runs of each count, all in shuffled order (default 3)", OPTION_U32,
		FIELD(repeats), 1, MAX_REPEATS },
	{ 'o', "output", "FILE", "where the rows go (default RUNS.csv)", OPTION_OUTPUT,
		FIELD(output) },
	{ 0, "resume", NULL, "continue the file that is there: make only the missing runs",
		OPTION_FLAG, FIELD(resume) },
	{ 0, "force", NULL, "replace the file that is there", OPTION_FLAG, FIELD(force) },
	{ 0, "warmup", NULL, "one run before all others that is not counted", OPTION_FLAG,
		FIELD(warmup) },
	{ 0, "timeout", "S", "stop a run, and all it started, after S seconds", OPTION_DOUBLE,
		FIELD(timeout_s) },
	{ 0, "pin", "auto|none",
		"auto: n threads get n cores of the same socket first, SMT siblings last; none: "
		"all cores (default auto)",
		OPTION_STRING, FIELD(pin) },
	{ 0, "env", "NAME", "variable set to the thread count (default OMP_NUM_THREADS)",
		OPTION_STRING, FIELD(count_variable) },
	{ 0, "throughput-regex", "RE",
		"measure the number that the first group of RE finds in the output (the last "
		"match), instead of time",
		OPTION_STRING, FIELD(throughput_regex) },
	{ 0, "plugin", "FILE",
		"a stall category that the program itself reports; may be given several times",
		OPTION_STRINGS, FIELD(plugins) },
	{ 0, "stdout", "keep|null",
		"keep: what the program prints goes to a file whose end is shown when it fails; "
		"null: it is discarded, for programs that write their result there",
		OPTION_STRING, FIELD(standard_output) },
	{ 0, "stalls", "auto|none|modelled",
		"auto: count the stall events of this processor where it has them; modelled: "
		"compute "
		"them from a profile at each thread count (default auto)",
		OPTION_STRING, FIELD(stalls) },
	{ 0, "machine", "FILE",
		"for modelled stalls: the processor, as 'predict' takes it (default generic)",
		OPTION_STRING, FIELD(machine) },
	{ 0, "sync-stalls", NULL,
		"record the time that threads wait in locks, barriers, conditions and joins",
		OPTION_FLAG, FIELD(sync_stalls) },
	{ 0, "where", "CATEGORY",
		"one more run at the highest count, to name the code behind a stall category: "
		"sync_lock, an event, or cpu",
		OPTION_STRING, FIELD(where) },
	{ 0, "seed", "N", "of the shuffling (default 1)", OPTION_U32, FIELD(seed) },
	{ 0, "json", NULL, "print the summary as JSON", OPTION_FLAG, FIELD(json) },
	{ 0 },
};

/* Texts made from the options; they live as long as the session. */
struct texts {
	struct strbuf command; /* the program, shell-quoted */
	struct strbuf settings; /* what influences the figures */
	struct strbuf repeated; /* the options that a resumed measurement needs again */
};

static void texts_release(struct texts *texts)
{
	strbuf_release(&texts->command);
	strbuf_release(&texts->settings);
	strbuf_release(&texts->repeated);
}

/* Adds "name value " with the value quoted, if there is one. */
static void add_option(struct strbuf *out, const char *name, const char *value)
{
	if (!value)
		return;
	strbuf_addf(out, "%s ", name);
	argv_quote_word(out, value);
	strbuf_add(out, " ");
}

static bool discards_stdout(const struct values *values)
{
	return strcmp(values->standard_output, "null") == 0;
}

static bool is_modelled(const struct values *values)
{
	return strcmp(values->stalls, "modelled") == 0;
}

static int make_texts(
	const struct values *values, char *const *program, struct texts *ret, struct err *err)
{
	argv_quote(&ret->command, program);
	struct strbuf *settings = &ret->settings;
	add_option(settings, "pin", values->pin);
	if (discards_stdout(values))
		add_option(settings, "stdout", values->standard_output);
	add_option(settings, "env",
		values->count_variable ? values->count_variable : "OMP_NUM_THREADS");
	add_option(settings, "throughput-regex", values->throughput_regex);
	if (is_modelled(values))
		add_option(settings, "machine", values->machine);

	struct strbuf *repeated = &ret->repeated;
	strbuf_add(repeated, ""); /* a text even without any option */
	if (strcmp(values->pin, "none") == 0)
		add_option(repeated, "--pin", values->pin);
	if (discards_stdout(values))
		add_option(repeated, "--stdout", values->standard_output);
	add_option(repeated, "--env", values->count_variable);
	add_option(repeated, "--throughput-regex", values->throughput_regex);
	if (strcmp(values->stalls, "auto") != 0)
		add_option(repeated, "--stalls", values->stalls);
	if (is_modelled(values))
		add_option(repeated, "--machine", values->machine);
	if (values->sync_stalls)
		strbuf_add(repeated, "--sync-stalls ");
	for (size_t i = 0; i < values->plugins.count; i++)
		add_option(repeated, "--plugin", values->plugins.items[i]);
	if (values->timeout_s > 0)
		strbuf_addf(repeated, "--timeout %g ", values->timeout_s);
	if (strbuf_failed(&ret->command) < 0 || strbuf_failed(settings) < 0 ||
		strbuf_failed(repeated) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	settings->text[settings->length - 1] = '\0'; /* the last space */
	return 0;
}

static int parse_counts(const struct values *values, uint32_t usable, uint32_t **ret,
	size_t *ret_count, struct err *err)
{
	char all[32];
	(void)snprintf(all, sizeof all, "1-%u", usable); /* fits */
	return intlist_parse(
		values->counts ? values->counts : all, 1, RUNS_THREADS_MAX, ret, ret_count, err);
}

static int print_summary(const struct session *session, bool as_json, struct err *err)
{
	return as_json ? summary_print_json(&session->summary, stdout, err)
		       : summary_print_table(&session->summary, stdout, err);
}

static int report_stop(const struct session *session, const char *counts, struct err *err)
{
	const struct summary *summary = &session->summary;
	AUTO_RELEASE(strbuf) struct strbuf command = { 0 };
	summary_add_resume_command(summary, counts, session->opts->repeats, &command);
	if (strbuf_failed(&command) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	fprintf(stderr,
		"corecast: stopped with %zu %s to go; %s in '%s'. To go on:\n"
		"  %s\n",
		summary->missing, summary->missing == 1 ? "run" : "runs",
		summary->run_count > 0 ? "the rows so far are" : "there is no row yet",
		summary->path, command.text);
	return EXIT_FAILURE;
}

/* How the measurement ended, said where it did not end well; the exit status or an errno. */
static int conclude(const struct session *session, int outcome, const char *counts, struct err *err)
{
	const struct summary *summary = &session->summary;
	if (outcome == MEASURED_CANCELLED)
		return report_stop(session, counts, err);
	if (summary->failed == 0)
		return 0;
	fprintf(stderr, "corecast: %zu %s failed; --resume tries again what failed\n",
		summary->failed, summary->failed == 1 ? "run" : "runs");
	return EXIT_FAILURE;
}

static int measure(const struct values *values, const struct session_opts *opts,
	char *const *program, const struct texts *texts, struct err *err)
{
	AUTO_FD int cancel_fd = stop_open(err);
	if (cancel_fd < 0)
		return cancel_fd;
	const char *variable = values->count_variable ? values->count_variable : "OMP_NUM_THREADS";
	AUTO_RELEASE(modelled) struct modelled modelled = { 0 };
	int status = is_modelled(values)
			     ? modelled_init(&modelled, program, variable, values->machine, err)
			     : 0;
	if (status < 0)
		return status;
	struct measurement_opts measurement = {
		.program = program,
		.count_variable = variable,
		.throughput_regex = values->throughput_regex,
		.timeout_s = values->timeout_s,
		.cancel_fd = cancel_fd,
		.is_pinned = strcmp(values->pin, "auto") == 0,
		.discards_stdout = discards_stdout(values),
		.watches_sync = values->sync_stalls,
		.stalls = { .plugin_paths = values->plugins.items,
			.plugin_count = values->plugins.count,
			.counts_hardware = strcmp(values->stalls, "auto") == 0,
			.model = is_modelled(values) ? &modelled.model : NULL,
			.cpu = &opts->machine->cpu },
	};
	AUTO_RELEASE(session)
	struct session session = {
		.journal = { .fd = -1 },
		.summary = { .has_throughput = values->throughput_regex != NULL,
			.usable = opts->machine->usable,
			.path = values->output,
			.command = texts->command.text,
			.options = texts->repeated.text },
		.shows_progress = isatty(STDERR_FILENO),
	};
	status = session_open(&session, opts, &measurement, err);
	if (status < 0)
		return status;
	int outcome = session_run(&session, err);
	if (outcome < 0)
		return outcome;
	status = print_summary(&session, values->json, err);
	if (status < 0)
		return status;
	char all[32];
	(void)snprintf(all, sizeof all, "1-%u", opts->machine->usable); /* fits */
	return conclude(&session, outcome, values->counts ? values->counts : all, err);
}

static bool is_auto_or_none(const char *word)
{
	return strcmp(word, "auto") == 0 || strcmp(word, "none") == 0;
}

static int check_throughput(const struct command *command, const char *expression)
{
	struct err err;
	struct extractor extractor;
	if (!expression)
		return 0;
	if (extractor_init(&extractor, expression, REDUCE_LAST, &err) < 0)
		return command_usage_error(command, "--throughput-regex: %s", err.text);
	extractor_release(&extractor);
	return 0;
}

static int check_values(
	const struct command *command, const struct values *values, const struct operands *operands)
{
	if (!operands->program || !operands->program[0])
		return command_usage_error(command, "no program: give it after --");
	if (operands->count > 0)
		return command_usage_error(
			command, "'%s': the program stands after --", operands->items[0]);
	if (strcmp(values->output, "-") == 0)
		return command_usage_error(command, "--output: a file, which rows are appended to");
	if (values->resume && values->force)
		return command_usage_error(command, "--resume and --force exclude each other");
	if (!is_auto_or_none(values->pin))
		return command_usage_error(command, "--pin: auto or none");
	if (!discards_stdout(values) && strcmp(values->standard_output, "keep") != 0)
		return command_usage_error(command, "--stdout: keep or null");
	if (!is_auto_or_none(values->stalls) && !is_modelled(values))
		return command_usage_error(command, "--stalls: auto, none or modelled");
	if (values->timeout_s <= 0)
		return command_usage_error(command, "--timeout: seconds above 0");
	if (values->machine && !is_modelled(values))
		return command_usage_error(command, "--machine goes with --stalls modelled");
	if (values->count_variable &&
		(!*values->count_variable || strchr(values->count_variable, '=')))
		return command_usage_error(command, "--env: a variable's name");
	return check_throughput(command, values->throughput_regex);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values values = { .repeats = 3,
		.output = "RUNS.csv",
		.pin = "auto",
		.standard_output = "keep",
		.stalls = "auto",
		.timeout_s = NAN,
		.seed = 1 };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = check_values(command, &values, &operands);
	if (status != 0)
		return status;
	if (!values.machine)
		values.machine = "generic";

	struct err err;
	struct machine machine;
	if (machine_read("", &machine, &err) < 0)
		return command_failure(&err);
	AUTO_FREE uint32_t *counts = NULL;
	size_t count_count = 0;
	if (parse_counts(&values, machine.usable, &counts, &count_count, &err) < 0)
		return command_usage_error(command, "-n: %s", err.text);
	AUTO_RELEASE(texts) struct texts texts = { 0 };
	if (make_texts(&values, operands.program, &texts, &err) < 0)
		return command_failure(&err);
	if (!argv_has_count(operands.program) && !values.count_variable)
		fputs("corecast: note: there is no {n} in the command: the program learns its "
		      "thread count from OMP_NUM_THREADS only\n",
			stderr);
	struct session_opts opts = { .counts = counts,
		.count_count = count_count,
		.repeats = values.repeats,
		.seed = values.seed,
		.warms_up = values.warmup,
		.mode = values.resume  ? JOURNAL_RESUME
			: values.force ? JOURNAL_REPLACE
				       : JOURNAL_NEW,
		.settings = texts.settings.text,
		.machine = &machine,
		.where = values.where };
	status = measure(&values, &opts, operands.program, &texts, &err);
	return status < 0 ? command_failure(&err) : status;
}

extern const struct command cmd_measure;
const struct command cmd_measure = {
	.name = "measure",
	.summary = "run a program at several thread counts and keep what it took",
	.usage = "[-n 1-12] [-o RUNS.csv] [options] -- PROGRAM ... {n} ...",
	.options = options,
	.run = run,
};
