/* SPDX-License-Identifier: MIT */
#include "plain_mutex.h"

#include "real.h"
#include "stack.h"

#include <gnu/libc-version.h>

static bool is_in_c_library(const void *function)
{
	uintptr_t c_library, there;
	return stack_module((const void *)(uintptr_t)gnu_get_libc_version, &c_library) &&
	       stack_module(function, &there) && there == c_library;
}

/* As the mutex is while a thread has it. */
static bool is_taken(const pthread_mutex_t *mutex)
{
	return mutex->__data.__lock == PLAIN_MUTEX_TAKEN && mutex->__data.__owner == gettid() &&
	       mutex->__data.__nusers == 1 && plain_mutex_is(mutex);
}

static bool is_free(const pthread_mutex_t *mutex)
{
	return mutex->__data.__lock == PLAIN_MUTEX_FREE && mutex->__data.__owner == 0 &&
	       mutex->__data.__nusers == 0;
}

bool plain_mutex_is_known(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const struct real *library = real();
	if (!is_in_c_library((const void *)(uintptr_t)library->pthread_mutex_lock) ||
		!is_in_c_library((const void *)(uintptr_t)library->pthread_mutex_unlock))
		return false;
	if (library->pthread_mutex_lock(&mutex) != 0)
		return false;
	bool was_taken = is_taken(&mutex);
	return library->pthread_mutex_unlock(&mutex) == 0 && was_taken && is_free(&mutex);
}
