/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions that would fill the memory are refused, ordinary ones are not. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "collect/regex_bound.h"

#include <errno.h>
#include <string.h>

static void ordinary_expressions_pass(void **state)
{
	(void)state;
	static const char *const good[] = { "", "ops/s: ([0-9.]+)",
		"^\\[locks\\].* waited=([0-9.]+)ms", "a+b*c?d+", "(a+)+", "\\++", "[+*]+", "[]+]*x",
		"[[:digit:]+]+", "x{2,3}", "{n}+", "a|b+", "((((((((x+))))))))", "\\" };
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct err err;
		if (regex_bound_check(good[i], &err) < 0)
			fail_msg("%s: %s", good[i], err.text);
	}
}

static void explosive_expressions_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = { "n++++++++++++++++++++++++++++++n", "a*+", "x{2}{3}",
		"x{2}+", "(((((((((x+)+)+)+)+)+)+)+)+)", "(x{100}){100}", "(x{0,32767})",
		"x{99999999999999999999}" };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (regex_bound_check(bad[i], NULL) != -EINVAL)
			fail_msg("%s is let through", bad[i]);
	char text[REGEX_BYTES_MAX + 2];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_int_equal(regex_bound_check(text, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_expressions_pass),
		cmocka_unit_test(explosive_expressions_are_refused),
	};
	return cmocka_run_group_tests_name("regex_bound", tests, NULL, NULL);
}
