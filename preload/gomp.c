/* SPDX-License-Identifier: MIT */
#include "gomp.h"

#include "stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

enum {
	RUNTIMES_MAX = 8, /* fits beside a page-aligned load bias */
	CACHED_MODULES = 256,
};

enum runtime_state {
	RUNTIME_FREE,
	RUNTIME_WRITING,
	RUNTIME_READY,
};

struct runtime {
	uint32_t state; /* enum runtime_state */
	struct gomp functions;
};

/* The first one that the whole program sees, if any, is also the only one that matters. */
static struct runtime global_runtime;
static struct runtime local_runtimes[RUNTIMES_MAX];
static const struct gomp no_runtime;

/* Load bias of a calling module, plus 1 + the index of its runtime. */
static uintptr_t cached_modules[CACHED_MODULES];

static void resolve(void *scope, struct gomp *ret)
{
#define GOMP_RESOLVE(name) ret->name = (__typeof__(name) *)dlsym(scope, #name);
	GOMP_FUNCTIONS(GOMP_RESOLVE)
#undef GOMP_RESOLVE
}

static bool take_runtime(struct runtime *runtime)
{
	uint32_t expected = RUNTIME_FREE;
	return __atomic_compare_exchange_n(&runtime->state, &expected, RUNTIME_WRITING, false,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool is_ready(const struct runtime *runtime)
{
	return __atomic_load_n(&runtime->state, __ATOMIC_ACQUIRE) == RUNTIME_READY;
}

static void set_ready(struct runtime *runtime)
{
	__atomic_store_n(&runtime->state, RUNTIME_READY, __ATOMIC_RELEASE);
}

/*
 * All threads of a team may come here at once, and none may go without the functions, or wait for one that needs a lock
 * of the loader's: each fills it, with the same values.
 */
static bool find_global(void)
{
	if (is_ready(&global_runtime))
		return true;
	if (!dlsym(RTLD_NEXT, "GOMP_parallel"))
		return false;
	resolve(RTLD_NEXT, &global_runtime.functions);
	set_ready(&global_runtime);
	return true;
}

static bool is_same(const struct runtime *runtime, const struct gomp *functions)
{
	return is_ready(runtime) && runtime->functions.GOMP_parallel == functions->GOMP_parallel;
}

/* Threads that come at once may have an entry each: nothing is looked up while one is written. */
static int find_entry(const struct gomp *functions)
{
	for (int i = 0; i < RUNTIMES_MAX; i++) {
		struct runtime *runtime = &local_runtimes[i];
		if (take_runtime(runtime)) {
			runtime->functions = *functions;
			set_ready(runtime);
		}
		if (is_same(runtime, functions))
			return i;
	}
	return -1;
}

/* Index of the runtime that a module sees through the libraries that it needs, or -1. */
static int find_local(const char *path)
{
	struct gomp functions;
	void *scope = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	if (!scope)
		return -1;
	resolve(scope, &functions);
	(void)dlclose(scope); /* back to the references that it had; a runtime is never unloaded */
	return functions.GOMP_parallel ? find_entry(&functions) : -1;
}

static const struct gomp *find(const void *caller)
{
	uintptr_t bias = 0;
	const char *path = stack_module(caller, &bias);
	uintptr_t *cached = &cached_modules[(bias >> 12) % CACHED_MODULES];
	uintptr_t entry = __atomic_load_n(cached, __ATOMIC_ACQUIRE);
	if (path && entry > bias && entry <= bias + RUNTIMES_MAX)
		return &local_runtimes[entry - bias - 1].functions;
	if (find_global())
		return &global_runtime.functions;
	/* The program itself (its name is empty) sees only what is global. */
	int index = path && *path ? find_local(path) : -1;
	if (index < 0)
		return &no_runtime;
	__atomic_store_n(cached, bias + 1 + (uintptr_t)index, __ATOMIC_RELEASE);
	return &local_runtimes[index].functions;
}

const struct gomp *gomp_find(const void *caller)
{
	if (__builtin_expect(is_ready(&global_runtime), 1))
		return &global_runtime.functions;
	int kept = errno;
	const struct gomp *found = find(caller);
	errno = kept;
	return found;
}
