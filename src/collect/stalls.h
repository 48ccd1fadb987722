/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All stall categories of a measurement, whatever counts them: which columns there are, in which
 * unit, and their values after each run.
 *
 * Categories are summed in a forecast, so they must share one unit. When some come in cycles and
 * some in seconds, the seconds are turned into cycles of the processor's highest clock.
 */
#ifndef COLLECT_STALLS_H
#define COLLECT_STALLS_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/capture.h"
#include "collect/launch.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Cycles that nobody counts in a run, but somebody knows for a thread count. */
struct stalls_model {
	const char *const *names; /* of the columns */
	size_t count;
	/* Fills as many. 0, or a negative errno with the reason; -ECANCELED: somebody wants no more runs. */
	int (*values)(void *context, uint32_t threads, double *ret, struct err *err);
	void *context;
};

struct stalls_opts {
	const char *const *plugin_paths;
	size_t plugin_count;
	bool counts_hardware; /* where this machine can; else a caveat says why not */
	const char
		*sync_program; /* the program's file: its waits are watched; NULL: they are not */
	const struct stalls_model *model; /* borrowed; NULL: none */
	const struct machine_cpu *cpu;
};

struct stalls; /* opaque */

/* 0; -EINVAL (a plugin that is wrong, two categories of one name, units that cannot be brought
   together), ... */
int stalls_new(const struct stalls_opts *opts, struct stalls **ret, struct err *err);
void stalls_free(struct stalls *stalls);

/* Columns, in the order of the values; borrowed. */
const char *const *stalls_names(const struct stalls *stalls, size_t *ret_count);

/* "cycles" or "seconds"; "" without columns. */
const char *stalls_unit(const struct stalls *stalls);

enum { STALLS_CAVEATS = 4 };

/*
 * What the figures are worth or why some are missing: a sentence, or "" if there is nothing to say
 * (yet). `index` below STALLS_CAVEATS; each is about one thing. Borrowed.
 */
const char *stalls_caveat(const struct stalls *stalls, size_t index);

/* The waits that are watched, NULL if none are; the event behind a column, NULL if it is none. */
struct sync_watch;
const struct sync_watch *stalls_sync(const struct stalls *stalls);
struct event_spec;
const struct event_spec *stalls_event(const struct stalls *stalls, const char *name);

/* Whether a stream of the program must be kept whole. */
bool stalls_read_stream(const struct stalls *stalls, enum capture_stream stream);

/*
 * Before each run: adds to the launch what the sources need, one hook and two variables at most,
 * borrowed until the next. 0 or a negative errno.
 */
int stalls_prepare(struct stalls *stalls, struct launch_opts *launch, struct err *err);

/*
 * Values of the run at `threads` that began at `start` (CLOCK_REALTIME), borrowed until the next;
 * NAN where a category had nothing to say. 0, or a negative errno with what could not be read.
 */
int stalls_read(struct stalls *stalls, const struct capture *capture, uint32_t threads,
	struct timespec start, double **ret, struct err *err);

CLEANUP_DEFINE(stalls, stalls_free)

#endif
