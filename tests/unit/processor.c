/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/mem.h"
#include "uarch/machine_field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char least[] = "name: tiny\n"
			    "source: invented\n"
			    "cores: 2\n"
			    "frequency: 2 GHz\n"
			    "dispatch_width: 3\n"
			    "rob: 40\n"
			    "front_end: 9\n"
			    "predictor: gshare\n"
			    "ports: 3\n"
			    "load_ports: [2]\n"
			    "store_ports: [1, 2]\n"
			    "units:\n"
			    "  divide: { latency: 20, interval: 18, ports: [0] }\n"
			    "l1i: { size: 16 KiB, ways: 2, latency: 2 }\n"
			    "l1: { size: 16 KiB, ways: 2, latency: 3 }\n"
			    "l2: { size: 1 MiB, ways: 8, latency: 10 ns, shared_by: 2 }\n"
			    "memory: { latency: 80 ns, transfer: 30 ns }\n"
			    "threads: { lock: 30, wake: 2 us }\n";

/* `least` with one text replaced; the caller frees it. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(least, from);
	char *text = NULL;
	assert_non_null(at);
	assert_true(
		asprintf(&text, "%.*s%s%s", (int)(at - least), least, to, at + strlen(from)) > 0);
	return text;
}

static void figures_and_defaults_are_read(void **state)
{
	(void)state;
	AUTO_RELEASE(processor) struct processor p = { 0 };
	struct err err = { "" };
	assert_int_equal(processor_parse("f", least, strlen(least), &p, &err), 0);
	assert_string_equal(p.name, "tiny");
	assert_int_equal(p.cores, 2);
	assert_true(p.frequency_hz == 2e9);
	assert_int_equal(p.retire_width, 3);
	assert_int_equal(p.issue_queue, 40);
	assert_int_equal(p.load_ports, 4);
	assert_int_equal(p.store_ports, 6);
	assert_int_equal(p.units[CODE_DIVIDE].interval, 18);
	assert_int_equal(p.units[CODE_DIVIDE].ports, 1);
	assert_int_equal(p.units[CODE_ALU].ports, 7);
	assert_int_equal(p.units[CODE_ALU].latency, 1);
	assert_int_equal(p.level_count, 2);
	assert_int_equal(p.levels[0].shared_by, 1);
	assert_int_equal(p.levels[1].bytes, 1 << 20);
	assert_true(cache_latency_cycles(&p.levels[1], &p) == 20); /* 10 ns at 2 GHz */
	assert_true(p.wake_ns == 2000);
	assert_int_equal(p.predictor, PREDICTOR_GSHARE);
	assert_int_equal(p.power.voltage_count, 0);
}

static void what_is_left_out_of_the_finer_figures_is_as_the_coarser(void **state)
{
	(void)state;
	AUTO_RELEASE(processor) struct processor p = { 0 };
	AUTO_RELEASE(processor) struct processor finer = { 0 };
	AUTO_FREE char *coarse = changed("divide:", "fp_divide:");
	AUTO_FREE char *fine = changed("units:\n", "vector_load_ports: [1]\nvector_load: 2\n"
						   "vector_load_blocks: [0]\n"
						   "locked_miss: 5\n"
						   "compare_ports: [0]\nunits:\n"
						   "  fp_divide: { interval: 5 }\n"
						   "  fp_root: { interval: 9 }\n");
	assert_int_equal(processor_parse("f", coarse, strlen(coarse), &p, NULL), 0);
	assert_int_equal(p.units[CODE_FP_ROOT].interval, 18);
	assert_int_equal(p.units[CODE_FP_ROOT_SINGLE].interval, 18);
	assert_int_equal(p.vector_load_ports, 0);
	assert_int_equal(processor_parse("f", fine, strlen(fine), &finer, NULL), 0);
	assert_int_equal(finer.units[CODE_FP_ROOT].interval, 9);
	assert_int_equal(finer.units[CODE_FP_ROOT_SINGLE].interval, 5);
	assert_int_equal(finer.vector_load_ports, 2);
	assert_int_equal(finer.vector_load_blocks, 1);
	assert_int_equal(finer.compare_ports, 1);
	assert_int_equal(finer.vector_load, 2);
	assert_int_equal(p.locked_miss, 0);
	assert_int_equal(finer.locked_miss, 5);
}

static void errors_name_line_and_field(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to, *text;
	} cases[] = {
		{ "rob: 40", "rob: 0", "f:6: 0 is too little: the least is 1, in 'rob'" },
		{ "rob: 40", "rob: 40.5", "f:6: 40.5 is not a whole number, in 'rob'" },
		{ "rob: 40", "rob: many", "f:6: 'many' is not a number, in 'rob'" },
		{ "rob: 40\n", "", "f:1: the field 'rob' is missing" },
		{ "2 GHz", "2",
			"f:4: '2' is not a number with a unit (Hz, kHz, MHz, GHz), in "
			"'frequency'" },
		{ "gshare", "oracle",
			"f:8: 'oracle' is none of bimodal, gshare, tournament, tage, perfect, in "
			"'predictor'" },
		{ "load_ports: [2]", "load_ports: [3]",
			"f:10: a port is a number from 0 to 2, in 'load_ports'" },
		{ "  divide:", "  conquer:",
			"f:13: 'conquer' is no class of instructions, in 'units'" },
		{ "interval: 18", "interval: 0",
			"f:13: cycles are a whole number from 1 to 10000, in "
			"'units.divide.interval'" },
		{ "ports: [0]", "ports: [1, 9]",
			"f:13: a port is a number from 0 to 2, in 'units.divide.ports'" },
		{ "10 ns", "1 ns", "f:16: faster than the level before it, in 'l2.latency'" },
		{ "l2:", "l3:", "f:16: the level before it is missing, in 'l3'" },
		{ "ways: 8", "ways: 65536",
			"f:16: more ways than lines of 64 bytes, in 'l2.ways'" },
		{ "latency: 80 ns", "latency: 9 ns",
			"f:17: faster than the last cache, in 'memory.latency'" },
		{ "transfer: 30 ns", "transfer: 30 ns, colour: red",
			"f:17: memory has no field 'colour'" },
		{ "memory:", "tlb: { entries: 8, ways: 16, walk: 9 ns }\nmemory:",
			"f:17: more ways than entries, in 'tlb.ways'" },
		{ "memory:", "tlb: { entries: 8, ways: 0 }\nmemory:",
			"f:17: the field 'tlb.walk' is missing" },
		{ "memory:", "targets: { entries: 8 }\nmemory:",
			"f:17: the field 'targets.delay' is missing" },
		{ "memory:", "targets: { entries: 8, delay: 1, second_entries: 4 }\nmemory:",
			"f:17: fewer than the level before it has, in 'targets.second_entries'" },
		{ "threads: { lock: 30, wake: 2 us }", "",
			"f:1: the section 'threads' is missing" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RELEASE(processor) struct processor p = { 0 };
		AUTO_FREE char *text = changed(cases[i].from, cases[i].to);
		struct err err = { "" };
		assert_int_equal(processor_parse("f", text, strlen(text), &p, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].text);
		assert_null(p.name);
	}
}

/* The text that it is written as; the caller frees it. */
static char *written(const struct processor *processor)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	processor_write(processor, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *read_machine(const char *name)
{
	AUTO_FREE char *relative = NULL, *path = NULL;
	struct err err = { "" };
	char *text = NULL;
	size_t capacity = 0;
	assert_true(asprintf(&relative, "machines/%s.yaml", name) > 0);
	assert_int_equal(datadir_find(relative, &path, &err), 0);
	AUTO_FILE FILE *in = fopen(path, "re");
	assert_non_null(in);
	assert_true(getdelim(&text, &capacity, '\0', in) > 0);
	return text;
}

static const char *const machines[] = { "smallest", "small", "base", "big", "biggest", "icelake-sp",
	"sapphire-rapids", "granite-rapids", "zen3", "zen4", "zen5", "neoverse-n1", "neoverse-v1",
	"generic" };

static void machines_are_written_as_they_were_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		AUTO_RELEASE(processor) struct processor p = { 0 }, again = { 0 };
		AUTO_FREE char *text = read_machine(machines[i]);
		struct err err = { "" };
		if (processor_parse(machines[i], text, strlen(text), &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(p.name, machines[i]);
		AUTO_FREE char *first = written(&p);
		assert_int_equal(processor_parse("w", first, strlen(first), &again, &err), 0);
		AUTO_FREE char *second = written(&again);
		assert_string_equal(first, second);
		assert_true(p.memory_ns == again.memory_ns && p.rob == again.rob);
		assert_memory_equal(p.units, again.units, sizeof p.units);
		assert_memory_equal(p.levels, again.levels, sizeof p.levels);
	}
}

/* RPPM, section VI-A. */
static void the_papers_five_have_the_same_peak(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5; i++) {
		AUTO_RELEASE(processor) struct processor p = { 0 };
		AUTO_FREE char *text = read_machine(machines[i]);
		assert_int_equal(processor_parse("m", text, strlen(text), &p, NULL), 0);
		assert_float_equal(p.frequency_hz * p.dispatch_width, 1e10, 0.05e9);
	}
}

static void fields_are_set_by_name(void **state)
{
	(void)state;
	AUTO_RELEASE(processor) struct processor p = { 0 };
	struct err err = { "" };
	char text[MACHINE_VALUE_BYTES];
	assert_int_equal(processor_parse("f", least, strlen(least), &p, &err), 0);
	const struct machine_field *field = machine_field_find("l2.latency");
	assert_non_null(field);
	assert_int_equal(machine_field_set(field, &p, 25, false, &err), 0);
	assert_true(p.levels[1].latency == 25 && p.levels[1].latency_ns == 0);
	machine_field_format(field, &p, text);
	assert_string_equal(text, "25");
	field = machine_field_find("frequency");
	assert_int_equal(machine_field_set(field, &p, 3.33e9, false, &err), 0);
	machine_field_format(field, &p, text);
	assert_string_equal(text, "3.33 GHz");
	assert_null(machine_field_find("l2.colour"));
	assert_null(machine_field_find("size"));
}

static void half_a_core_has_half_of_what_is_its_own(void **state)
{
	(void)state;
	AUTO_RELEASE(processor) struct processor p = { 0 };
	AUTO_FREE char *text = read_machine("sapphire-rapids");
	assert_int_equal(processor_parse("m", text, strlen(text), &p, NULL), 0);
	p.sibling_busy = 0.7;
	struct processor half; /* borrows */
	processor_halve(&p, &half);
	assert_int_equal(half.dispatch_width * 2, p.dispatch_width);
	assert_int_equal(half.rob * 2, p.rob);
	assert_int_equal(half.levels[0].bytes * 2, p.levels[0].bytes);
	assert_int_equal(half.levels[2].bytes, p.levels[2].bytes); /* of several cores */
	assert_int_equal(half.levels[0].latency, p.levels[0].latency);
	assert_int_equal(half.units[CODE_ALU].interval, 2);
	assert_int_equal(half.units[CODE_DIVIDE].interval, p.units[CODE_DIVIDE].interval);
	assert_true(half.sibling_busy == 0 && half.memory_ns == p.memory_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_and_defaults_are_read),
		cmocka_unit_test(what_is_left_out_of_the_finer_figures_is_as_the_coarser),
		cmocka_unit_test(errors_name_line_and_field),
		cmocka_unit_test(machines_are_written_as_they_were_read),
		cmocka_unit_test(the_papers_five_have_the_same_peak),
		cmocka_unit_test(fields_are_set_by_name),
		cmocka_unit_test(half_a_core_has_half_of_what_is_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
