/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect/event_set: the shipped files, their names in libpfm4, and what wrong files are told. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "collect/event_code.h"
#include "collect/event_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

static int find_folder(void **state)
{
	(void)state;
	/* libpfm4 then encodes names of processors that are not this one. */
	return setenv("LIBPFM_ENCODE_INACTIVE", "1", 1) || datadir_find("events", &folder, NULL);
}

static int free_folder(void **state)
{
	(void)state;
	free(folder);
	return 0;
}

/* The code of a name on one of the set's processors; as event_code_by_name(). */
static int code_on(const char *pmu, const char *event, struct perf_event_attr *ret)
{
	char name[512];
	snprintf(name, sizeof name, "%s::%s", pmu, event);
	return event_code_by_name(name, ret);
}

static size_t check_names(const struct event_set *set)
{
	size_t checked = 0;
	for (uint32_t i = 0; i < set->events_count; i++) {
		for (uint32_t p = 0; p < set->pmus_count && set->events[i].event; p++) {
			struct perf_event_attr attr = { 0 };
			int r = code_on(set->pmus[p], set->events[i].event, &attr);
			if (r == -EOPNOTSUPP)
				continue; /* a libpfm4 built for another architecture */
			if (r < 0 || attr.type != PERF_TYPE_RAW ||
				attr.config != set->events[i].config)
				fail_msg("%s::%s: libpfm4 says %#llx (%d), the file %#llx",
					set->pmus[p], set->events[i].event,
					(unsigned long long)attr.config, r,
					(unsigned long long)set->events[i].config);
			checked++;
		}
	}
	return checked;
}

static void names_and_codes_of_shipped_sets_agree_in_libpfm4(void **state)
{
	(void)state;
	DIR *files = opendir(folder);
	assert_non_null(files);
	size_t sets = 0, checked = 0;
	for (struct dirent *e; (e = readdir(files));) {
		if (!strstr(e->d_name, ".yaml"))
			continue;
		char path[1024];
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		AUTO(event_set) struct event_set *set = NULL;
		struct err err;
		if (event_set_load(path, &set, &err) < 0)
			fail_msg("%s", err.text);
		sets++;
		checked += check_names(set);
	}
	closedir(files);
	assert_true(sets >= 12);
	if (checked == 0) {
		print_message("skipped: no libpfm4, or none of its tables is for these sets\n");
		skip();
	}
	assert_true(checked >= 2);
}

static void expect_family(const struct machine_cpu *cpu, const char *name)
{
	AUTO(event_set) struct event_set *set = NULL;
	struct err err;
	if (event_set_for_cpu(folder, cpu, &set, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(set->name, name);
}

static void processors_find_their_family(void **state)
{
	(void)state;
	struct machine_cpu intel = { .vendor = "GenuineIntel", .family = 6, .model = 0x55 };
	expect_family(&intel, "Intel Skylake, Cascade Lake");
	intel.model = 0x3f;
	expect_family(&intel, "Intel Sandy Bridge, Ivy Bridge, Haswell");
	intel.model = 0x8f;
	expect_family(&intel, "Intel Sapphire Rapids");
	struct machine_cpu amd = { .vendor = "AuthenticAMD", .family = 16, .model = 9 };
	expect_family(&amd, "AMD family 10h");
	amd.family = 23;
	expect_family(&amd, "AMD Zen 1");
	amd.model = 0x31;
	expect_family(&amd, "AMD Zen 2");
	amd.family = 25;
	expect_family(&amd, "AMD Zen 3");
	amd.model = 0x11;
	expect_family(&amd, "AMD Zen 4");
	struct machine_cpu arm = { .vendor = "Arm", .part = 0xd0c };
	expect_family(&arm, "Arm Neoverse N1");
	arm.part = 0xd49;
	expect_family(&arm, "Arm Neoverse V1, N2, V2");
}

static void an_unknown_processor_is_named(void **state)
{
	(void)state;
	const struct machine_cpu cpu = { .vendor = "CentaurHauls", .family = 7, .model = 59 };
	struct event_set *set = NULL;
	struct err err;
	assert_int_equal(event_set_for_cpu(folder, &cpu, &set, &err), -ENODEV);
	assert_null(set);
	assert_non_null(strstr(err.text, "CentaurHauls"));
	assert_non_null(strstr(err.text, "model 59"));
	assert_int_equal(event_set_for_cpu("/nonexistent", &cpu, &set, &err), -ENOENT);
}

static const char good[] = "name: Test\n"
			   "source: A manual\n"
			   "match:\n"
			   "  - vendor: GenuineIntel\n"
			   "    family: 6\n"
			   "events:\n"
			   "  - name: outer\n"
			   "    config: 0x10a2\n"
			   "    minus: [inner]\n"
			   "    unit: cycles\n"
			   "    meaning: All.\n"
			   "  - name: inner\n"
			   "    config: 0x20a2\n"
			   "    unit: cycles\n"
			   "    meaning: Part.\n";

static void a_hand_written_set_is_read(void **state)
{
	(void)state;
	AUTO(event_set) struct event_set *set = NULL;
	assert_int_equal(event_set_parse("t", good, strlen(good), &set, NULL), 0);
	assert_int_equal(set->events_count, 2);
	assert_int_equal(set->events[0].config, 0x10a2);
	assert_int_equal(set->events[0].minus_count, 1);
	assert_int_equal(event_set_find(set, "inner"), 1);
	assert_int_equal(event_set_find(set, "none"), -1);
	assert_null(set->events[0].event);
}

/* The good text with one part replaced must be refused with these words. */
static void expect_refused(const char *part, const char *by, const char *words)
{
	const char *at = strstr(good, part);
	assert_non_null(at);
	char text[2048];
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, by, at + strlen(part));
	struct event_set *set = NULL;
	struct err err;
	assert_int_equal(event_set_parse("t.yaml", text, strlen(text), &set, &err), -EINVAL);
	assert_null(set);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

static void wrong_sets_are_refused_with_line_and_field(void **state)
{
	(void)state;
	expect_refused(
		"0x20a2", "many", "t.yaml:13: Invalid uint64_t value: 'many' (field 'config')");
	expect_refused("    family: 6\n", "    famly: 6\n", "t.yaml:5: Unexpected key: famly");
	expect_refused("source: A manual\n", "", "Missing required mapping field: source");
	expect_refused("match:", "match", "t.yaml:");
	expect_refused("name: inner", "name: [inner", "t.yaml:12:");
	expect_refused("- name: inner",
		"- {name: inner, config: 1, unit: cycles, meaning: x}\n  - name: inner",
		"a second event is named 'inner'");
	expect_refused("name: outer", "name: 1st,event", "name '1st,event' must be a letter");
	expect_refused("[inner]", "[other]", "minus names no other event: 'other'");
	expect_refused("[inner]", "[outer]", "minus names no other event: 'outer'");
	expect_refused("    config: 0x20a2\n", "", "event 'inner': needs 'event' or 'config'");
	expect_refused("vendor: GenuineIntel", "vendor: *x", "t.yaml:4:");
	expect_refused(good, "", "t.yaml:1: the file says nothing");
	expect_refused(strstr(good, "events:"), "events: []\n", "note must say why");
}

static void files_that_are_no_sets_are_refused(void **state)
{
	(void)state;
	struct event_set *set = NULL;
	struct err err;
	assert_int_equal(event_set_load("/nonexistent.yaml", &set, &err), -ENOENT);
	assert_int_equal(event_set_load("/dev/zero", &set, &err), -EFBIG);
	assert_true(event_set_load("/", &set, &err) < 0);
	assert_null(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_codes_of_shipped_sets_agree_in_libpfm4),
		cmocka_unit_test(processors_find_their_family),
		cmocka_unit_test(an_unknown_processor_is_named),
		cmocka_unit_test(a_hand_written_set_is_read),
		cmocka_unit_test(wrong_sets_are_refused_with_line_and_field),
		cmocka_unit_test(files_that_are_no_sets_are_refused),
	};
	return cmocka_run_group_tests_name("event_set", tests, find_folder, free_folder);
}
