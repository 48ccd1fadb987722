/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timeline as CSV (docs/formats/timeline.md), one row for each event. csv_read.h reads the same
 * events from it.
 */
#ifndef TRACE_CSV_WRITE_H
#define TRACE_CSV_WRITE_H

#include "preload/trace_record.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stdio.h>

struct timeline_csv {
	FILE *out; /* borrowed; its errors are the caller's to look at (ferror) */
	struct trace_wakes wakes;
	struct trace_others others;
	struct trace_own own;
	uint32_t cores, cores_online; /* of the recorded machine; 0: unknown */
	bool has_begun;
};

/* A sink that writes to csv->out; csv must outlive it. */
struct event_sink timeline_csv_sink(struct timeline_csv *csv);

#endif
