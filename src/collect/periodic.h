/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread of ours that does something again and again until it is stopped; signals do not reach it. */
#ifndef COLLECT_PERIODIC_H
#define COLLECT_PERIODIC_H

#include "base/err.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* { 0 } does nothing. Not to be moved while it runs. */
struct periodic {
	int (*step)(void *context); /* a negative errno ends it */
	void *context;
	unsigned pause_ms;
	pthread_t thread;
	bool has_thread;
	sem_t over; /* posted: it shall end */
	int status; /* the last step's; after the stop */
};

/* 0 or -errno. */
int periodic_start(struct periodic *periodic, int (*step)(void *context), void *context,
	unsigned pause_ms, struct err *err);

/* Waits for the step that is under way, for no pause; what that returned. Also when nothing was started. */
int periodic_stop(struct periodic *periodic);

#endif
