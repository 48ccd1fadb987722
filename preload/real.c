/* SPDX-License-Identifier: MIT */
#include "real.h"

#include <dlfcn.h>
#include <string.h>

struct real real_functions;

/*
 * x86 keeps the condition variables of before 2003 under the same names; a lookup by name alone
 * has found those on some versions of the C library. Elsewhere this version does not exist.
 */
static void *next(const char *name)
{
	void *found = NULL;
	if (strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0)
		found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return found ? found : dlsym(RTLD_NEXT, name);
}

void real_resolve(void)
{
	struct real found = { 0 };
#define REAL_RESOLVE(name) found.name = (__typeof__(name) *)next(#name);
	REAL_FUNCTIONS(REAL_RESOLVE)
#undef REAL_RESOLVE

	/* pthread_mutex_lock last: who sees it sees the others, too. */
	__typeof__(pthread_mutex_lock) *lock = found.pthread_mutex_lock;
	found.pthread_mutex_lock = real_functions.pthread_mutex_lock;
	real_functions = found;
	__atomic_store_n(&real_functions.pthread_mutex_lock, lock, __ATOMIC_RELEASE);
}
