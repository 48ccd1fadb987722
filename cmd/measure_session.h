/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One `corecast measure`: from checked options to a file of rows, and what is said meanwhile. */
#ifndef CMD_MEASURE_SESSION_H
#define CMD_MEASURE_SESSION_H

#include "base/err.h"
#include "collect/journal.h"
#include "machine/machine.h"
#include "collect/measurement.h"
#include "collect/schedule.h"
#include "measure_summary.h"

#include <stdbool.h>
#include <stdint.h>

struct session_opts {
	const uint32_t *counts; /* ascending */
	size_t count_count;
	uint32_t repeats;
	uint64_t seed;
	bool warms_up;
	enum journal_mode mode;
	const char *settings; /* see journal.h */
	const struct machine *machine;
	const char *where; /* the stall category whose code is wanted; NULL: none */
};

struct session {
	const struct session_opts *opts;
	struct measurement *measurement;
	struct journal journal;
	struct schedule schedule;
	struct summary summary;
	bool shows_progress;
	bool has_said[MEASUREMENT_CAVEATS];
};

void session_release(struct session *session);

/*
 * Prepares everything, so that what is wrong shows before anything runs. The summary's texts are
 * set by the caller. 0 or a negative errno.
 */
int session_open(struct session *session, const struct session_opts *opts,
	const struct measurement_opts *measurement, struct err *err);

/*
 * Makes all runs, and the one that looks for the code behind a stall category at the highest count,
 * which goes into the summary. MEASURED (some may have failed), MEASURED_CANCELLED, or a negative errno.
 */
int session_run(struct session *session, struct err *err);

#endif
