/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "code/demangle.h"

#include <stdlib.h>

static void assert_named(const char *symbol, const char *expected)
{
	AUTO_FREE char *name = name_in_source(symbol);
	assert_string_equal(name, expected);
}

static void copies_are_called_as_their_function(void **state)
{
	(void)state;
	assert_named("scan", "scan");
	assert_named("scan.isra.0", "scan");
	assert_named("scan.constprop.0.isra.0", "scan");
	assert_named("main._omp_fn.0", "main._omp_fn.0");
	assert_named(".cold", ".cold");
}

static void what_a_thread_runs_is_not_lost_in_its_library(void **state)
{
	(void)state;
	AUTO_FREE char *known = demangle("_ZN4pool3runEv");
	if (!known)
		skip(); /* a build without libiberty */
	assert_named("_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_iEEEEE6_M_runEv",
		"main::{lambda()#1}");
	assert_named("_ZN4pool3runEv.constprop.0", "pool::run");
}

static void what_a_thread_runs_is_told_from_its_library(void **state)
{
	(void)state;
	assert_true(is_around_given(
		"_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_iEEEEE6_M_runEv"));
	assert_false(is_around_given(
		"_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_iEEEEED0Ev"));
	assert_true(is_around_given("_ZNSt13__future_base17_Async_state_implINSt6thread8_InvokerI"
				    "St5tupleIJPFdiiEiiEEEEdE6_M_runEv"));
	assert_false(is_around_given("_ZN4pool6_M_runEv"));
	assert_false(is_around_given(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_called_as_their_function),
		cmocka_unit_test(what_a_thread_runs_is_not_lost_in_its_library),
		cmocka_unit_test(what_a_thread_runs_is_told_from_its_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
