/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/periodic.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static void *run(void *context)
{
	struct periodic *periodic = context;
	const struct timespec pause = { .tv_nsec = (long)periodic->pause_ms * 1000000 };
	while (periodic->status == 0 && !__atomic_load_n(&periodic->is_over, __ATOMIC_ACQUIRE)) {
		periodic->status = periodic->step(periodic->context);
		(void)nanosleep(&pause, NULL); /* shorter is no harm */
	}
	return NULL;
}

int periodic_start(struct periodic *periodic, int (*step)(void *context), void *context,
	unsigned pause_ms, struct err *err)
{
	sigset_t all, before;
	*periodic = (struct periodic){ .step = step, .context = context, .pause_ms = pause_ms };
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
	__atomic_store_n(&periodic->is_over, true, __ATOMIC_RELEASE);
	(void)pthread_join(periodic->thread, NULL); /* it was started, and is not joined twice */
	periodic->has_thread = false;
	return periodic->status;
}
