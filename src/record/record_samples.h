/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples of the running threads beside either recorder: a thread of ours writes them into the trace
 * file that the recorder makes, while it records.
 */
#ifndef RECORD_RECORD_SAMPLES_H
#define RECORD_RECORD_SAMPLES_H

#include "base/cleanup.h"
#include "record/recorder.h"

struct record_samples; /* opaque */

/*
 * opts->path is a trace that is being recorded; pid: the program, before its exec if it is being
 * started. NULL in *ret, with the reason in ret_result->no_samples, where there are none: not asked
 * for, or not possible and not insisted on. 0 or -errno.
 */
int record_samples_start(const struct record_opts *opts, pid_t pid, struct record_samples **ret,
	struct record_result *ret_result, struct err *err);

/* Takes the last ones, and counts all into the result. Once; before the file is closed. NULL is none. */
void record_samples_stop(struct record_samples *samples, struct record_result *ret);

/* Also without a stop. */
void record_samples_free(struct record_samples *samples);
CLEANUP_DEFINE(record_samples, record_samples_free)

#endif
