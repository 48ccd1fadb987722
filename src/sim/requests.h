/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that are open: a hash table with linear probing. Numbers grow by one, so the number itself
 * is a hash without collisions while the oldest open request is not much older than the newest.
 */
#ifndef SIM_REQUESTS_H
#define SIM_REQUESTS_H

#include "sim/engine.h"

/* number > 0, not there yet. 0 or -ENOMEM. */
int requests_add(struct sim *sim, const struct request *request);

/* Takes a request out. False: it is not there. */
bool requests_take(struct sim *sim, uint64_t number, struct request *ret);

#endif
