/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One more run of a measured program, to find the code behind a stall category: "cpu" (processor
 * time), a hardware event that is measured, or waits ("sync_lock", ..., "sync" for all) if they are
 * watched.
 */
#ifndef COLLECT_WHERE_RUN_H
#define COLLECT_WHERE_RUN_H

#include "collect/measurement.h"
#include "collect/where.h"

/* Whether the category can be asked for. 0, or -EINVAL and what can. */
int where_run_check(const struct measurement *m, const char *category, struct err *err);

/*
 * Runs the program at `threads`. An `enum measured` (as measurement_run()), or a negative errno.
 * The caller frees *ret, which is set when it is MEASURED.
 */
int where_run(struct measurement *m, const char *category, uint32_t threads, struct where **ret,
	struct err *err);

#endif
