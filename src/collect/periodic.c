/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/periodic.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* Until then; true: it shall end, and at once. */
static bool is_over(struct periodic *periodic)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
	until.tv_sec += periodic->pause_ms / 1000;
	until.tv_nsec += (long)(periodic->pause_ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return sem_clockwait(&periodic->over, CLOCK_MONOTONIC, &until) == 0;
}

static void *run(void *context)
{
	struct periodic *periodic = context;
	do
		periodic->status = periodic->step(periodic->context);
	while (periodic->status == 0 && !is_over(periodic));
	return NULL;
}

int periodic_start(struct periodic *periodic, int (*step)(void *context), void *context,
	unsigned pause_ms, struct err *err)
{
	sigset_t all, before;
	*periodic = (struct periodic){ .step = step, .context = context, .pause_ms = pause_ms };
	(void)sem_init(&periodic->over, 0, 0); /* 0 is no value that it refuses */
	/* Signals are for the thread that waits for the program. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail */
	int code = -pthread_create(&periodic->thread, NULL, run, periodic);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail */
	if (code < 0)
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	periodic->has_thread = true;
	return 0;
}

int periodic_stop(struct periodic *periodic)
{
	if (!periodic->has_thread)
		return periodic->status;
	(void)sem_post(&periodic->over); /* once: it does not overflow */
	(void)pthread_join(periodic->thread, NULL); /* it was started, and is not joined twice */
	(void)sem_destroy(&periodic->over); /* nobody waits */
	periodic->has_thread = false;
	return periodic->status;
}
