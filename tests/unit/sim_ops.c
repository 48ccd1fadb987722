/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: every operation, without cores and with; programs that are wrong. */
#include "cmocka_all.h"

#include "sim_script.h"

#include <errno.h>

static struct sim *new_sim(const struct sim_options *options, struct script *script)
{
	struct sim *sim = NULL;
	struct sim_program program = script_program(script);
	assert_int_equal(sim_new(options, &program, &sim, NULL), 0);
	return sim;
}

static void add_threads(
	struct sim *sim, struct script *script, uint32_t count, const struct sim_op *const *ops)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tid;
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &tid), 0);
		script->ops[tid] = ops[i];
	}
}

static void run_well(struct sim *sim)
{
	struct err err = { 0 };
	int code = sim_run(sim, &err);
	if (code < 0)
		fail_msg("%d: %s", code, err.text);
}

static void a_mutex_is_given_in_order(void **state)
{
	(void)state;
	static const struct sim_op a[] = { OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(1), OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0),
		EXIT };
	static const struct sim_op c[] = { COMPUTE(2), OP(LOCK, 0), COMPUTE(10), OP(UNLOCK, 0),
		EXIT };
	struct script script = { 0 };
	struct sim *sim = new_sim(&(struct sim_options){ 0 }, &script);
	uint32_t mutex;
	assert_int_equal(sim_add_mutex(sim, "m", &mutex), 0);
	add_threads(sim, &script, 3, (const struct sim_op *[]){ a, b, c });
	run_well(sim);
	assert_int_equal(sim_now(sim), 30);
	assert_int_equal(script.results[2][1].waited_ns, 9);
	assert_true(script.results[3][1].has_waited);
	assert_int_equal(script.results[3][1].waited_ns, 18);
	struct sim_object_stats stats;
	sim_object_stats(sim, SIM_MUTEX, mutex, &stats);
	assert_int_equal(stats.uses, 3);
	assert_int_equal(stats.waits, 2);
	assert_int_equal(stats.waited_ns, 27);
	assert_int_equal(stats.held_ns, 30);
	assert_int_equal(stats.max_length, 3);
	assert_true(stats.mean_length == 57.0 / 30);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mutex_is_given_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
