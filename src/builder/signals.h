/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for a signal that the program sends itself: a thread that waits for one, and ends then, while another one joins it that
 * came just before (it sent the signal, which is not recorded). Whatever else changes, it does not have to be waited for.
 */
#ifndef BUILDER_SIGNALS_H
#define BUILDER_SIGNALS_H

#include "builder/trace.h"

/* Leaves such waits out. */
void build_leave_out_own_signals(struct build_trace *trace);

#endif
