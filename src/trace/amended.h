/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timeline as those need it who make something of what threads did (the replay, models): conditions with a mutex of their own are
 * ordinary ones (any_cond.h), sections that a recorder's budget left out are put back (left_out.h), and loops of sched_yield() work.
 *
 *	AUTO_RELEASE(amended) struct amended run = { .path = path };
 *	int code = amended_look(&run, err);
 *	code = amended_replay(&run, &sink, err);
 *	... and again, any number of times
 */
#ifndef TRACE_AMENDED_H
#define TRACE_AMENDED_H

#include "trace/left_out.h"
#include "trace/reader.h"

#include <stdbool.h>

struct amended {
	const char *path; /* borrowed */
	struct left_out left_out; /* what is known of sections that were not recorded */
	struct trace_quality quality; /* what the file says of itself */
	bool is_known; /* that is all of it */
};

void amended_release(struct amended *run);

/* Reads the file once, unless that is done: what is known of it. 0, what timeline_open() and trace_reader_replay() return. */
int amended_look(struct amended *run, struct err *err);

/* All events into the sink, then finish(); looks before, if nobody did. As amended_look(). */
int amended_replay(struct amended *run, const struct event_sink *sink, struct err *err);

#endif
