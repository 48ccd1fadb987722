/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How busy other work keeps the machine, from two lines of /proc/stat. */
#include "cmocka_all.h"

#include "machine/busy.h"

#include <errno.h>
#include <math.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_processors_are_counted),
		cmocka_unit_test(no_time_between_is_not_busy),
		cmocka_unit_test(another_line_is_refused),
	};
	return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
