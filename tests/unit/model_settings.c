/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grids of settings, goals, and what is said about results. */
#include "model_script.h"

#include "model/goal.h"
#include "model/grid.h"
#include "model/simulated.h"

#include <errno.h>
#include <math.h>

static const char *const queue_model =
	"corecast_model: 1\n"
	"parameters: { workers: 2, rate: 50 /s, think: 10 ms }\n"
	"hardware: { cores: 1 }\n"
	"mutexes: { m: { recorded: { waited: 0.1%, busy: 1% } } }\n"
	"queues: { q: {} }\n"
	"sources: { s: { poisson: rate, queue: q } }\n"
	"threads: { w: { count: workers, fragments: { get: { get: q, next: lock },\n"
	"  lock: { lock: m }, work: { cpu: think, unlock: m },\n"
	"  done: { do: end_request, next: get } } } }\n"
	"recorded: { cores: 1, duration: 9 s, utilisation: 50%, response: 15 ms, descriptors: "
	"100,\n"
	"  notes: [the workload changed] }\n";

static void values_are_read_as_people_write_them(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	static const struct {
		const char *text;
		size_t count; /* 0: refused */
		double first, last;
	} cases[] = {
		{ "workers=3", 1, 3, 3 },
		{ "workers=1,2,4,8,2", 4, 1, 8 },
		{ "workers=1-4", 4, 1, 4 },
		{ "rate=10-130:10", 13, 10, 130 },
		{ "rate=0.1-0.5:0.1", 5, 0.1, 0.5 },
		{ "rate=10 /s,1e-3", 2, 10, 1e-3 },
		{ "think=5ms-20ms:5ms", 4, 0.005, 0.02 },
		{ "think=1,2.5 ms", 2, 1, 0.0025 },
		{ "workers=1-2,8", 3, 1, 8 },
		{ "rate=10 ms", 0, 0, 0 },
		{ "rate=", 0, 0, 0 },
		{ "rate", 0, 0, 0 },
		{ "rate=4-2", 0, 0, 0 },
		{ "rate=1-2:0", 0, 0, 0 },
		{ "rate=1:2", 0, 0, 0 },
		{ "rate=1-1000000", 0, 0, 0 },
		{ "rats=1", 0, 0, 0 },
		{ "rate=workers", 0, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(grid) struct grid grid = { 0 };
		struct err err = { "" };
		int code = grid_add(&grid, model, cases[i].text, &err);
		if (cases[i].count == 0) {
			assert_int_equal(code, -EINVAL);
			assert_true(*err.text);
			continue;
		}
		if (code < 0 || grid_size(&grid) != cases[i].count)
			fail_msg("%s: %zu values, %s", cases[i].text, grid_size(&grid), err.text);
		assert_true(fabs(grid_value(&grid, 0, 0) - cases[i].first) < 1e-12);
		assert_true(fabs(grid_value(&grid, 0, cases[i].count - 1) - cases[i].last) < 1e-12);
	}
}

static void the_first_axis_changes_slowest(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	AUTO_RELEASE(grid) struct grid grid = { 0 };
	assert_int_equal(grid_add(&grid, model, "rate=10,20", NULL), 0);
	assert_int_equal(grid_add(&grid, model, "workers=1,2,3", NULL), 0);
	assert_int_equal(grid_add(&grid, model, "workers=4", NULL), -EINVAL);
	assert_int_equal(grid_size(&grid), 6);
	for (size_t i = 0; i < 6; i++) {
		double values[3];
		grid_setting(&grid, model, i, values);
		assert_true(values[0] == (double)(i % 3 + 1));
		assert_true(values[1] == (i < 3 ? 10 : 20));
		assert_true(values[2] == 0.01);
	}
}

/* Simulates a grid of one axis; the rows and runs live in `runs`. */
static struct simulated *simulate(const struct model *model, const struct grid *grid,
	const char *goal, struct simulated_runs *runs)
{
	enum { REPLICATIONS = 3, REQUESTS = 3000 };
	size_t count = grid_size(grid) * REPLICATIONS, size = sample_size(model);
	runs->replications = REPLICATIONS;
	runs->rows = calloc(count, size * sizeof *runs->rows);
	runs->runs = calloc(count, sizeof *runs->runs);
	assert_true(runs->rows && runs->runs);
	for (size_t i = 0; i < count; i++) {
		double parameters[8];
		struct err err;
		grid_setting(grid, model, i / REPLICATIONS, parameters);
		const struct sample_options options = { .model = model,
			.parameters = parameters,
			.seed = 1 + i % REPLICATIONS,
			.requests = REQUESTS };
		runs->runs[i].code = sample_run(&options, runs->rows + i * size, &err);
	}
	const struct simulated_input input = {
		.model = model, .grid = grid, .runs = runs, .requests = REQUESTS, .goal = goal
	};
	struct simulated *simulated = NULL;
	struct err err;
	if (simulated_new(&input, &simulated, &err) < 0)
		fail_msg("%s", err.text);
	return simulated;
}

static bool says(const struct simulated *simulated, const char *words)
{
	for (size_t i = 0; i < simulated->notes->recorded.note_count; i++)
		if (strstr(simulated->notes->recorded.notes[i], words))
			return true;
	return false;
}

static void leaving_what_was_recorded_is_said(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	static const struct {
		const char *rate;
		bool is_calm, grows;
	} cases[] = { { "rate=5", true, false }, { "rate=50", false, false },
		{ "rate=150", false, true } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(grid) struct grid grid = { 0 };
		struct simulated_runs runs = { 0 };
		assert_int_equal(grid_add(&grid, model, cases[i].rate, NULL), 0);
		AUTO(simulated)
		struct simulated *simulated = simulate(model, &grid, NULL, &runs);
		assert_int_equal(simulated->settings[0].does_grow, cases[i].grows);
		assert_int_equal(says(simulated, "faster than they end"), cases[i].grows);
		assert_int_equal(says(simulated, "cores are busy"), cases[i].grows);
		assert_int_equal(says(simulated, "mutex 'm'"), !cases[i].is_calm);
		assert_int_equal(says(simulated, "At the recorded setting"), i == 1);
		assert_true(says(simulated, "the workload changed"));
		assert_int_equal(says(simulated, "100 descriptors"), cases[i].grows);
		free(runs.rows);
		free(runs.runs);
	}
}

/* Eight items of four: each thread may be lent one more, and the engine's own. */
static void what_nothing_depends_on_is_known(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"parameters: { workers: 2, idle: 3, near: 40%, service: 1 ms, room: 4, other: 2 }\n"
		"queues: { q: { capacity: room * 2 } }\n"
		"threads: { w: { count: workers, fragments: {\n"
		"  put: { cpu: service, put: q, next: { get: near, put: 1 - near } },\n"
		"  get: { cpu: 1 ms, get: q, next: put } } } }\n"
		"duration: 1 s\n");
	for (uint32_t i = 0; i < model->parameter_count; i++) {
		const char *name = model->parameters[i].name;
		bool is_unused = strcmp(name, "idle") == 0 || strcmp(name, "other") == 0;
		assert_int_equal(model_uses(model, i), !is_unused);
	}
	AUTO_RELEASE(grid) struct grid grid = { 0 };
	assert_int_equal(grid_add(&grid, model, "idle=1,2", NULL), 0);
	struct simulated_runs runs = { 0 };
	AUTO(simulated) struct simulated *simulated = simulate(model, &grid, NULL, &runs);
	assert_true(says(simulated, "'idle' was set, and nothing"));
	free(runs.rows);
	free(runs.runs);
}

static void help_from_a_standstill_is_said(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model =
		parse("corecast_model: 1\n"
		      "parameters: { n: 8 }\n"
		      "queues: { jobs: { initial: 4, lends: true } }\n"
		      "threads: { w: { count: 1, fragments: { often: { loop: job, times: n,\n"
		      "  next: exit }, job: { cpu: 1 us, get: jobs, next: often } } } }\n");
	static const struct {
		const char *jobs;
		bool is_helped;
	} cases[] = { { "n=4", false }, { "n=5", false }, { "n=8", true } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(grid) struct grid grid = { 0 };
		struct simulated_runs runs = { 0 };
		assert_int_equal(grid_add(&grid, model, cases[i].jobs, NULL), 0);
		AUTO(simulated)
		struct simulated *simulated = simulate(model, &grid, NULL, &runs);
		assert_int_equal(simulated->settings[0].code, 0);
		assert_int_equal(simulated->settings[0].is_helped, cases[i].is_helped);
		assert_int_equal(says(simulated, "came to a standstill"), cases[i].is_helped);
		free(runs.rows);
		free(runs.runs);
	}
}

/* Only one of two is let go on, as in the recording of one. */
static void threads_that_are_left_waiting_are_said(void **state)
{
	(void)state;
	AUTO(model)
	struct model *model = parse(
		"corecast_model: 1\n"
		"parameters: { n: 1 }\n"
		"queues: { go: {} }\n"
		"threads: { main: { count: 1, fragments: { start: { spawn: w, times: n },\n"
		"  let: { cpu: 1 us, put: go }, work: { cpu: 1 ms, next: stop } } },\n"
		"  w: { fragments: { wait: { get: go }, job: { cpu: 1 us, next: exit } } } }\n");
	for (int n = 1; n <= 2; n++) {
		AUTO_RELEASE(grid) struct grid grid = { 0 };
		struct simulated_runs runs = { 0 };
		assert_int_equal(grid_add(&grid, model, n == 1 ? "n=1" : "n=2", NULL), 0);
		AUTO(simulated)
		struct simulated *simulated = simulate(model, &grid, NULL, &runs);
		assert_int_equal(simulated->settings[0].code, 0);
		assert_int_equal(simulated->settings[0].are_stranded, n == 2);
		assert_int_equal(says(simulated, "still waited when the program ended"), n == 2);
		free(runs.rows);
		free(runs.runs);
	}
}

static void goals_choose_among_what_does_not_grow(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	static const struct {
		const char *goal;
		size_t best; /* of 20, 40, 80, 160 requests a second; the last one grows */
	} cases[] = {
		{ "max throughput", 2 },
		{ "min response", 0 },
		{ "max rate, response < 20 ms", 1 },
		{ "response > 12 ms", 1 },
		{ "max throughput, response < 1 us", SIZE_MAX },
		{ "min cores, rate > 30", 1 },
	};
	AUTO_RELEASE(grid) struct grid grid = { 0 };
	assert_int_equal(grid_add(&grid, model, "rate=20,40,80,160", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct simulated_runs runs = { 0 };
		AUTO(simulated)
		struct simulated *simulated = simulate(model, &grid, cases[i].goal, &runs);
		if (simulated->best != cases[i].best)
			fail_msg("%s: setting %zu", cases[i].goal, simulated->best);
		assert_int_equal(simulated->why_none != NULL, cases[i].best == SIZE_MAX);
		free(runs.rows);
		free(runs.runs);
	}
}

static void wrong_goals_are_refused(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(queue_model);
	static const char *const wrong[] = { "", ",", "fast", "min", "min lunch", "response <",
		"response < x", "response < 3 /s", "min response, max throughput" };
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = { "" };
		if (goal_check(model, wrong[i], &err) != -EINVAL)
			fail_msg("'%s' is accepted", wrong[i]);
	}
	assert_int_equal(goal_check(model, " max throughput , p99<100 ms,workers > 1", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_as_people_write_them),
		cmocka_unit_test(the_first_axis_changes_slowest),
		cmocka_unit_test(leaving_what_was_recorded_is_said),
		cmocka_unit_test(what_nothing_depends_on_is_known),
		cmocka_unit_test(help_from_a_standstill_is_said),
		cmocka_unit_test(threads_that_are_left_waiting_are_said),
		cmocka_unit_test(goals_choose_among_what_does_not_grow),
		cmocka_unit_test(wrong_goals_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
