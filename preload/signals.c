/* SPDX-License-Identifier: MIT */
/* Signals that the program sends to its own threads, which may wait for them: who let them go. */
#include "real.h"
#include "sink.h"
#include "trace.h"
#include "wakes.h"

#include <unistd.h>

/* It is noted first: the thread may go on before the call returns. */
static void note(void)
{
	if (is_tracing())
		wake_note(trace_signals, clock_ns(), trace_own_tid());
}

EXPORT int kill(pid_t pid, int signal)
{
	if (is_tracing() && (pid == 0 || pid == getpid()))
		note();
	return real()->kill(pid, signal);
}

EXPORT int sigqueue(pid_t pid, int signal, const union sigval value)
{
	if (is_tracing() && pid == getpid())
		note();
	return real()->sigqueue(pid, signal, value);
}

EXPORT int pthread_kill(pthread_t thread, int signal)
{
	note();
	return real()->pthread_kill(thread, signal);
}

EXPORT int pthread_sigqueue(pthread_t thread, int signal, const union sigval value)
{
	note();
	return real()->pthread_sigqueue(thread, signal, value);
}
