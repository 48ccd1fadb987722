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

/*
 * A lookup that fails allocates, for its message, and the program's allocator may lock, read its settings, and so on: it
 * comes here again, and goes on with what has been found so far, all but what may be missing.
 */
void real_resolve(void)
{
	static __thread bool is_resolving __attribute__((tls_model("initial-exec")));
	if (is_resolving)
		return;
	is_resolving = true;
#define REAL_RESOLVE(name) real_functions.name = (__typeof__(name) *)next(#name);
	REAL_FUNCTIONS(REAL_RESOLVE)
#undef REAL_RESOLVE
	__atomic_store_n(&real_functions.is_whole, true, __ATOMIC_RELEASE);
	is_resolving = false;
}
