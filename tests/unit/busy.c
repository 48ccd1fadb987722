/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How busy other work keeps the machine, from two lines of /proc/stat. */
#include "cmocka_all.h"

#include "machine/busy.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void busy_processors_are_counted(void **state)
{
	(void)state;
	struct busy_ticks before, after;
	assert_int_equal(busy_parse("cpu  100 0 50 1000 10 0 5 0 0 0", &before), 0);
	/* 75 of 300 ticks busy on 12 processors: user 40, system 20, irq 5, softirq 5, steal 5. */
	assert_int_equal(busy_parse("cpu  140 0 70 1200 35 5 10 5 0 0", &after), 0);
	assert_true(fabs(busy_between(&before, &after, 12) - 3) < 1e-9);
}

static void no_time_between_is_not_busy(void **state)
{
	(void)state;
	struct busy_ticks same;
	assert_int_equal(busy_parse("cpu  1 2 3 4 5 6 7 8 9 10", &same), 0);
	assert_true(busy_between(&same, &same, 4) == 0);
}

static void another_line_is_refused(void **state)
{
	(void)state;
	struct busy_ticks ticks;
	assert_int_equal(busy_parse("intr 1 2 3 4 5 6 7 8", &ticks), -EINVAL);
	assert_int_equal(busy_parse("cpu  1 2 3", &ticks), -EINVAL);
	assert_int_equal(busy_parse("", &ticks), -EINVAL);
}

static FILE *text_file(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(file);
	return file;
}

static void idle_time_is_that_of_the_asked_processors(void **state)
{
	(void)state;
	static const char text[] = "cpu  9 9 9 60 6 0 0 0 0 0\n"
				   "cpu0 1 1 1 10 1 0 0 0 0 0\n"
				   "cpu1 1 1 1 20 2 0 0 0 0 0\n"
				   "cpu3 1 1 1 30 3 0 0 0 0 0\n"
				   "intr 7 7 7 7 7 7\n";
	uint64_t idle_ns = 0;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(3, &set);
	FILE *file = text_file(text);
	assert_int_equal(busy_idle_ns(file, &set, &idle_ns), 0);
	assert_int_equal(idle_ns, 44 * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
	rewind(file);
	CPU_SET(2, &set);
	assert_int_equal(busy_idle_ns(file, &set, &idle_ns), -EINVAL);
	(void)fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_processors_are_counted),
		cmocka_unit_test(no_time_between_is_not_busy),
		cmocka_unit_test(another_line_is_refused),
		cmocka_unit_test(idle_time_is_that_of_the_asked_processors),
	};
	return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
