/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The waits of threads for one another as a part of a measurement: prepared and read run by run. */
#ifndef COLLECT_SYNC_WATCH_H
#define COLLECT_SYNC_WATCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/sync_stalls.h"

struct sync_watch {
	char *program; /* its file */
	char *path; /* of the record */
	struct sync_env env; /* what the next run's environment needs on top */
	char *names[SYNC_STALLS_CATEGORIES]; /* "sync_lock", ... */
	double values[SYNC_STALLS_CATEGORIES]; /* of the last run, seconds summed over threads */
	uint64_t unfinished_waits; /* over all runs so far: of threads killed while they waited */
};

/*
 * Checks that the program can be watched at all. 0, or an error of sync_stalls_prepare() with what
 * to do. Free *ret with sync_watch_free().
 */
int sync_watch_new(const char *program, struct sync_watch **ret, struct err *err);
void sync_watch_free(struct sync_watch *watch);

/* Before each run: an empty record, and `env`. 0 or a negative errno. */
int sync_watch_prepare(struct sync_watch *watch, struct err *err);

/* After a run: `values`. 0; -ENODATA: the program never loaded the library; a negative errno. */
int sync_watch_read(struct sync_watch *watch, struct err *err);

CLEANUP_DEFINE(sync_watch, sync_watch_free)

#endif
