/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that sleep a computed time, so that something is not done more often than at a rate: rate limiters, token buckets.
 * How long each sleeps follows from how many others came, and is no property of the code.
 *
 *	lock unlock sleep			each gets a turn, and sleeps until it comes
 *	lock unlock (sleep lock unlock)...	each looks, and sleeps, until there is a token
 *
 * A token comes each T while there are fewer than B. It is believed of a section and the sleeps behind it, LIMITED_LEAST or more, if with one T
 * and one B MEANING_EXPLAINED of all do not go on before there is a token, and three quarters of those that slept do within a quarter of
 * T of when it comes, either way (later: nobody let them run), and if sleeps differ by more than their ends are off: who always sleeps
 * as long needs no such explanation.
 *
 * It becomes a semaphore of B tokens, and a thread that gives each back T after it was taken, one after the other:
 *
 *	worker		lock unlock acquire(tokens) put(taken)
 *	limiter		get(taken) sleep(T, paced) post(tokens)
 */
#ifndef BUILDER_LIMITERS_H
#define BUILDER_LIMITERS_H

#include "builder/trace.h"

enum { LIMITED_LEAST = 50, LIMITERS_MAX = 8 };

struct build_limiter {
	uint32_t thread; /* index of the one that stands for it */
	uint32_t lock; /* index of the object */
	double interval_s; /* T */
};

struct build_limiters {
	struct build_limiter items[LIMITERS_MAX];
	size_t count;
};

/*
 * Changes steps, and adds a thread and two objects for each. 0 or -ENOMEM.
 */
int build_limiters_find(struct build_trace *trace, struct build_limiters *ret);

#endif
