/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions with a mutex of their own. C++'s condition_variable_any lets threads wait with any lock: inside, it has a
 * condition and a mutex for that, and gives back the user's lock while it has its own.
 *
 *	recorded		passed on
 *	pass    user		pass    user
 *	pass    own		-
 *	release user		release user, implicit
 *	release own, implicit	-
 *	wait    cond, own	wait    cond, user
 *	pass    cond		pass    cond
 *	pass    own, implicit	-
 *	release own		-
 *	pass    user		pass    user, implicit
 *
 * So what follows sees one wait in one critical section. That a mutex is a condition's own is known when a thread has waited
 * so for the first time; that wait is passed on as it is.
 *
 *	AUTO_RELEASE(any_cond) struct any_cond any = { .next = &sink };
 *	struct event_sink first = any_cond_sink(&any);
 */
#ifndef TRACE_ANY_COND_H
#define TRACE_ANY_COND_H

#include "base/cleanup.h"
#include "base/map.h"
#include "trace/sink.h"

#include <stddef.h>

struct any_cond_thread;

struct any_cond {
	const struct event_sink *next; /* borrowed */
	struct map own; /* process, address of a mutex -> 1 */
	struct map index; /* process, thread -> index */
	struct any_cond_thread *threads;
	size_t count, capacity;
};

void any_cond_release(struct any_cond *any);

/* Borrows it. event(): -ENOMEM, or what the next one returns. */
struct event_sink any_cond_sink(struct any_cond *any);

#endif
