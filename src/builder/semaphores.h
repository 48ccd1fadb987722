/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Semaphores by what they are used for.
 *
 *	taken again and again, and always given back by who took it		a mutex
 *	made by a thread that alone takes it, one for each of its waits		a queue of signals (told.h)
 *	taken in vain: the time ran out						a sleep
 *	used by who made it alone, which never waits for it			nothing
 *
 * The first two are what Python's locks and conditions are made of. What a semaphore of one wait is given at first is taken off it.
 */
#ifndef BUILDER_SEMAPHORES_H
#define BUILDER_SEMAPHORES_H

#include "builder/trace.h"

/* Changes steps and objects. 0 or -ENOMEM. */
int build_semaphores_by_use(struct build_trace *trace);

#endif
