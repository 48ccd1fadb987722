/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulations of scripts (sim_script.h), for tests of what goes well and of what is wrong. */
#ifndef TESTS_SIM_TRIAL_H
#define TESTS_SIM_TRIAL_H

#include "cmocka_all.h"

#include "sim_script.h"

static inline struct sim *new_sim(const struct sim_options *options, struct script *script)
{
	struct sim *sim = NULL;
	struct sim_program program = script_program(script);
	assert_int_equal(sim_new(options, &program, &sim, NULL), 0);
	return sim;
}

static inline void add_threads(
	struct sim *sim, struct script *script, uint32_t count, const struct sim_op *const *ops)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tid;
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &tid), 0);
		script->ops[tid] = ops[i];
	}
}

static inline void run_well(struct sim *sim)
{
	struct err err = { 0 };
	int code = sim_run(sim, &err);
	if (code < 0)
		fail_msg("%d: %s", code, err.text);
}

/* A simulation of scripts: made, run and freed by one test. */
struct trial {
	struct script script;
	struct sim *sim;
	uint32_t object;
};

static inline void trial_begin(struct trial *trial, struct sim_options options)
{
	*trial = (struct trial){ 0 };
	trial->sim = new_sim(&options, &trial->script);
}

static inline void trial_run(struct trial *trial, uint32_t count, const struct sim_op *const *ops)
{
	add_threads(trial->sim, &trial->script, count, ops);
	run_well(trial->sim);
}

/* The text of the error with which it ends. */
static inline void trial_fails(struct trial *trial, uint32_t count, const struct sim_op *const *ops,
	int code, const char *text)
{
	struct err err = { 0 };
	add_threads(trial->sim, &trial->script, count, ops);
	assert_int_equal(sim_run(trial->sim, &err), code);
	assert_string_equal(err.text, text);
	sim_free(trial->sim);
}

static inline struct sim_object_stats stats_of(
	struct trial *trial, enum sim_object_kind kind, uint32_t object)
{
	struct sim_object_stats stats;
	sim_object_stats(trial->sim, kind, object, &stats);
	return stats;
}

#define THREADS(...)                                                                               \
	sizeof((const struct sim_op *[]){ __VA_ARGS__ }) / sizeof(struct sim_op *),                \
		(const struct sim_op *[])                                                          \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#endif
