/* SPDX-License-Identifier: MIT */
/* Who is the first to wait for an object tells how it came there: the object is called after that. */
#include "stack.h"
#include "trace.h"
#include "traced_thread.h"

#include <errno.h>
#include <string.h>

enum {
	CALLERS_MAX = 8, /* through the layers of C++'s locks in unoptimised code, and two more */
	TOLD_BITS = 12,
	TOLD_OBJECTS = 1 << TOLD_BITS, /* of a process; of more than that nobody tells */
	TOLD_TRIES = 16,
};

static uintptr_t told[TOLD_OBJECTS]; /* by hash */
static uint32_t told_by; /* the process: the child of a fork has told nothing */

static void begin_process(void)
{
	if (told_by)
		memset(told, 0, sizeof(told));
	told_by = *own_process;
}

/* Whether nobody told of the object before; now it is told. */
static bool is_new(uintptr_t object)
{
	if (told_by != *own_process)
		begin_process();
	size_t place = (object * 0x9e3779b97f4a7c15ull) >> (64 - TOLD_BITS);
	for (size_t i = 0; i < TOLD_TRIES; i++, place = (place + 1) % TOLD_OBJECTS) {
		uintptr_t none = 0;
		if (__atomic_load_n(&told[place], __ATOMIC_RELAXED) == object)
			return false;
		if (__atomic_compare_exchange_n(
			    &told[place], &none, object, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (none == object)
			return false;
	}
	return false;
}

void trace_first_wait(uint32_t kind, const void *object, const void *caller)
{
	const void *callers[CALLERS_MAX];
	bool has_name = what_of(kind) <= TRACE_SEM || what_of(kind) == TRACE_FUTEX;
	if (self.is_busy || is_parked() || !has_name || !is_new((uintptr_t)object))
		return;
	int kept = errno;
	if (enter()) {
		size_t count = stack_unwind(caller, callers, CALLERS_MAX);
		for (size_t i = 0; i < count; i++)
			put(now(), head_of(TRACE_CALLER, kind, 0), (uintptr_t)object, callers[i],
				i);
		leave();
	}
	errno = kept;
}
