/* SPDX-License-Identifier: MIT */
/* Giving up the core for others: who does so again and again waits for them, and loses its core meanwhile where there are more threads. */
#include "real.h"
#include "trace.h"

static int yield(const void *caller)
{
	if (is_tracing())
		trace_yields(caller);
	int result = real()->sched_yield();
	if (is_tracing())
		trace_yielded();
	return result;
}

EXPORT int sched_yield(void)
{
	return yield(CALLER);
}

EXPORT void thrd_yield(void)
{
	(void)yield(CALLER); /* it cannot fail */
}

/* Programs built before glibc 2.34 call it so (its header makes it sched_yield() since). */
EXPORT int old_pthread_yield(void) __asm__("pthread_yield");

EXPORT int old_pthread_yield(void)
{
	return yield(CALLER);
}
