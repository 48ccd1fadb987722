/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which processors are used, on machines described by text. */
#include "cmocka_all.h"

#include "machine/pin.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_order(
	const char *machine, const char *allowed_list, const unsigned *expected, size_t count)
{
	hwloc_topology_t topology;
	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology, machine), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	assert_int_equal(hwloc_bitmap_list_sscanf(allowed, allowed_list), 0);
	unsigned *order = NULL;
	size_t order_count = 0;
	assert_int_equal(pin_order(topology, allowed, &order, &order_count), 0);
	assert_int_equal(order_count, count);
	assert_memory_equal(order, expected, count * sizeof *expected);
	free(order);
	hwloc_bitmap_free(allowed);
	hwloc_topology_destroy(topology);
}

static void a_socket_is_filled_before_the_next(void **state)
{
	(void)state;
	/* As Linux numbers two sockets in turn. */
	expect_order("package:2 core:3 pu:1(indexes=core:package)", "0-5",
		(const unsigned[]){ 0, 1, 2, 3, 4, 5 }, 6);
	expect_order("package:2 core:3 pu:1(indexes=0,2,4,1,3,5)", "0-5",
		(const unsigned[]){ 0, 2, 4, 1, 3, 5 }, 6);
}

static void siblings_come_last(void **state)
{
	(void)state;
	expect_order(
		"package:2 core:2 pu:2", "0-7", (const unsigned[]){ 0, 2, 4, 6, 1, 3, 5, 7 }, 8);
}

static void only_allowed_processors_are_used(void **state)
{
	(void)state;
	/* Core 0's first thread is not ours: its second is then the core's first. */
	expect_order("package:2 core:2 pu:2", "1-3,6", (const unsigned[]){ 1, 2, 6, 3 }, 4);
}

static void a_process_is_bound_to_as_many_processors(void **state)
{
	(void)state;
	AUTO(pin) struct pin *pin = NULL;
	struct err err;
	if (pin_new(&pin, &err) < 0) {
		print_message("%s\n", err.text);
		skip();
	}
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) < 0);
	}
	close(fds[0]);
	for (uint32_t n = 1; n <= pin->processor_count + 1; n++) {
		assert_int_equal(pin_process(pin, child, n, &err), 0);
		cpu_set_t set;
		assert_int_equal(sched_getaffinity(child, sizeof set, &set), 0);
		size_t wanted = n < pin->processor_count ? n : pin->processor_count;
		assert_int_equal(CPU_COUNT(&set), wanted);
	}
	close(fds[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_is_filled_before_the_next),
		cmocka_unit_test(siblings_come_last),
		cmocka_unit_test(only_allowed_processors_are_used),
		cmocka_unit_test(a_process_is_bound_to_as_many_processors),
	};
	return cmocka_run_group_tests_name("pin", tests, NULL, NULL);
}
