/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program of the tests recorded by the preload library, and its events read back. */
#ifndef TESTS_RECORDED_H
#define TESTS_RECORDED_H

#include "program_run.h"

#include "base/mem.h"
#include "preload/trace_record.h"
#include "record/run_clock.h"
#include "trace/create.h"
#include "trace/reader.h"

#include <errno.h>

struct trace {
	struct run run;
	struct trace_header header; /* as the program left it */
	struct event *events;
	size_t count, capacity;
	char *texts[256];
	size_t text_count;
	struct trace_quality quality;
};

static inline void trace_release(struct trace *trace)
{
	run_release(&trace->run);
	free(trace->events);
	for (size_t i = 0; i < trace->text_count; i++)
		free(trace->texts[i]);
	*trace = (struct trace){ 0 };
}

/* Names outlive the reader. */
static inline const char *kept_text(struct trace *trace, const char *text)
{
	if (!text || trace->text_count == ARRAY_SIZE(trace->texts))
		return NULL;
	trace->texts[trace->text_count] = strdup(text);
	return trace->texts[trace->text_count++];
}

static inline int keep(void *context, const struct event *event, struct err *err)
{
	struct trace *trace = context;
	if (mem_grow(&trace->events, &trace->capacity, trace->count + 1, sizeof *trace->events) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	trace->events[trace->count] = *event;
	trace->events[trace->count++].text = kept_text(trace, event->text);
	return 0;
}

static inline void read_trace(const char *file, struct trace *trace)
{
	struct err err = { 0 };
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	const struct event_sink sink = { .context = trace, .event = keep };
	if (trace_reader_open(file, &reader, &err) < 0 ||
		trace_reader_replay(reader, &sink, &err) < 0)
		fail_msg("%s", err.text);
	trace->quality = *trace_reader_quality(reader);
	assert_int_equal(trace->quality.lost, trace->header.events_lost);
	assert_int_equal(trace->quality.torn_chunks, 0);
}

static inline void record_as(const char *program, const char *argument,
	const struct trace_create_opts *how, struct trace *trace)
{
	AUTO_FREE char *path = NULL;
	find(program, &path);
	char file[] = "/tmp/record_preload.XXXXXX";
	AUTO_FD int fd = mkostemp(file, O_CLOEXEC);
	assert_true(fd >= 0);
	struct err err = { 0 };
	trace_header_init(&trace->header, how);
	trace->header.sources = TRACE_BY_PRELOAD;
	run_clock_measure(&trace->header);
	assert_int_equal(trace_header_write(fd, file, &trace->header, &err), 0);
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	if (sync_env_make(PRELOAD_RECORDS, TRACE_PATH_VARIABLE, file, &env, &err) < 0)
		fail_msg("%s", err.text);
	char *argv[] = { path, (char *)argument, NULL };
	run_program(argv, &env, &trace->run);
	assert_int_equal(pread(fd, &trace->header, sizeof trace->header, 0), sizeof trace->header);
	read_trace(file, trace);
	unlink(file);
}

static inline void record(const char *program, const char *argument, struct trace *trace)
{
	record_as(program, argument, &(struct trace_create_opts){ 0 }, trace);
}

static inline size_t count_of(
	const struct trace *trace, enum event_kind kind, enum event_what what, uint16_t flags)
{
	size_t count = 0;
	for (size_t i = 0; i < trace->count; i++) {
		const struct event *event = &trace->events[i];
		count += event->kind == kind && event->what == what &&
			 (event->flags & flags) == flags;
	}
	return count;
}

static inline const struct event *first_of(
	const struct trace *trace, enum event_kind kind, enum event_what what)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->events[i].kind == kind && trace->events[i].what == what)
			return &trace->events[i];
	fail_msg("no event of kind %d, %d", kind, what);
	return NULL;
}

/* The only file that was loaded at the address; its text is the path. */
static inline const struct event *module_of(const struct trace *trace, uint64_t address)
{
	const struct event *found = NULL;
	for (const struct event *e = trace->events; e < trace->events + trace->count; e++) {
		if (e->kind != EVENT_NAME || e->what != WHAT_MODULE || address < e->object ||
			address >= e->value)
			continue;
		if (found)
			fail_msg("'%s' and '%s' at one address", found->text, e->text);
		found = e;
	}
	assert_non_null(found);
	return found;
}

/* The next event of the same thread. */
static inline const struct event *after(const struct trace *trace, const struct event *event)
{
	for (const struct event *e = event + 1; e < trace->events + trace->count; e++)
		if (e->pid == event->pid && e->tid == event->tid)
			return e;
	fail_msg("the thread's last event");
	return NULL;
}

#endif
