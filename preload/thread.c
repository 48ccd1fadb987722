/* SPDX-License-Identifier: MIT */
/*
 * Threads as a trace knows them: who created each, where and when, what it runs, how it is called;
 * and the ends of processes that no destructor sees.
 */
#include "confined.h"
#include "live.h"
#include "real.h"
#include "routines.h"
#include "trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_BYTES = 16 }; /* the kernel's */

static void read_name(char ret[NAME_BYTES])
{
	(void)syscall(SYS_prctl, PR_GET_NAME, ret); /* cannot fail */
}

/* Handed to the new thread, which frees it. */
struct start {
	void *(*routine)(void *);
	thrd_start_t c11_routine;
	void *argument;
	const void *known_routine; /* as the trace tells it */
	struct birth birth;
	const void *caller;
	char name[NAME_BYTES]; /* of the creator, which the thread has at first */
};

static struct start *start_new(const void *caller)
{
	if (!is_tracing() && !is_live())
		return NULL;
	struct start *start = calloc(1, sizeof(*start));
	if (!start || is_live())
		return start;
	start->birth = trace_birth();
	trace_frames(caller);
	start->caller = caller;
	read_name(start->name);
	return start;
}

/*
 * Who named the thread before it ran did not know its number. From now on it is known: every name is
 * either seen here, or told by pthread_setname_np().
 */
static void begin(const struct start *start)
{
	char name[NAME_BYTES];
	if (is_live()) {
		live_thread_start();
		return;
	}
	trace_thread_start(start->birth, start->known_routine, start->caller);
	read_name(name);
	if (is_tracing() && strncmp(name, start->name, NAME_BYTES) != 0)
		trace_name(TRACE_THREAD, trace_own_tid(), 0, name);
}

static void *run(void *argument)
{
	struct start start = *(struct start *)argument;
	free(argument);
	begin(&start);
	return start.routine(start.argument);
}

static int run_c11(void *argument)
{
	struct start start = *(struct start *)argument;
	free(argument);
	begin(&start);
	return start.c11_routine(start.argument);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
	void *(*routine)(void *), void *restrict argument)
{
	struct start *start = start_new(CALLER);
	if (!start)
		return real()->pthread_create(thread, attributes, routine, argument);
	start->routine = routine;
	start->argument = argument;
	start->known_routine = routine_of((const void *)(uintptr_t)routine, argument);
	int result = real()->pthread_create(thread, attributes, run, start);
	if (result != 0)
		free(start);
	return result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct start *start = start_new(CALLER);
	if (!start)
		return real()->thrd_create(thread, routine, argument);
	start->c11_routine = routine;
	start->argument = argument;
	start->known_routine = (const void *)(uintptr_t)routine;
	int result = real()->thrd_create(thread, run_c11, start);
	if (result != thrd_success)
		free(start);
	return result;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = real()->pthread_setname_np(thread, name);
	if (result != 0 || !is_tracing())
		return result;
	bool is_own = pthread_equal(thread, pthread_self());
	uint32_t tid = is_own ? trace_own_tid() : trace_tid_of((const void *)thread);
	if (tid)
		trace_name(TRACE_THREAD, tid, 0, name);
	return result;
}

EXPORT int prctl(int operation, ...)
{
	va_list list;
	va_start(list, operation);
	unsigned long arguments[4];
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (sink_mode != SINK_OFF)
		confined_by_prctl(operation, arguments);
	int result =
		real()->prctl(operation, arguments[0], arguments[1], arguments[2], arguments[3]);
	if (operation == PR_SET_NAME && result == 0 && is_tracing()) {
		const char *given = (const char *)arguments[0];
		char name[NAME_BYTES] = "";
		memcpy(name, given, strnlen(given, NAME_BYTES - 1)); /* as the kernel does */
		trace_name(TRACE_THREAD, trace_own_tid(), 0, name);
	}
	return result;
}

/* These end the process without its destructors. */

static void end_process(void)
{
	if (is_tracing())
		trace_detach();
	else if (is_live())
		live_detach();
}

EXPORT void _exit(int status)
{
	end_process();
	real()->_exit(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	end_process();
	real()->_Exit(status);
	__builtin_unreachable();
}
