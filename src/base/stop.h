/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Being asked to stop, as something that one can wait for beside other things. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include "base/err.h"

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in this thread, and returns a descriptor that becomes readable
 * with them (signalfd(2), O_CLOEXEC), or a negative errno.
 */
int stop_open(struct err *err);

#endif
