/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Servers in which one thread waits for input over all connections, and hands those that have some to others by a queue, which read
 * the request and answer it (Apache's event loop, many pools): the request comes when it is put into the queue, not when it is read.
 *
 *	poll ... put q ...			poll ... begin a, put q ...
 *			get q, begin a ... end a			get q ... end a
 *
 * Which put a get is of follows from their order. Only where all who put wait for input and begin nothing themselves, and nineteen of twenty
 * requests of a thread come behind such a get.
 */
#ifndef BUILDER_HANDED_H
#define BUILDER_HANDED_H

#include "builder/trace.h"

/* Changes steps. 0 or -ENOMEM. */
int build_handed_find(struct build_trace *trace);

#endif
