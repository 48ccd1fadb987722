/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timeline as JSON for programs (docs/formats/timeline.md). */
#ifndef REPORT_TIMELINE_JSON_H
#define REPORT_TIMELINE_JSON_H

#include "trace/reader.h"

#include <stdio.h>

/* Reads what is left of the reader. 0, or what the reader failed with; -EIO: not written. */
int timeline_json_write(FILE *out, struct trace_reader *reader, struct err *err);

/* The text as a JSON string, cleaned, with its quotes. -ENOMEM. */
int timeline_json_text(FILE *out, const char *text, struct err *err);

#endif
