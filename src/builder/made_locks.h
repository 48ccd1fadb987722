/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks that a program makes of a mutex and conditions: for readers and writers, or for one thread at a time.
 *
 *	enter	lock, while (taken) wait, taken++, unlock		leave	lock, taken--, signal, unlock
 *
 * Sections of the mutex that wait at times enter, those that only signal leave, and each thread does the one after the other. Between the two it holds the lock.
 * Who holds alone whenever he does (99 of 100 times) writes; if nobody does, it is no lock. That nine of ten sections that
 * waited came while somebody held it who kept them out, or while a writer waited, shows that this is what they waited for.
 */
#ifndef BUILDER_MADE_LOCKS_H
#define BUILDER_MADE_LOCKS_H

#include "builder/trace.h"
#include "meaning/meaning.h"

/* Of mutexes whose conditions all have no meaning: changes steps, adds objects. Before the conditions become signals. 0 or -ENOMEM. */
int build_made_locks_find(struct build_trace *trace, const struct meaning *meaning);

#endif
