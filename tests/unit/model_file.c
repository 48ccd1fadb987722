/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files: what is read, what is written, and what is refused in which line. */
#include "model_script.h"

#include <errno.h>
#include <math.h>

static char *write_text(const struct model *model)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct err err;
	assert_non_null(out);
	assert_int_equal(model_write(model, out, &err), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Every section, every operation, every kind of source and of distribution. */
static const char *const everything =
	"corecast_model: 1\n"
	"name: all of it\n"
	"duration: 2 min\n"
	"parameters:\n"
	"  n: 4\n"
	"  rate: { value: 70 /s, note: \"a: b\" }\n"
	"  think: 250 ms\n"
	"  hit: 25%\n"
	"hardware:\n"
	"  cores: n / 2\n"
	"  speeds: [1, 0.5]\n"
	"  smt: { threads: 2, factor: 0.7 }\n"
	"  scheduler: round_robin\n"
	"  quantum: uniform 1 ms to 4 ms\n"
	"  switch: 2 us\n"
	"  wake: 5 us\n"
	"  wake_cost: 3 us\n"
	"  doze: 400 ns\n"
	"mutexes:\n"
	"  m: { recorded: { waited: 2%, busy: 30% } }\n"
	"spins:\n"
	"  s:\n"
	"rwlocks:\n"
	"  rw: { writers_first: true }\n"
	"barriers:\n"
	"  b: { threads: n + 1, spins: 3 ms }\n"
	"conditions:\n"
	"  c: {}\n"
	"semaphores:\n"
	"  sem: { value: 3 }\n"
	"queues:\n"
	"  q: { capacity: 10, initial: 2, refilled_by: b }\n"
	"  parts: { instances: n, replies: true }\n"
	"  room: { calls: true, lends: any }\n"
	"limits:\n"
	"  files: { count: 1024 }\n"
	"disks:\n"
	"  d:\n"
	"    parallel: 2\n"
	"    order: random\n"
	"    latency: 3 us\n"
	"    classes:\n"
	"      read: { time: [1 ms, 2 ms], scale: 0.5 }\n"
	"      write: erlang 3 of 4 ms\n"
	"sources:\n"
	"  a: { poisson: rate, queue: q, limit: files }\n"
	"  b: { every: 10 ms, queue: q, requests: 100, full: wait }\n"
	"  c: { clients: n, think: exponential think, queue: q }\n"
	"  d: { arrivals: [0 s, 1 ms, 2.5 ms], queue: q }\n"
	"  e: { batch: 2 * n, queue: q }\n"
	"threads:\n"
	"  main:\n"
	"    count: 1\n"
	"    start: begin\n"
	"    cores: [0, 2]\n"
	"    fragments:\n"
	"      first: { sleep: 1 s }\n"
	"      begin: { spawn: pool, times: n }\n"
	"      loop: { loop: body, times: { 2: 0.5, 4: 0.5 }, together: true,\n"
	"        next: joined }\n"
	"      body: { cpu: exponential 3 us, arrive: b, next: loop }\n"
	"      joined: { join: pool, next: { first: hit, begin: 1 - hit }, order: [3 x 2, 1] }\n"
	"  pool:\n"
	"    fragments:\n"
	"      lock: { lock: m }\n"
	"      wait: { wait: c, mutex: m, timeout: 1 ms, else: signal }\n"
	"      signal: { signal: c }\n"
	"      broadcast: { broadcast: c }\n"
	"      unlock: { unlock: m }\n"
	"      try: { try_lock: m, else: read }\n"
	"      again: { unlock: m }\n"
	"      read: { read_lock: rw }\n"
	"      unread: { unlock: rw }\n"
	"      \"odd: name\": { lock: s }\n"
	"      unspin: { unlock: s }\n"
	"      acquire: { acquire: sem }\n"
	"      post: { post: sem, times: 2 }\n"
	"      get: { get: q, else: exit }\n"
	"      tryget: { try_get: q, else: put }\n"
	"      put: { put: q, plain: true, times: n }\n"
	"      tryput: { try_put: q, else: close }\n"
	"      close: { close: q }\n"
	"      take: { take: files, else: stop }\n"
	"      io: { io: d, class: write, requests: { 0: 0.9, 2: 0.1 }, part: disk,\n"
	"        background: true }\n"
	"      io2: { io: d, class: read, part: disk }\n"
	"      give: { give: files }\n"
	"      new: { do: begin_request }\n"
	"      tick: { do: tick, times: 3 }\n"
	"      yield: { do: yield }\n"
	"      fail: { do: fail_request }\n"
	"      done: { do: end_request, next: exit }\n"
	"recorded: { program: ./server -n 4, duration: 10 s, cores: 2, utilisation: 40%,\n"
	"  throughput: 69 /s, response: 12 ms, notes: [the workload changed] }\n";

static void all_that_the_format_has_is_read(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(everything);
	double value;
	assert_int_equal(model->parameter_count, 4);
	assert_true(model->parameters[1].value == 70 && model->parameters[1].unit == MODEL_RATE);
	assert_string_equal(model->parameters[1].note, "a: b");
	assert_true(model->parameters[3].value == 0.25);
	assert_int_equal(
		model_evaluate(model, &model->hardware.cores, MODEL_NUMBER, NULL, &value, NULL), 0);
	assert_true(value == 2);
	const double eight[] = { 8, 1, 1, 1 };
	const struct model_object *barrier = &model->objects[model_find_object(model, "b")];
	assert_int_equal(
		model_evaluate(model, &barrier->size, MODEL_NUMBER, eight, &value, NULL), 0);
	assert_true(value == 9);
	const struct model_object *parts = &model->objects[model_find_object(model, "parts")];
	assert_int_equal(
		model_evaluate(model, &parts->instances, MODEL_NUMBER, eight, &value, NULL), 0);
	assert_true(value == 8);
	assert_true(parts->are_replies);
	assert_int_equal(model->source_count, 5);
	assert_int_equal(model->sources[3].time_count, 3);
	const struct model_group *main_group = &model->groups[0], *pool = &model->groups[1];
	assert_int_equal(main_group->start, 1);
	assert_int_equal(main_group->fragments[4].edge_count, 2);
	const struct model_fragment *io = &pool->fragments[model_find_fragment(pool, "io")];
	assert_int_equal(io->op, MODEL_IO);
	assert_int_equal(io->other, 1);
	assert_int_equal(io->count.entry_count, 2);
	const struct model_fragment *io2 = &pool->fragments[model_find_fragment(pool, "io2")];
	assert_true(io2->count.value.value == 1);
	assert_int_equal(io2->part, io->part);
	assert_true(model->recorded.throughput_per_s == 69);
	assert_true(model->objects[0].recorded.waited_share == 0.02);
}

static void what_is_written_is_read_back_the_same(void **state)
{
	(void)state;
	AUTO(model) struct model *model = parse(everything);
	AUTO_FREE char *once = write_text(model);
	AUTO(model) struct model *again = parse(once);
	AUTO_FREE char *twice = write_text(again);
	assert_string_equal(once, twice);
	assert_int_equal(again->groups[1].fragment_count, model->groups[1].fragment_count);
	for (uint32_t i = 0; i < model->groups[1].fragment_count; i++) {
		const struct model_fragment *a = &model->groups[1].fragments[i];
		const struct model_fragment *b = &again->groups[1].fragments[i];
		assert_int_equal(a->op, b->op);
		assert_int_equal(a->object, b->object);
		assert_int_equal(a->other, b->other);
		assert_int_equal(a->otherwise, b->otherwise);
		assert_int_equal(a->edges[0].to, b->edges[0].to);
	}
}

#define WORKER(fragments)                                                                          \
	"corecast_model: 1\nmutexes: { m: {} }\nqueues: { q: {} }\nthreads:\n  w:\n"               \
	"    count: 1\n    fragments:\n" fragments

static void wrong_models_are_refused_with_their_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *line, *word;
	} cases[] = {
		{ "a: 1\n", "m.yaml:1:", "corecast_model" },
		{ "corecast_model: 2\n", "m.yaml:1:", "version" },
		{ "corecast_model: 1\nbarriers:\n  b: { threads: 2, spins: 3 }\n",
			"m.yaml:3:", "unit" },
		{ "corecast_model: 1\nmutexes:\n  m: { spins: 3 ms }\n", "m.yaml:3:", "spins" },
		{ "corecast_model: 1\nqueues:\n  q: { refilled_by: b }\n",
			"m.yaml:3:", "no barrier 'b'" },
		{ "corecast_model: 1\nthreads: [\n", "m.yaml:3:", "not YAML" },
		{ "corecast_model: 1\nname: a\nname: b\n", "m.yaml:3:", "already in line 2" },
		{ "corecast_model: 1\nname: &x a\n", "m.yaml:2:", "anchors" },
		{ "corecast_model: 1\ncolour: a\n", "m.yaml:2:", "colour" },
		{ "corecast_model: 1\nthreads: {}\n", "m.yaml:", "no thread" },
		{ WORKER("      a: { cpu: 4.3, next: a }\n"), "m.yaml:8:", "unit is missing" },
		{ WORKER("      a: { cpu: 4 parsecs, next: a }\n"), "m.yaml:8:", "parsecs" },
		{ WORKER("      a: { cpu: exponetial 4 us, next: a }\n"),
			"m.yaml:8:", "'exponetial' is no distribution" },
		{ WORKER("      a: { get: q, up_to: 0 }\n"), "m.yaml:8:", "up_to" },
		{ "corecast_model: 1\nqueues:\n  q: { instances: 2, initial: 1 }\n",
			"m.yaml:3:", "several instances" },
		{ "corecast_model: 1\nqueues:\n  q: { instances: 1.5 }\n", "m.yaml:3:", "whole" },
		{ "corecast_model: 1\nqueues:\n  q: { instances: 2, calls: true }\n",
			"m.yaml:3:", "'calls'" },
		{ "corecast_model: 1\nthreads:\n  w: { fragments: { a: { cpu: 1 us,\n    visits: "
		  "2, course: {} } } }\n",
			"m.yaml:4:", "needs 'factors'" },
		{ "corecast_model: 1\nthreads:\n  w: { fragments: { a: { cpu: 1 us,\n    visits: "
		  "2, course: { factors: [1, -1] } } } }\n",
			"m.yaml:", "factors of a course are 0" },
		{ "corecast_model: 1\nthreads:\n  w: { fragments: { a: { cpu: 1 us,\n    visits: "
		  "2, course: { factors: [0, 0] } } } }\n",
			"m.yaml:", "all factors" },
		{ "corecast_model: 1\nthreads:\n  w: { fragments: { a: { cpu: 1 us,\n    course: { "
		  "factors: [1, 2] } } } }\n",
			"m.yaml:", "visits" },
		{ "corecast_model: 1\nthreads:\n  w: { fragments: { a: { cpu: 1 us,\n    visits: "
		  "4, course: { factors: [1, 2], parts: 2 } } } }\n",
			"m.yaml:4:", "no field 'parts'" },
		{ WORKER("      a: { loop: a, times: taken + 1 }\n"), "m.yaml:8:", "taken - N" },
		{ WORKER("      a: { cpu: 1 ms }\n      b: { loop: a, times: 2, together: true "
			 "}\n"),
			"m.yaml:9:", "'together'" },
		{ WORKER("      a: { cpu: 4 us + 1, next: a }\n"), "m.yaml:8:", "units" },
		{ WORKER("      a: { cpu: 4 /s, next: a }\n"), "m.yaml:8:", "time is needed" },
		{ WORKER("      a: { cpu: -4 us, next: a }\n"), "m.yaml:8:", "from 0" },
		{ WORKER("      a: { cpu: [2 us, 1 us], next: a }\n"), "m.yaml:8:", "ascending" },
		{ WORKER("      a: { cpu: uniform 3 us, next: a }\n"), "m.yaml:8:", "uniform" },
		{ WORKER("      a: { cpu: 1 us, lock: x }\n"), "m.yaml:8:", "no object 'x'" },
		{ WORKER("      a: { lock: q }\n"), "m.yaml:8:", "does not work on a queue" },
		{ WORKER("      a: { lock: m, unlock: m }\n"), "m.yaml:8:", "two operations" },
		{ WORKER("      a: { lok: m }\n"), "m.yaml:8:", "lok" },
		{ WORKER("      a: { try_lock: m }\n"), "m.yaml:8:", "else" },
		{ WORKER("      a: { lock: m, else: exit }\n"), "m.yaml:8:", "else" },
		{ WORKER("      a: { next: b }\n"), "m.yaml:8:", "no fragment 'b'" },
		{ WORKER("      a: { cpu: 1 us }\n      b:\n        cpu: 1 us\n"
			 "        next: { a: 0.5, b: 0.4 }\n"),
			"m.yaml:9:", "sum to 0.9" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 1.5, exit: -0.5 } }\n"),
			"m.yaml:8:", "probability" },
		{ WORKER("      a: { lock: m }\n      b: { unlock: m, next: a }\n"),
			"m.yaml:8:", "cycle" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, draws: 2.5 }\n"),
			"m.yaml:8:", "'draws'" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, last: exit }\n"),
			"m.yaml:8:", "'last'" },
		{ WORKER("      a:\n        cpu: 1 us\n        next: { a: 0.5, exit: 0.5 }\n"
			 "        draws: 2\n        last: stop\n"),
			"m.yaml:12:", "'last'" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, order: [1, 3] }\n"),
			"m.yaml:8:", "has a 3, of 2" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, order: [0] }\n"),
			"m.yaml:8:", "'0': such as" },
		{ WORKER("      a:\n        cpu: 1 us\n        next: { a: 0.5, exit: 0.5 }\n"
			 "        order: [2, x 1]\n"),
			"m.yaml:11:", "'x 1': such as" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, order: 2 }\n"),
			"m.yaml:8:", "a list" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, order: [0 x 1] }\n"),
			"m.yaml:8:", "1 to 100000 turns" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, order: [100001 x 1] "
			 "}\n"),
			"m.yaml:8:", "1 to 100000 turns" },
		{ WORKER("      a: { cpu: 1 us, next: { a: 0.5, exit: 0.5 }, draws: 2, order: [1] "
			 "}\n"),
			"m.yaml:8:", "'order' needs no" },
		{ WORKER("      a: { cpu: [0 s, 0 s], next: a }\n"), "m.yaml:8:", "cycle" },
		{ WORKER("      a: { sleep: 0 s, next: { a: 0.1, exit: 0.9 } }\n"),
			"m.yaml:8:", "cycle" },
		{ WORKER("      exit: {}\n"), "m.yaml:8:", "exit" },
		{ "corecast_model: 1\nmutexes:\n  m: { instances: 2, shares: [0.7, 0.4] }\n",
			"m.yaml:3:", "sum to more" },
		{ "corecast_model: 1\nmutexes:\n  m: { instances: 2, shares: [0.5, -0.1] }\n",
			"m.yaml:3:", "negative" },
		{ "corecast_model: 1\nmutexes:\n  m:\n    instances: 2\n    shares: [30%, 20%, "
		  "10%]\n",
			"m.yaml:3:", "3 shares of 2 instances" },
		{ "corecast_model: 1\nmutexes:\n  m: { shares: [1 us] }\n", "m.yaml:3:", "" },
		{ "corecast_model: 1\nbarriers:\n  b: { threads: 2, shares: [1] }\n",
			"m.yaml:3:", "shares" },
		{ "corecast_model: 1\nthreads:\n  w:\n    count: 1000000000\n"
		  "    fragments: { a: {} }\n",
			"m.yaml:3:", "1000000" },
		{ "corecast_model: 1\nthreads:\n  w:\n    count: 2.5\n    fragments: { a: {} }\n",
			"m.yaml:3:", "whole" },
		{ "corecast_model: 1\nthreads:\n  w:\n    count: n\n    fragments: { a: {} }\n",
			"m.yaml:4:", "no parameter 'n'" },
		{ "corecast_model: 1\nparameters:\n  us: 4\n", "m.yaml:3:", "unit" },
		{ "corecast_model: 1\nparameters:\n  a: 4\n  b: a + 1\n", "m.yaml:4:", "'a'" },
		{ "corecast_model: 1\nparameters: { a: 1/0 }\n", "m.yaml:2:", "division" },
		{ "corecast_model: 1\nqueues: { q: {} }\nsources: { s: { queue: q } }\n",
			"m.yaml:3:", "poisson" },
		{ "corecast_model: 1\nqueues: { q: {} }\nsources:\n  s: { poisson: 70, queue: q "
		  "}\n",
			"m.yaml:4:", "rate" },
		{ "corecast_model: 1\nsources:\n  s: { poisson: 70 /s, queue: q }\n",
			"m.yaml:3:", "queue" },
		{ "corecast_model: 1\nqueues: { q: {} }\nsources:\n  s: { poisson: 70 /s, queue: q "
		  "}\nthreads: { w: { count: 1, fragments: { a: { put: q } } } }\n",
			"m.yaml:4:", "no fragment gets" },
		{ "corecast_model: 1\nbarriers: { b: {} }\n", "m.yaml:2:", "threads" },
		{ "corecast_model: 1\ndisks: { b: {} }\n", "m.yaml:2:", "classes" },
		{ "corecast_model: 1\nmutexes: { a: {} }\nqueues: { a: {} }\n",
			"m.yaml:3:", "two objects" },
		{ "corecast_model: 1\nhardware: { cores: 5000 }\n", "m.yaml:2:", "1024" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct model *model = NULL;
		struct err err = { "" };
		int code = read_text(cases[i].text, &model, &err);
		if (code != -EINVAL || !strstr(err.text, cases[i].word) ||
			strncmp(err.text, cases[i].line, strlen(cases[i].line)) != 0)
			fail_msg("%s\n%d: '%s' should be %s %s", cases[i].text, code, err.text,
				cases[i].line, cases[i].word);
		assert_null(model);
	}
}

static void formulas_know_their_units(void **state)
{
	(void)state;
	static const struct {
		const char *formula;
		enum model_unit unit;
		double value; /* NAN: refused */
	} cases[] = {
		{ "4.3 us", MODEL_TIME, 4.3e-6 },
		{ "2 min + 1 s", MODEL_TIME, 121 },
		{ "70 /s", MODEL_RATE, 70 },
		{ "3e+06 /s", MODEL_RATE, 3e6 }, /* as it is written */
		{ "1 / (10 ms)", MODEL_RATE, 100 },
		{ "1 s / 4 ms", MODEL_NUMBER, 250 },
		{ "-(2 - 5) * 1e2", MODEL_NUMBER, 300 },
		{ "1 - 25%", MODEL_NUMBER, 0.75 },
		{ "8 - 2 - 1", MODEL_NUMBER, 5 },
		{ "s", MODEL_TIME, 1 },
		{ "", MODEL_NUMBER, NAN },
		{ "1 +", MODEL_NUMBER, NAN },
		{ "(1", MODEL_NUMBER, NAN },
		{ "1 2", MODEL_NUMBER, NAN },
		{ "1.2.3", MODEL_NUMBER, NAN },
		{ "1e+", MODEL_NUMBER, NAN },
		{ "1 s * 1 s", MODEL_TIME, NAN },
		{ "1e308 * 1e308", MODEL_NUMBER, NAN },
		{ "70 /s + 1 s", MODEL_TIME, NAN },
		{ "1 /s", MODEL_TIME, NAN },
	};
	AUTO(model) struct model *model = model_new();
	assert_non_null(model);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct model_value value = { .formula = cases[i].formula };
		double got = NAN;
		struct err err;
		int code = model_evaluate(model, &value, cases[i].unit, NULL, &got, &err);
		if (isnan(cases[i].value) ? code != -EINVAL
					  : code != 0 || fabs(got / cases[i].value - 1) > 1e-15)
			fail_msg("'%s' is %g (%d)", cases[i].formula, got, code);
	}
}

static void times_are_written_in_the_unit_that_suits(void **state)
{
	(void)state;
	static const struct {
		double value;
		enum model_unit unit;
		const char *text;
	} cases[] = {
		{ 0, MODEL_TIME, "0 s" },
		{ 4.3e-6, MODEL_TIME, "4.3 us" },
		{ 2e-10, MODEL_TIME, "0.2 ns" },
		{ 0.00099999999, MODEL_TIME, "1 ms" },
		{ 0.25, MODEL_TIME, "250 ms" },
		{ 120, MODEL_TIME, "120 s" },
		{ 70, MODEL_RATE, "70 /s" },
		{ 3e6, MODEL_RATE, "3e+06 /s" },
		{ 1024, MODEL_NUMBER, "1024" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[MODEL_FORMAT_BYTES];
		model_format(cases[i].value, cases[i].unit, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void names_that_are_no_utf8_are_cleaned(void **state)
{
	(void)state;
	AUTO(model) struct model *model = model_new();
	uint32_t group;
	assert_non_null(model);
	assert_int_equal(model_add_group(model, "a\xff\n\xc3\xa9\xe2\x82", &group), 0);
	assert_string_equal(model->groups[group].name, "a??\xc3\xa9??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_the_format_has_is_read),
		cmocka_unit_test(what_is_written_is_read_back_the_same),
		cmocka_unit_test(wrong_models_are_refused_with_their_line),
		cmocka_unit_test(formulas_know_their_units),
		cmocka_unit_test(times_are_written_in_the_unit_that_suits),
		cmocka_unit_test(names_that_are_no_utf8_are_cleaned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
