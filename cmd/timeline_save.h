/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulated timeline as a file: what `whatif` and `predict` share. */
#ifndef CMD_TIMELINE_SAVE_H
#define CMD_TIMELINE_SAVE_H

#include "base/err.h"
#include "trace/sink.h"

/* What `play` gives to the sink, as CSV if the name ends in .csv (or is -), else as a trace file. 0, or a negative errno: then there is no file. */
int timeline_save(const char *path,
	int (*play)(void *context, const struct event_sink *sink, struct err *err), void *context,
	struct err *err);

#endif
