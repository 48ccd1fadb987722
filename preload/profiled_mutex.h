/* SPDX-License-Identifier: MIT */
/*
 * A free mutex of the usual kind, taken and given back by a thread of a profiled program. The emulator takes some 5 ns for
 * each call, return, and jump to another page of code, which were 35 a pair the general way; here they are 8.
 */
#ifndef PRELOAD_PROFILED_MUTEX_H
#define PRELOAD_PROFILED_MUTEX_H

#include "traced_thread.h"

bool profiled_mutex_take(pthread_mutex_t *mutex, const void *caller);
bool profiled_mutex_give(pthread_mutex_t *mutex, const void *caller);

/* Done and recorded. False: the general way is to be taken, which finds out what is the matter. */
static inline bool profiled_takes(pthread_mutex_t *mutex, const void *caller)
{
	return __builtin_expect(self.slot != NULL, 0) && profiled_mutex_take(mutex, caller);
}

static inline bool profiled_gives(pthread_mutex_t *mutex, const void *caller)
{
	return __builtin_expect(self.slot != NULL, 0) && profiled_mutex_give(mutex, caller);
}

#endif
