/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One program, run at a thread count with everything that watches it attached; what they saw
 * becomes one record.
 */
#ifndef COLLECT_MEASUREMENT_H
#define COLLECT_MEASUREMENT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "collect/journal.h"
#include "collect/launch.h"
#include "collect/stalls.h"

struct measurement_opts {
	char *const *program; /* the words after "--", with {n} */
	const char *count_variable; /* environment variable set to the thread count */
	const char *throughput_regex; /* NULL: time is the metric */
	double timeout_s; /* 0: none */
	int cancel_fd; /* see launch.h; -1: none */
	bool is_pinned; /* see pin.h */
	bool discards_stdout; /* for programs that write much there; it can then not be read */
	bool watches_sync; /* the time that threads wait for one another: stalls.h */
	struct stalls_opts stalls; /* sync_program is set by watches_sync */
};

struct measurement; /* opaque */

/*
 * Finds the program and prepares what watches it; nothing runs yet. 0, -ENOENT (no such program),
 * -EINVAL (expression), ... `opts` and what it points at must live as long.
 */
int measurement_new(const struct measurement_opts *opts, struct measurement **ret, struct err *err);
void measurement_free(struct measurement *m);

/* The stall columns, in the order of record.stalls: borrowed. */
const struct stalls *measurement_stalls(const struct measurement *m);

enum { MEASUREMENT_CAVEATS = STALLS_CAVEATS + 2 };

/*
 * What the figures are worth: a sentence, or "" if there is nothing to say (yet). `index` below
 * MEASUREMENT_CAVEATS; each is about one thing. Borrowed.
 */
const char *measurement_caveat(const struct measurement *m, size_t index);

enum measured {
	MEASURED, /* the record is complete */
	MEASURED_FAILURE, /* the program failed; err says how; measurement_tail() has its output */
	MEASURED_CANCELLED,
};

/*
 * Runs the program once. Returns an `enum measured` or a negative errno (we failed: the next run
 * would too). record->stalls is borrowed until the next run.
 */
int measurement_run(struct measurement *m, uint32_t threads, uint32_t repeat,
	struct record *ret_record, struct launch_result *ret_launch, struct err *err);

/*
 * Runs the program once without making a record. `extra` and `ret` may be NULL. Returns as
 * measurement_run().
 */
int measurement_launch(struct measurement *m, uint32_t threads, const struct launch_hooks *extra,
	struct launch_result *ret, struct err *err);

/* Adds the last lines that the program printed. */
void measurement_tail(const struct measurement *m, struct strbuf *out);

CLEANUP_DEFINE(measurement, measurement_free)

#endif
