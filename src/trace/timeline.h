/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any timeline that corecast reads: a trace file (.cct), or CSV (docs/formats/timeline.md), which
 * becomes one in memory first. Either way there is one reader.
 */
#ifndef TRACE_TIMELINE_H
#define TRACE_TIMELINE_H

#include "trace/reader.h"

/* 0; -EINVAL (neither; for CSV err names the line), -errno. */
int timeline_open(const char *path, struct trace_reader **ret, struct err *err);

#endif
