/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: without memory it says so, whenever that is; a sanitizer sees what leaks. */
#include "cmocka_all.h"

#include "refused_memory.h"
#include "sim_script.h"

#include <errno.h>

/* A thread that another starts, and one that waits for it; with one of each kind of object. */
static int build(struct sim *sim, struct script *script, const struct sim_op *ops)
{
	static const double quantiles[] = { 10, 20 };
	static const struct sim_dist service = { SIM_EMPIRICAL, .values = quantiles,
		.value_count = 2 };
	const struct sim_disk_options disk = { .service = &service, .class_count = 1 };
	const struct sim_source_options source = { .kind = SIM_CLOSED,
		.interval = service,
		.population = 3,
		.limit = 40,
		.resource = SIM_NONE,
		.does_wait_for_room = true };
	const uint64_t first[] = { 1 };
	uint32_t number;
	int code = sim_add_mutex(sim, "mutex", &number);
	if (code == 0)
		code = sim_add_cond(sim, "condition", &number);
	if (code == 0)
		code = sim_add_queue(sim, "queue", 30, &number);
	if (code == 0)
		code = sim_add_disk(sim, "disk", &disk, &number);
	if (code == 0)
		code = sim_add_source(sim, "source", &source, &number);
	if (code == 0)
		code = sim_add_thread(sim, "pinned", first, &number);
	if (code == 0)
		script->ops[number] = ops;
	return code;
}

/* Refuses the first allocation, then the second, ... until all goes well. */
static void expect_honest_failures(
	const struct sim_op *ops, const struct sim_op *start, int expected)
{
	enum { MORE_THAN_ENOUGH = 500 };
	long failed_at = 0;
	for (; failed_at < MORE_THAN_ENOUGH; failed_at++) {
		static struct script script;
		memset(&script, 0, sizeof script);
		script.starts[0] = start;
		struct sim_program program = script_program(&script);
		struct sim_options options = { .cores = 2 };
		struct sim *sim = NULL;
		struct err err = { 0 };
		allowed = failed_at;
		int code = sim_new(&options, &program, &sim, &err);
		if (code == 0)
			code = build(sim, &script, ops);
		if (code == 0)
			code = sim_run(sim, &err);
		int was_refused = allowed < 0;
		allowed = -1;
		sim_free(sim);
		if (!was_refused) {
			assert_int_equal(code, expected);
			break;
		}
		/* The text of an error may be lost as well. */
		assert_true(code == -ENOMEM || (expected < 0 && code == expected));
	}
	assert_in_range(failed_at, 20, MORE_THAN_ENOUGH - 1);
}

static void a_run_without_memory_says_so(void **state)
{
	(void)state;
	static const struct sim_op child[] = { OP(GET, 0), { .kind = SIM_DISK, .amount = 3 },
		EXIT };
	static const struct sim_op ops[] = { { .kind = SIM_SPAWN }, { .kind = SIM_SPAWN },
		{ .kind = SIM_DISK, .amount = 20, .other = SIM_BACKGROUND }, OP(JOIN, 2),
		OP(JOIN, 3), SLEEP(1000), OP(GET, 0), EXIT };
	expect_honest_failures(ops, child, 0);
}

static void a_deadlock_without_memory_is_still_an_error(void **state)
{
	(void)state;
	static const struct sim_op child[] = { OP(LOCK, 0), EXIT };
	static const struct sim_op ops[] = { OP(LOCK, 0), { .kind = SIM_SPAWN }, OP(JOIN, 2),
		EXIT };
	expect_honest_failures(ops, child, -EDEADLK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_without_memory_says_so),
		cmocka_unit_test(a_deadlock_without_memory_is_still_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
