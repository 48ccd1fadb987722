/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small traces in a temporary file, written and read back. */
#ifndef TESTS_TRACE_FIXTURE_H
#define TESTS_TRACE_FIXTURE_H

#include "base/mem.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the test's own, which does not exist yet. */
struct trace_path {
	char folder[40];
	char text[64];
};

static inline void trace_path_init(struct trace_path *path)
{
	strcpy(path->folder, "/tmp/corecast-test-XXXXXX");
	assert_non_null(mkdtemp(path->folder));
	snprintf(path->text, sizeof path->text, "%s/run.cct", path->folder);
}

/* Nothing but the trace is left in the folder. */
static inline void trace_path_release(struct trace_path *path)
{
	unlink(path->text);
	assert_int_equal(rmdir(path->folder), 0);
}

/* Events as read; names' texts are not kept. */
struct event_list {
	struct event *items;
	size_t count, capacity;
	struct trace_quality quality;
};

static inline void event_list_release(struct event_list *list)
{
	free(list->items);
	*list = (struct event_list){ 0 };
}

static inline void read_trace(const char *path, struct event_list *ret)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct err err = { "" };
	struct event event;
	int code = trace_reader_open(path, &reader, &err);
	*ret = (struct event_list){ 0 };
	if (code < 0)
		fail_msg("%s", err.text);
	while ((code = trace_reader_next(reader, &event, &err)) > 0) {
		assert_int_equal(
			mem_grow(&ret->items, &ret->capacity, ret->count + 1, sizeof event), 0);
		event.text = NULL;
		ret->items[ret->count++] = event;
	}
	assert_int_equal(code, 0);
	ret->quality = *trace_reader_quality(reader);
}

enum ending { LEFT_RAW, CLOSED };

static inline void write_trace(
	const char *path, const struct event *events, size_t count, enum ending ending)
{
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct err err = { "" };
	struct trace_writer_opts opts = { .is_recording = true,
		.create = { .sources = TRACE_BY_SIMULATOR, .is_simulated = true } };
	if (trace_writer_new(path, &opts, &writer, &err) < 0)
		fail_msg("%s", err.text);
	struct event_sink sink = trace_writer_sink(writer);
	for (size_t i = 0; i < count; i++)
		if (sink_event(&sink, &events[i], &err) < 0)
			fail_msg("%s", err.text);
	uint64_t end_ns = count ? events[count - 1].time_ns : 0;
	if (ending == CLOSED && sink_finish(&sink, end_ns, &err) < 0)
		fail_msg("%s", err.text);
}

#endif
