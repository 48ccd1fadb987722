/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live account without the kernel's help: the preload library tells which threads of a program wait
 * (preload/live_page.h), and the account of bpf/watch.h is kept here, in the same figures. Needs no privilege; a
 * program that we start, linked dynamically; what it does not do through the C library is not seen, and who spins
 * looks active.
 *
 *	preload_watch_new(&watch, err)
 *	... start the program with preload_watch_environment()
 *	preload_watch_read(watch, &snapshot, err), now and then
 *
 * Between two readings each thread may change 508 times, and 2048 threads may live; more are counted in `losses`.
 */
#ifndef RECORD_PRELOAD_WATCH_H
#define RECORD_PRELOAD_WATCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "record/bpf_watch.h"

struct preload_watch; /* opaque */

/* 0; -ENOENT (no preload library), -errno of a temporary file, -ENOMEM. */
int preload_watch_new(struct preload_watch **ret, struct err *err);
void preload_watch_free(struct preload_watch *watch);
CLEANUP_DEFINE(preload_watch, preload_watch_free)

/* The shared file, borrowed. */
const char *preload_watch_path(const struct preload_watch *watch);

/* "NAME=value" for the program's environment, borrowed; how many. Room for SYNC_ENV_ASSIGNMENTS is needed. */
size_t preload_watch_environment(const struct preload_watch *watch, const char **ret);

/* As bpf_watch_read() and bpf_watch_glance(). Only -ENOMEM. */
int preload_watch_read(struct preload_watch *watch, struct bpf_snapshot *snapshot, struct err *err);
int preload_watch_glance(
	struct preload_watch *watch, uint32_t tid, struct bpf_glance *ret, struct err *err);

/* Whether any thread was there so far, also between two readings. */
bool preload_watch_has_seen(const struct preload_watch *watch);

#endif
