/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a trace file from outside the observed program: recorders in the kernel, the simulator,
 * imports. Like the recorder inside a program it fills the chunks of a raw file through memory
 * maps, so being killed costs nothing; finishing closes that file.
 *
 *	AUTO(trace_writer) struct trace_writer *writer = NULL;
 *	int code = trace_writer_new(path, &opts, &writer, err);
 *	struct event_sink sink = trace_writer_sink(writer);
 *	... sink_event(&sink, &event, err) ... sink_finish(&sink, end_ns, err)
 *
 * When the disk or bytes_max is reached recording ends, which is no failure: events are counted as
 * lost from then on, and trace_writer_is_full() tells. What is no recording can be made again: finishing it fails then.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include "base/cleanup.h"
#include "trace/close.h"
#include "trace/create.h"
#include "trace/sink.h"

#include <stdbool.h>

struct trace_writer_opts {
	struct trace_create_opts create;
	/*
	 * The raw file stands at the path itself from the beginning, so that who kills the writer
	 * finds it there. Otherwise nothing is at the path before the finish, nor after a failure.
	 */
	bool is_recording;
};

struct trace_writer;

/* 0 or -errno. */
int trace_writer_new(const char *path, const struct trace_writer_opts *opts,
	struct trace_writer **ret, struct err *err);

/*
 * Into an empty file that is open, and taken over, also on failure; `name` is for messages. It is
 * not closed into another form at the finish: it stays raw.
 */
int trace_writer_new_fd(int fd, const char *name, const struct trace_create_opts *opts,
	struct trace_writer **ret, struct err *err);

/*
 * Into the file at `path` that others record into, and will close: this one's finish() only ends its
 * own part. source: enum trace_source, added to those of the file. is_beside: the same threads are
 * told of by another recorder, which readers join with what is written here.
 * 0; -EINVAL (not such a file), -errno.
 */
int trace_writer_join(const char *path, uint32_t source, bool is_beside, struct trace_writer **ret,
	struct err *err);

/* Not finished: the file of a recording stays as it is, any other is removed. */
void trace_writer_free(struct trace_writer *writer);

/*
 * A sink for the writer, which must outlive it. Events come in order of time at least for each
 * thread; those for which event_is_aside() that come late are kept with the time of the one before. event(): 0, -EINVAL (an event that the file cannot hold, or out of order: err says
 * which), -ENOMEM. finish(): as trace_close(); -ENOSPC: not a recording, and events were lost for want of room. If the closed form has no room on the disk, the raw file
 * is kept at the path instead: that is success.
 */
struct event_sink trace_writer_sink(struct trace_writer *writer);

/* Of the recorded machine, if known only now; before the finish. */
void trace_writer_set_cores(struct trace_writer *writer, uint32_t cores, uint32_t cores_online);
void trace_writer_set_wakes(struct trace_writer *writer, const struct trace_wakes *wakes);
void trace_writer_set_others(struct trace_writer *writer, const struct trace_others *others);
void trace_writer_set_own(struct trace_writer *writer, const struct trace_own *own);

/* The limit or the end of the disk was reached: what comes is lost. */
bool trace_writer_is_full(const struct trace_writer *writer);

/* Events not recorded so far. */
uint64_t trace_writer_lost(const struct trace_writer *writer);

/* After the finish; zero if the raw file was kept. */
const struct trace_closed *trace_writer_closed(const struct trace_writer *writer);

CLEANUP_DEFINE(trace_writer, trace_writer_free)

#endif
