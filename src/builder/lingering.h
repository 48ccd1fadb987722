/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Servers that accept connections in one thread, hand each to others by a queue, and hand it on once more after its request has ended, to wait
 * until who asked has closed it (lingering close, as Apache does):
 *
 *	accept, begin a, put q ... put q
 *			get q ... end a ... get q
 *
 * In a model an item without a request could meet the way of those with one, and requests would be lost. Here who gets one does the
 * same without it, after the request before.
 */
#ifndef BUILDER_LINGERING_H
#define BUILDER_LINGERING_H

#include "builder/trace.h"

/*
 * Changes steps. A queue stays as it is if not as many are put there without a request as are got, or if those who get from it put there, too (a
 * lock of the program's own making). 0 or -ENOMEM.
 */
int build_lingering_leave_out(struct build_trace *trace);

#endif
