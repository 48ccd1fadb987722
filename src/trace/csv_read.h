/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timeline from CSV (docs/formats/timeline.md), as csv_write.h writes it or as a person does:
 *
 *	time_ns,tid,event,what,object
 *	0,main,start
 *	0,worker,start
 *	100,worker,pass,mutex,cache
 *	150,main,wait,mutex,cache
 *	400,worker,release,mutex,cache
 *	400,main,pass,mutex,cache
 *
 * Threads and objects may have names instead of numbers, which then come as EVENT_NAME.
 */
#ifndef TRACE_CSV_READ_H
#define TRACE_CSV_READ_H

#include "preload/trace_record.h"
#include "trace/sink.h"

#include <stdio.h>

/* What comments tell of the whole recording; 0: they do not. */
struct timeline_csv_notes {
	uint64_t end_ns;
	struct trace_wakes wakes;
	struct trace_others others;
	struct trace_own own;
	uint32_t cores, cores_online; /* of the recorded machine, as struct trace_quality tells */
};

/*
 * Gives the rows to the sink, then finishes it. `name` is what messages call the file; *ret_notes,
 * which may be NULL, is complete when the sink is finished. 0, -EINVAL (err names the line), -EIO,
 * -ENOMEM, or what the sink returned.
 */
int timeline_csv_read(FILE *in, const char *name, const struct event_sink *sink,
	struct timeline_csv_notes *ret_notes, struct err *err);

#endif
