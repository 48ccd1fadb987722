/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that ask others for something and wait for the answer, each at a semaphore, condition or futex of its own, which may be
 * another one for each question:
 *
 *	client: put jobs, get done (its own)		server: get jobs, put done (of the client whose job it was)
 *
 * All those become one queue of replies, of which each client has an instance (model.h), so that there can be any number of clients.
 */
#ifndef BUILDER_REPLIES_H
#define BUILDER_REPLIES_H

#include "builder/trace.h"

/* Changes steps and objects. 0 or -ENOMEM. */
int build_replies_find(struct build_trace *trace);

#endif
