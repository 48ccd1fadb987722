/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whatever becomes of us, what we changed in a running program is put back.
 *
 *	we  ----- pipe ----->  watchdog		ends with us: then it reverts what the file still holds
 *	     \                 /
 *	      file of changes			each is written here before it is made
 *
 * The file's name is the process's number and the time when it started, in a folder that outlives us; both of
 * us lock it, so that one at a time changes a process. When both were killed, whoever comes next finds a file
 * that nobody has locked, reverts it and removes it. What of the machine is changed is lost with a reboot, like the folder.
 */
#ifndef STEER_UNDO_H
#define STEER_UNDO_H

#include "base/cleanup.h"
#include "base/err.h"
#include "steer/alteration.h"

#include <stddef.h>

enum { UNDO_CHANGES_MAX = 512 };

struct undo; /* opaque */

/*
 * Before the first change to a process: reverts what others left behind, takes the lock, starts the watchdog.
 * `folder` NULL: $XDG_RUNTIME_DIR/corecast, else /run/corecast (root) or /tmp/corecast-UID. Call it while the
 * process has one thread. 0; -EBUSY: somebody changes this process already; -ESRCH: there is none; -errno.
 */
int undo_open(const char *folder, pid_t pid, struct undo **ret, struct err *err);

/*
 * Writes a change down, then makes it. Its number (0 or more) for undo_revert(); -ENOSPC: too many at a time;
 * what alteration_make() says.
 */
int undo_make(struct undo *undo, const struct alteration *alteration);
void undo_revert(struct undo *undo, int change);

/* Reverts all that is left, last first; ends the watchdog. Accepts NULL. */
void undo_close(struct undo *undo);
CLEANUP_DEFINE(undo, undo_close)

#endif
