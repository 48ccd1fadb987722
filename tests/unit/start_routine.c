/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "record/start_routine.h"

#include <unistd.h>

static int data;

static void *run(void *argument)
{
	return argument;
}

static void the_c_library_shows_what_a_thread_runs(void **state)
{
	(void)state;
	assert_true(start_routine_offset() > 0);
	assert_int_equal(start_routine_offset(), start_routine_offset());
}

static void what_is_no_code_is_no_start_routine(void **state)
{
	(void)state;
	struct address_spaces spaces = { 0 };
	uint32_t pid = (uint32_t)getpid();
	assert_int_equal(address_spaces_read(&spaces, pid), 0);
	assert_true(start_routine_find(&spaces, pid, (uintptr_t)run, 0) == (uintptr_t)run);
	assert_int_equal(start_routine_find(&spaces, pid, (uintptr_t)&data, 0), 0);
	assert_int_equal(start_routine_find(&spaces, pid, 0, 0), 0);
	address_spaces_release(&spaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_c_library_shows_what_a_thread_runs),
		cmocka_unit_test(what_is_no_code_is_no_start_routine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
