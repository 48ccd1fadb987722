/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a server was stopped, once its clients had their answers, is no part of what it does for them. What threads did after the
 * last request had ended is left out, and who waited then waits on: it is as if the process had been killed at that moment.
 */
#ifndef BUILDER_SHUTDOWN_H
#define BUILDER_SHUTDOWN_H

#include "builder/trace.h"

/* For recordings whose requests come from outside. Changes steps. */
void build_leave_out_shutdown(struct build_trace *trace);

#endif
