/* SPDX-License-Identifier: MIT */
/* Giving up the core for others: who does so again and again waits for them, and loses its core meanwhile where there are more threads. */
#include "real.h"
#include "trace.h"

EXPORT int sched_yield(void)
{
	if (is_tracing())
		trace_yields(CALLER);
	int result = real()->sched_yield();
	if (is_tracing())
		trace_yielded();
	return result;
}

EXPORT void thrd_yield(void)
{
	if (is_tracing())
		trace_yields(CALLER);
	real()->thrd_yield();
	if (is_tracing())
		trace_yielded();
}
