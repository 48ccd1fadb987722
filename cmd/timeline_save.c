/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timeline_save.h"

#include "base/cleanup.h"
#include "base/outfile.h"
#include "trace/csv_write.h"
#include "trace/writer.h"

#include <string.h>

int timeline_save(const char *path,
	int (*play)(void *context, const struct event_sink *sink, struct err *err), void *context,
	struct err *err)
{
	size_t length = strlen(path);
	if (strcmp(path, "-") == 0 || (length > 4 && strcmp(path + length - 4, ".csv") == 0)) {
		AUTO_RELEASE(outfile) struct outfile out = { 0 };
		int code = outfile_open(&out, path, err);
		if (code < 0)
			return code;
		struct timeline_csv csv = { .out = out.file };
		struct event_sink sink = timeline_csv_sink(&csv);
		code = play(context, &sink, err);
		return code < 0 ? code : outfile_commit(&out, err);
	}
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .create = { .is_simulated = true } };
	int code = trace_writer_new(path, &opts, &writer, err);
	if (code < 0)
		return code;
	struct event_sink sink = trace_writer_sink(writer);
	return play(context, &sink, err);
}
