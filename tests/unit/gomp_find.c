/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of an OpenMP team call the runtime for the first time at once: each gets its functions. The second thread comes while
 * the first one looks them up: here it is called from within the lookup.
 */
#include "cmocka_all.h"

#include "preload/gomp.h"
#include "preload/stack.h"

#include <stdbool.h>
#include <string.h>

static const struct gomp *second; /* what a thread found that came meanwhile */
static bool has_come, is_global;

static void *lookup(void *scope, const char *name);

#define dlsym(scope, name) lookup(scope, name)
#include "preload/gomp.c"
#undef dlsym

static int any_function;

const char *stack_module(const void *address, uintptr_t *ret_bias)
{
	(void)address;
	*ret_bias = 4096;
	return "libc.so.6";
}

static void *lookup(void *scope, const char *name)
{
	if ((scope == RTLD_NEXT) != is_global)
		return NULL;
	if (!has_come && strcmp(name, "omp_get_thread_num") == 0) {
		has_come = true;
		second = gomp_find(&second);
	}
	return &any_function;
}

static void check(void)
{
	has_come = false;
	second = NULL;
	const struct gomp *first = gomp_find(&second);
	assert_non_null(first->omp_get_thread_num);
	assert_true(has_come);
	assert_non_null(second->omp_get_thread_num);
}

/* One that is only a library's, as in Python extensions, is looked for as long as the program has none. */
static void threads_that_come_at_once_have_a_librarys_runtime(void **state)
{
	(void)state;
	is_global = false;
	check();
	assert_true(gomp_find(&second) == second);
}

static void threads_that_come_at_once_have_the_programs_runtime(void **state)
{
	(void)state;
	is_global = true;
	memset(cached_modules, 0, sizeof cached_modules);
	check();
}

static void one_runtime_has_one_entry(void **state)
{
	(void)state;
	assert_int_equal(local_runtimes[1].state, RUNTIME_FREE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_come_at_once_have_a_librarys_runtime),
		cmocka_unit_test(one_runtime_has_one_entry),
		cmocka_unit_test(threads_that_come_at_once_have_the_programs_runtime),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
