/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a trace file, raw or closed, as one stream of events in order of time. Memory grows with
 * the threads that live at the same time, not with events. Events of the same instant come in the
 * order of thread numbers, then lanes, so the same file always gives the same stream.
 *
 *	AUTO(trace_reader) struct trace_reader *reader = NULL;
 *	int code = trace_reader_open(path, &reader, err);
 *	if (code == 0)
 *		code = trace_reader_replay(reader, &sink, err);
 *
 * What cannot be read is skipped, told by EVENT_LOST where it was, and counted.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "base/cleanup.h"
#include "preload/trace_record.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_reader;

/* What the stream is worth; counts are complete when it has been read to its end. */
struct trace_quality {
	uint64_t events; /* of the stream, those that the reader adds included */
	uint64_t lost; /* not recorded (a limit, a full disk), or not readable */
	uint64_t torn_chunks; /* damaged or cut parts of the file */
	uint64_t threads;
	uint64_t processes;
	uint64_t start_ns, end_ns; /* of the recording; end_ns: last event if the run was killed */
	uint64_t start_unix_ns; /* CLOCK_REALTIME at start_ns; 0: unknown */
	uint32_t sources; /* enum trace_source of preload/trace_record.h, several together */
	/*
	 * Cores that the recorded program could use, rounded down (affinity, cpuset, quota of its
	 * recorder when recording began), and that the machine had; 0: unknown.
	 */
	uint32_t cores, cores_online;
	struct trace_wakes wakes; /* measured when recording began */
	struct trace_others others; /* while it was recorded */
	struct trace_own own;
	/* Mutexes taken without waiting that are in the stream, and that a budget left out of it. */
	uint64_t free_locks, left_out;
	bool is_closed; /* compressed: the run was closed in order */
	bool is_ended; /* the recorder saw the end of the run */
	bool is_full; /* the limit or the end of the disk was reached */
};

/* 0; -EINVAL (not a trace, damaged header, another version), -ESPIPE (a pipe), -errno. */
int trace_reader_open(const char *path, struct trace_reader **ret, struct err *err);

/* As above from a descriptor, which is taken over (also on failure); `name` is for messages. */
int trace_reader_open_fd(int fd, const char *name, struct trace_reader **ret, struct err *err);

/* As above from a file's bytes, which are copied. */
int trace_reader_open_bytes(const void *bytes, size_t count, const char *name,
	struct trace_reader **ret, struct err *err);
void trace_reader_free(struct trace_reader *reader);

/* 1: *ret is the next event, its text lives until the next call; 0: the end; -EIO, -ENOMEM, -EBADMSG (damage left nothing). */
int trace_reader_next(struct trace_reader *reader, struct event *ret, struct err *err);

/* All events that are left into the sink, then finish(). 0, or the first failure of either; err names the file. */
int trace_reader_replay(
	struct trace_reader *reader, const struct event_sink *sink, struct err *err);

/*
 * Share of the mutexes taken without waiting that the stream tells of: 1 unless the recorder had a budget
 * and needed it. Below 1 the critical sections that nobody waited for are a sample, in bursts, and
 * what is left out is part of its thread's time between events; waits are complete.
 */
double trace_free_share(const struct trace_quality *quality);

/* What is known so far: all of it once the reader has come to the end. Borrowed. */
const struct trace_quality *trace_reader_quality(const struct trace_reader *reader);

CLEANUP_DEFINE(trace_reader, trace_reader_free)

#endif
