/* SPDX-License-Identifier: MIT */
#include "real.h"

#include <dlfcn.h>
#include <string.h>

struct real real_functions;

/*
 * x86 keeps the condition variables of before 2003 under the same names; a lookup by name alone
 * has found those on some versions of the C library. Elsewhere, and of newer functions, this version does not exist.
 */
static bool has_old_namesake(const char *name)
{
#if defined(__x86_64__) || defined(__i386__)
	return strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0 &&
	       strcmp(name, "pthread_cond_clockwait") != 0;
#else
	(void)name;
	return false;
#endif
}

static void *next(const char *name)
{
	void *found = has_old_namesake(name) ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
	return found ? found : dlsym(RTLD_NEXT, name);
}

/*
 * A lookup that fails allocates, for its message, and the program's allocator may be who called us, with a lock of its own
 * that it then waits for: none fails where the C library has all functions (2.30). Where it does, and the allocator locks or
 * reads its settings, it comes here again, and goes on with what has been found so far, all but what may be missing.
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
