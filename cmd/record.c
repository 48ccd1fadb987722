/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast record: runs a program, or joins one, and keeps what its threads did to one another. */
#include "base/plural.h"
#include "command.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/outfile.h"
#include "record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LIMIT_MIB = 1024,
	/* Costs memcached 1% at most, 997 up to 5%. No divisor of 1000: what a program does every ms must not meet it. */
	SAMPLES_HZ = 251,
	SAMPLES_HZ_MAX = 10000,
	SAMPLES_UNSET = UINT32_MAX,
	PAIRS_MAX = 1000000,
};

struct record_options {
	const char *output, *via, *budget;
	uint32_t limit_mib, pid, samples_hz;
	double duration_s;
	bool disk, force;
};

#define FIELD(name) offsetof(struct record_options, name)

static const struct option_spec options[] = {
	{ 'o', "output", "FILE", "the trace to write (default: corecast.cct)", OPTION_OUTPUT,
		FIELD(output) },
	{ 0, "via", "auto|preload|bpf|both",
		"how to watch the program: by a library inside it, from the kernel, or both "
		"(default: auto)",
		OPTION_STRING, FIELD(via) },
	{ 'p', "pid", "PID", "record a program that runs already", OPTION_U32, FIELD(pid), 1,
		INT32_MAX },
	{ 'd', "duration", "S", "with -p: end after S seconds (default: when the program ends)",
		OPTION_DOUBLE, FIELD(duration_s) },
	{ 0, "disk", NULL, "record requests to disks, too (from the kernel only)", OPTION_FLAG,
		FIELD(disk) },
	{ 0, "samples", "HZ",
		"note what runs so many times in each second that a thread runs (default: 251; 0: "
		"never)",
		OPTION_U32, FIELD(samples_hz), 0, SAMPLES_HZ_MAX },
	{ 0, "budget", "PERCENT%|none|N/M",
		"what recording may add to a thread's time: above it free locks are recorded in "
		"bursts (default: 5%; none: record all of them; N/M: N of every M)",
		OPTION_STRING, FIELD(budget) },
	{ 0, "size-limit", "MIB", "stop recording, not the program, at this size (default: 1024)",
		OPTION_U32, FIELD(limit_mib), 1 },
	{ 0, "force", NULL, "replace the file that is there", OPTION_FLAG, FIELD(force) },
	{ 0 },
};

/* "N/M". 0 or -EINVAL. */
static int parse_turns(const char *text, struct record_opts *ret)
{
	uint32_t recorded = 0, all = 0;
	char first[16] = "";
	size_t length = strcspn(text, "/");
	if (length >= sizeof first || text[length] == '\0')
		return -EINVAL;
	memcpy(first, text, length);
	if (number_parse_u32(first, &recorded) < 0 ||
		number_parse_u32(text + length + 1, &all) < 0 || recorded == 0 || recorded >= all ||
		all > PAIRS_MAX)
		return -EINVAL;
	ret->burst_pairs = recorded;
	ret->gap_pairs = all - recorded;
	return 0;
}

/* "5%", "none", "100/1000". 0 or -EINVAL. */
static int parse_budget(const char *text, struct record_opts *ret)
{
	char number[16] = "";
	double percent = 0;
	size_t length = strlen(text);
	if (strcmp(text, "none") == 0)
		return 0;
	if (length == 0 || length >= sizeof number || text[length - 1] != '%')
		return parse_turns(text, ret);
	memcpy(number, text, length - 1);
	if (number_parse_double(number, &percent) < 0 || !(percent > 0 && percent <= 1000))
		return -EINVAL;
	ret->budget_ppm = (uint32_t)(percent * 10000 + 0.5);
	return ret->budget_ppm > 0 ? 0 : -EINVAL;
}

static double mebibytes(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* On stderr: stdout is the program's. */
static void print_summary(const char *path, const struct record_result *result)
{
	const struct trace_closed *closed = &result->closed;
	double records = (double)closed->records;
	if (closed->records == 0)
		fprintf(stderr, "corecast: %s: %.3f s, in which there was nothing to record\n",
			path, result->wall_s);
	else
		fprintf(stderr,
			"corecast: %s: %.3f s, %llu events of %u process%s, %.1f MiB (%.1f bytes "
			"an event; %.1f before compression), %llu lost\n",
			path, result->wall_s, (unsigned long long)closed->records,
			result->processes, result->processes == 1 ? "" : "es",
			mebibytes(closed->bytes), (double)closed->bytes / records,
			(double)closed->raw_bytes / records, (unsigned long long)result->lost);
	if (result->samples > 0)
		fprintf(stderr, "corecast: %llu sample%s of what ran, %llu lost\n",
			(unsigned long long)result->samples, plural(result->samples),
			(unsigned long long)result->samples_lost);
	if (*result->no_samples.text)
		fprintf(stderr, "corecast: without samples of what ran: %s\n",
			result->no_samples.text);
	if (result->is_full)
		fputs("corecast: recording ended before the program did: the size limit or the end "
		      "of the disk was reached (--size-limit MIB)\n",
			stderr);
	if (closed->records > 0)
		fprintf(stderr, "corecast: who held the others up: corecast criticality %s\n",
			path);
}

static int record(
	const struct record_options *values, const struct record_opts *budget, char **program)
{
	const struct record_opts opts = {
		.budget_ppm = budget->budget_ppm,
		.burst_pairs = budget->burst_pairs,
		.gap_pairs = budget->gap_pairs,
		.argv = program,
		.pid = (pid_t)values->pid,
		.duration_s = values->duration_s,
		.path = values->output,
		.bytes_max = (uint64_t)values->limit_mib << 20,
		.has_disk = values->disk,
		.samples_hz = values->samples_hz == SAMPLES_UNSET ? SAMPLES_HZ : values->samples_hz,
		.needs_samples = values->samples_hz != SAMPLES_UNSET,
	};
	struct err err = { 0 };
	const struct recorder *recorder = NULL;
	if (outfile_check(values->output, values->force, &err) < 0)
		return command_failure(&err);
	struct record_result result;
	if (recorder_find(values->via, &opts, &recorder, &err) < 0)
		return command_failure(&err);
	if (program && *err.text) /* why "auto" did not take the first */
		fprintf(stderr, "corecast: recording via %s, because %s\n", recorder->name,
			err.text);
	if (recorder->run(&opts, &result, &err) < 0)
		return command_failure(&err);
	if (result.closed.records == 0 && result.lost > 0) {
		(void)unlink(values->output); /* an empty trace tells nothing */
		err_set(&err, -ENOSPC, "nothing was recorded: is there no room for '%s'?",
			values->output);
		return command_failure(&err);
	}
	print_summary(values->output, &result);
	return program ? command_program_status(program[0], result.status) : EXIT_SUCCESS;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct record_options values = {
		.output = "corecast.cct",
		.via = "auto",
		.budget = "5%",
		.limit_mib = LIMIT_MIB,
		.samples_hz = SAMPLES_UNSET,
	};
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = command_program_or_pid(command, &operands, values.pid);
	if (status != 0)
		return status;
	bool has_program = operands.program != NULL;
	if (values.duration_s < 0)
		return command_usage_error(command, "-d: a number above 0");
	if (values.duration_s > 0 && has_program)
		return command_usage_error(command, "-d goes with -p");
	if (strcmp(values.via, "auto") != 0 && strcmp(values.via, "preload") != 0 &&
		strcmp(values.via, "bpf") != 0 && strcmp(values.via, "both") != 0)
		return command_usage_error(command, "--via: no recorder '%s'", values.via);
	struct record_opts budget = { 0 };
	if (parse_budget(values.budget, &budget) < 0)
		return command_usage_error(command,
			"--budget: '%s' is neither a percentage above 0, nor none, nor N/M with N "
			"below M",
			values.budget);
	return record(&values, &budget, operands.program);
}

extern const struct command cmd_record;
const struct command cmd_record = {
	.name = "record",
	.summary = "run a program and record what its threads wait for",
	.usage = "[-o RUN.cct] [options] (-- PROGRAM ARGS... | -p PID)",
	.options = options,
	.run = run,
};
