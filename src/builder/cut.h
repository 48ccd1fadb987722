/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that the end of their process cut off, wherever they were: what they held is given back, so that nobody in the model waits
 * for it for ever.
 */
#ifndef BUILDER_CUT_H
#define BUILDER_CUT_H

#include "builder/trace.h"

/* 0 or -ENOMEM. */
int build_give_back_cut(struct build_trace *trace);

#endif
