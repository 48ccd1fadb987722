/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Our side of what a tuned program shares with corecast: preload/tune_page.h. */
#ifndef STEER_TUNE_SHARE_H
#define STEER_TUNE_SHARE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tune_page; /* preload/tune_page.h */
struct tune_share; /* opaque */

/*
 * A page in a temporary file, which is removed in the end. library: PRELOAD_TUNES, or PRELOAD_RECORDS for a program that is
 * recorded as well (collect/sync_stalls.h). 0, -ENOENT (no preload library), -errno, -ENOMEM.
 */
int tune_share_new(const char *library, struct tune_share **ret, struct err *err);

/* NULL of NULL. */
struct tune_page *tune_share_page(struct tune_share *share);

/* The page's file, borrowed. */
const char *tune_share_path(const struct tune_share *share);

/* "NAME=value" for the program's environment, borrowed; how many. Room for SYNC_ENV_ASSIGNMENTS is needed. */
size_t tune_share_environment(const struct tune_share *share, const char **ret);

/* Before the program starts: what OMP_NUM_THREADS tells it. */
void tune_share_tell(struct tune_share *share, uint32_t threads);

/* A parallel region can have another number of threads, or there is a pool. */
bool tune_share_is_tunable(const struct tune_share *share);

/* It may have arrays for as many threads as OMP_NUM_THREADS told it: no region gets more. */
bool tune_share_is_bounded(const struct tune_share *share);

/* Most parallel regions so far need as many threads as they would have had (preload/tuned.h). */
bool tune_share_is_kept(const struct tune_share *share);

void tune_share_free(struct tune_share *share);

CLEANUP_DEFINE(tune_share, tune_share_free)

#endif
