/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where events go. A source calls event() for each, in order of time, and finish() once at the end;
 * sinks can be chained. event() returns 0 or a negative errno, which ends the source.
 */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include "base/err.h"
#include "trace/event.h"

struct event_sink {
	void *context;
	int (*event)(void *context, const struct event *event, struct err *err);
	/* end_ns: when recording ended; threads that have not exited live until then. */
	int (*finish)(void *context, uint64_t end_ns, struct err *err); /* may be NULL */
};

static inline int sink_event(
	const struct event_sink *sink, const struct event *event, struct err *err)
{
	return sink->event(sink->context, event, err);
}

static inline int sink_finish(const struct event_sink *sink, uint64_t end_ns, struct err *err)
{
	return sink->finish ? sink->finish(sink->context, end_ns, err) : 0;
}

#endif
