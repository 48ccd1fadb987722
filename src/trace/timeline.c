/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/timeline.h"

#include "preload/trace_record.h"
#include "trace/csv_read.h"
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* A file that begins with text, and with a name of a column. */
static bool is_text(const char *bytes, size_t count)
{
	static const char mark[] = "\xef\xbb\xbf";
	if (count >= 3 && memcmp(bytes, mark, 3) == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (((unsigned char)bytes[i] < ' ' && !strchr("\t\r\n", bytes[i])) ||
			bytes[i] == 0x7f)
			return false;
	return count > 0;
}

struct import {
	struct trace_writer *writer;
	struct event_sink sink; /* the writer's */
	struct timeline_csv_notes notes;
};

static int import_event(void *context, const struct event *event, struct err *err)
{
	return sink_event(&((struct import *)context)->sink, event, err);
}

/* What only the end of the text tells for certain. */
static int import_finish(void *context, uint64_t end_ns, struct err *err)
{
	struct import *import = context;
	trace_writer_set_cores(import->writer, import->notes.cores, import->notes.cores_online);
	trace_writer_set_wakes(import->writer, &import->notes.wakes);
	trace_writer_set_others(import->writer, &import->notes.others);
	trace_writer_set_own(import->writer, &import->notes.own);
	return sink_finish(&import->sink, end_ns, err);
}

static int import_csv(FILE *in, const char *path, struct trace_reader **ret, struct err *err)
{
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	AUTO_FD int fd = memfd_create("corecast-timeline", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	AUTO_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	struct trace_create_opts opts = { .sources = TRACE_BY_IMPORT, .is_simulated = true };
	int handed = copy;
	copy = -1;
	int code = trace_writer_new_fd(handed, path, &opts, &writer, err);
	if (code < 0)
		return code;
	struct import import = { .writer = writer, .sink = trace_writer_sink(writer) };
	const struct event_sink sink = { &import, import_event, import_finish };
	code = timeline_csv_read(in, path, &sink, &import.notes, err);
	if (code < 0)
		return code;
	if (trace_writer_is_full(writer))
		return err_set(err, -ENOSPC,
			"'%s' does not fit into memory: convert it with "
			"'corecast export --to cct -o FILE'",
			path);
	handed = fd;
	fd = -1;
	return trace_reader_open_fd(handed, path, ret, err);
}

int timeline_open(const char *path, struct trace_reader **ret, struct err *err)
{
	char bytes[64];
	AUTO_FILE FILE *in = fopen(path, "re");
	size_t count = in ? fread(bytes, 1, sizeof bytes, in) : 0;
	if (!in || ferror(in))
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (!is_text(bytes, count))
		return trace_reader_open(path, ret, err);
	if (fseek(in, 0, SEEK_SET) < 0)
		return err_set(
			err, -ESPIPE, "'%s' is a pipe: a timeline is read from a file", path);
	return import_csv(in, path, ret, err);
}
