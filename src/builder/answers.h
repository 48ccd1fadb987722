/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that read what has come over several connections before they answer any of it (Redis, HAProxy), without a wait in between:
 *
 *	begin a, begin b, begin c, end a, end b, end c	->	begin a, end a, begin b, end b, begin c, end c
 *
 * Their requests are answered one by one, as if each were over before the next begins: all work stays, and only which of
 * them wait for the others' answers is another.
 */
#ifndef BUILDER_ANSWERS_H
#define BUILDER_ANSWERS_H

#include "builder/trace.h"

/* 0 or -ENOMEM. */
int build_answers_order(struct build_thread *thread);

#endif
