/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrivals at barriers that threads broke off to run a task, and then came to again: what they did was not to meet the
 * others. At a barrier where others were let go by somebody, they were let go by nobody. Where nobody ever was let go by anybody, though the process's
 * barriers tell, threads waited for tasks of their own, of which no event tells: what they and others did of these is a part of their work.
 */
#ifndef BUILDER_TASKS_H
#define BUILDER_TASKS_H

#include "builder/trace.h"

/* Leaves them out. 0 or -ENOMEM. */
int build_leave_out_broken_arrivals(struct build_trace *trace);

#endif
