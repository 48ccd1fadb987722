/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core model on ports that are chosen when a micro-operation is dispatched, not when it issues. */
#include "core_script.h"

/* The port on which multiplications pile up is not the one that additions are bound to. */
static void what_is_bound_spreads_over_ports(void **state)
{
	(void)state;
	struct script script = multiply_and_add();
	struct processor processor = eight_wide();
	processor.binds = 1;
	processor.units[CODE_MULTIPLY].ports = 1;
	processor.units[CODE_ALU].ports = 7;
	assert_near(play_hits(&script, &processor).cpi, 1. / 3, 0.02);
	processor.units[CODE_ALU].ports = 3;
	assert_near(play_hits(&script, &processor).cpi, 1. / 2, 0.02);
}

/* A step of this chain is an addition beside a multiplication; the addition is bound to the port that both can take. */
static void what_is_bound_waits_for_its_port_though_another_is_free(void **state)
{
	(void)state;
	struct script script = {
		.codes = { { .class = CODE_ALU, .reads = BIT(0), .writes = BIT(1) },
			{ .class = CODE_MULTIPLY, .reads = BIT(0), .writes = BIT(2) },
			{ .class = CODE_FP_ADD, .reads = BIT(1) | BIT(2), .writes = BIT(0) } }
	};
	repeat(&script, 3);
	struct processor processor = eight_wide();
	processor.rob = 3;
	processor.units[CODE_ALU].ports = 3;
	processor.units[CODE_MULTIPLY].ports = 2;
	processor.units[CODE_FP_ADD].ports = 4;
	assert_near(play_hits(&script, &processor).cpi, 2. / 3, 0.01);
	processor.binds = 1;
	double bound = play_hits(&script, &processor)
			       .cpi; /* at best the same, at worst one cycle more a step */
	assert_true(bound > 1.1 * 2 / 3 && bound < 1.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_bound_spreads_over_ports),
		cmocka_unit_test(what_is_bound_waits_for_its_port_though_another_is_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
