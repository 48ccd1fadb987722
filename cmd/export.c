/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corecast export: a timeline in another form. Any form of a timeline is read: a trace file, the one in a
 * profile, or CSV as a person writes it.
 */
#include "analysed.h"
#include "command.h"
#include "machines.h"

#include "base/cleanup.h"
#include "base/outfile.h"
#include "base/plural.h"
#include "report/perfetto.h"
#include "report/report.h"
#include "report/timeline_json.h"
#include "report/timeline_names.h"
#include "trace/csv_read.h"
#include "trace/csv_write.h"
#include "trace/timeline.h"
#include "trace/writer.h"
#include "uarch/profile_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct values {
	const char *to, *output;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 't', "to", "perfetto|folded|csv|json|cct", "the form to write", OPTION_STRING,
		FIELD(to) },
	{ 'o', "output", "FILE", "where to (default: standard output; cct needs a file)",
		OPTION_OUTPUT, FIELD(output) },
	{ 0 },
};

/* Reads the timeline twice: for what the program's files say, and for its own names. */
static int collect_names(const char *path, struct event_names *names, struct err *err)
{
	AUTO_RELEASE(analysed) struct analysed file = { .path = path };
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	int code = analysed_read(&file, &(struct analysis_opts){ 0 }, NULL, err);
	if (code == 0)
		code = timeline_open(path, &reader, err);
	if (code < 0)
		return code;
	struct criticality_input input = analysed_input(&file);
	while ((code = trace_reader_next(reader, &event, err)) > 0)
		if (event_names_add(names, &event) < 0 ||
			timeline_names_add_site(names, &input, &event) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	if (code == 0 && timeline_names_add_locks(names, &input) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return code;
}

static int to_perfetto(FILE *out, const char *path, struct trace_reader *reader, struct err *err)
{
	AUTO_RELEASE(event_names) struct event_names names = { 0 };
	int code = collect_names(path, &names, err);
	return code < 0 ? code : perfetto_write(out, reader, &names, err);
}

static int to_csv(FILE *out, const char *path, struct trace_reader *reader, struct err *err)
{
	(void)path;
	const struct trace_quality *quality = trace_reader_quality(reader);
	struct timeline_csv csv = { .out = out,
		.cores = quality->cores,
		.cores_online = quality->cores_online,
		.wakes = quality->wakes,
		.others = quality->others,
		.own = quality->own };
	struct event_sink sink = timeline_csv_sink(&csv);
	return trace_reader_replay(reader, &sink, err);
}

static int to_json(FILE *out, const char *path, struct trace_reader *reader, struct err *err)
{
	(void)path;
	return timeline_json_write(out, reader, err);
}

/* Has an analysis of the timeline made, and shows what that says about code. */
static int to_folded(FILE *out, const char *path, struct trace_reader *reader, struct err *err)
{
	(void)reader;
	AUTO_RELEASE(analysed) struct analysed file = { .path = path };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	int code = analysed_read(&file, &(struct analysis_opts){ 0 }, stderr, err);
	if (code < 0)
		return code;
	struct criticality_input input = analysed_input(&file);
	report_criticality_folded(&text, &input);
	return report_write(&text, out, err);
}

static const struct form {
	const char *name;
	/* NULL: it writes its file itself. `path` is the timeline, for who must read it again. */
	int (*write)(FILE *out, const char *path, struct trace_reader *reader, struct err *err);
} forms[] = {
	{ "perfetto", to_perfetto },
	{ "folded", to_folded },
	{ "csv", to_csv },
	{ "json", to_json },
	{ "cct", NULL },
};

static const struct form *find_form(const char *name)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	return NULL;
}

static int write_trace(const char *output, struct trace_reader *reader, struct err *err)
{
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	const struct trace_quality *quality = trace_reader_quality(reader);
	struct trace_writer_opts opts = { .create = { .sources = TRACE_BY_IMPORT,
						  .cores = quality->cores,
						  .cores_online = quality->cores_online,
						  .wakes = quality->wakes,
						  .others = quality->others,
						  .own = quality->own,
						  .is_simulated = true } };
	int code = trace_writer_new(output, &opts, &writer, err);
	if (code < 0)
		return code;
	struct event_sink sink = trace_writer_sink(writer);
	struct event event;
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		code = sink_event(&sink, &event, err);
		if (code < 0)
			return code;
	}
	return code < 0 ? code : sink_finish(&sink, trace_reader_quality(reader)->end_ns, err);
}

static int write_form(const struct form *form, const char *path, const char *output,
	struct trace_reader *reader, struct err *err)
{
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	int code = outfile_open(&out, output, err);
	if (code == 0)
		code = form->write(out.file, path, reader, err);
	if (code < 0 && out.file && ferror(out.file))
		return err_prefix(err, code, "%s", out.path);
	return code < 0 ? code : outfile_commit(&out, err);
}

/* What the timeline lacks is said, whatever the form. */
static void warn(const char *path, const struct trace_quality *quality)
{
	if (quality->lost)
		fprintf(stderr, "corecast: %s: %llu events were not recorded or cannot be read\n",
			path, (unsigned long long)quality->lost);
	if (quality->left_out)
		fprintf(stderr,
			"corecast: %s: %.1f%% of the free locks are in it, in bursts (--budget)\n",
			path, 100 * trace_free_share(quality));
	if (quality->torn_chunks)
		fprintf(stderr, "corecast: %s: %llu part%s of the file %s damaged and left out\n",
			path, (unsigned long long)quality->torn_chunks,
			plural(quality->torn_chunks), quality->torn_chunks == 1 ? "is" : "are");
}

static bool is_profile(const char *path)
{
	AUTO_FILE FILE *in = fopen(path, "re");
	return in && analysed_is_profile(in);
}

/* A profile's timeline as a file without a name, which can be read more than once. */
static int unpack(const char *path, int *ret_fd, struct err *err)
{
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	int code = profile_load(path, &profile, err);
	if (code < 0)
		return code;
	if (!profile.timeline)
		return err_set(err, -ENODATA, "'%s' has no timeline", path);
	AUTO_FD int fd = memfd_create("corecast-timeline", MFD_CLOEXEC);
	for (size_t done = 0; fd >= 0 && done < profile.timeline_bytes;) {
		ssize_t n =
			write(fd, (char *)profile.timeline + done, profile.timeline_bytes - done);
		if (n <= 0)
			return err_set(err, -EIO, "cannot unpack '%s': %s", path, strerror(errno));
		done += (size_t)n;
	}
	if (fd < 0)
		return err_set(err, -errno, "cannot unpack '%s': %s", path, strerror(errno));
	fputs("corecast: the profile's timeline: times are the emulator's, 1 ns of CPU time is an "
	      "instruction\n",
		stderr);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int export_file(const struct form *form, const char *path, const char *output)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	AUTO_FD int unpacked = -1;
	char unpacked_path[32];
	struct err err;
	int code = is_profile(path) ? unpack(path, &unpacked, &err) : 0;
	if (unpacked >= 0) {
		(void)snprintf(unpacked_path, sizeof unpacked_path, "/proc/self/fd/%d",
			unpacked); /* fits */
		path = unpacked_path;
	}
	if (code == 0)
		code = timeline_open(path, &reader, &err);
	if (code == 0)
		code = form->write ? write_form(form, path, output, reader, &err)
				   : write_trace(output, reader, &err);
	if (code < 0)
		return command_failure(&err);
	warn(path, trace_reader_quality(reader));
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .output = "-" };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	if (!v.to)
		return command_usage_error(
			command, "say which form: --to perfetto, folded, csv, json or cct");
	const struct form *form = find_form(v.to);
	if (!form)
		return command_usage_error(
			command, "--to: '%s' is not one of %s", v.to, options[0].argument);
	if (!form->write && strcmp(v.output, "-") == 0)
		return command_usage_error(command, "--to cct needs a file: -o FILE");
	return export_file(form, operands.items[0], v.output);
}

extern const struct command cmd_export;
const struct command cmd_export = {
	.name = "export",
	.summary = "write a timeline in another form: Perfetto, CSV, JSON",
	.usage = "FILE --to FORM [-o FILE]",
	.files = "file: RUN.cct, APP.ccp, or a timeline in CSV",
	.files_max = 1,
	.options = options,
	.run = run,
};
