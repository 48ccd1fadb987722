/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timeline for the Perfetto viewer (ui.perfetto.dev), also for chrome://tracing: JSON in the Trace
 * Event Format, which both open. Each thread is a row with a slice for each wait, named after what
 * was waited for, one for the time in which it could run but had no core, and its regions; each
 * process has a counter of its active threads.
 */
#ifndef REPORT_PERFETTO_H
#define REPORT_PERFETTO_H

#include "trace/event_names.h"
#include "trace/reader.h"

#include <stdio.h>

/*
 * Reads what is left of the reader; `names` were collected from the same timeline before. 0, or what
 * the reader failed with; -EIO: not written; -ENOMEM.
 */
int perfetto_write(
	FILE *out, struct trace_reader *reader, const struct event_names *names, struct err *err);

#endif
