/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plugin files and what they read from a program's output. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "collect/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REST "expression: 'x=([0-9.]+)'\nreduction: sum\nunit: cycles\n"

static struct plugin *parse(const char *text)
{
	struct plugin *plugin = NULL;
	struct err err;
	if (plugin_parse(text, strlen(text), "p.yaml", &plugin, &err) < 0)
		fail_msg("%s", err.text);
	return plugin;
}

static void a_plugin_is_read(void **state)
{
	(void)state;
	AUTO(plugin)
	struct plugin *plugin = parse(
		"# locks\ncategory: lock_wait\nsource: stderr\nexpression: 'waited ([0-9.]+) ms'\n"
		"reduction: max\nunit: seconds\nscale: 0.001\n");
	assert_string_equal(plugin->category, "lock_wait");
	assert_int_equal(plugin->unit, PLUGIN_SECONDS);
	assert_true(plugin->scale == 0.001);
	assert_true(plugin_reads(plugin, CAPTURE_STDERR));
	assert_false(plugin_reads(plugin, CAPTURE_STDOUT));
}

static void a_wrong_plugin_is_refused_with_line_and_field(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *line, *word;
	} cases[] = {
		{ "category: a\nsource: stdout\nexpression: 'x([0-9]+)'\nreduction: mean\n"
		  "unit: cycles\n",
			"p.yaml:4:", "reduction" },
		{ "category: a\nsource: stdout\nexpression: 'x([0-9]+)'\nreduction: sum\n"
		  "unit: bananas\n",
			"p.yaml:5:", "unit" },
		{ "category: a\nsource: stdout\n\nexpression: 'x[0-9]+'\nreduction: sum\n"
		  "unit: cycles\n",
			"p.yaml:4:", "expression" },
		{ "category: a\nsource: stdout\nexpression: 'x([0-9]+'\nreduction: sum\n"
		  "unit: cycles\n",
			"p.yaml:3:", "expression" },
		{ "category: a\nsource: \"x\\ny\"\n" REST, "p.yaml:2:", "source" },
		{ "category: a\nsource: x\nexpression: \"(a\\n\\t\"\nreduction: sum\nunit: "
		  "cycles\n",
			"p.yaml:3:", "(a??" },
		{ "category: a,b\nsource: stdout\n" REST, "p.yaml:1:", "category" },
		{ "category: a\n" REST, "p.yaml:", "source" },
		{ "category: a\nsource: stdout\n" REST "scale: -1\n", "p.yaml:6:", "scale" },
		{ "category: a\nsource: stdout\n" REST "colour: red\n", "p.yaml:6:", "colour" },
		{ "category: [\n", "p.yaml:", "" },
		{ "", "p.yaml:1:", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plugin *plugin = NULL;
		struct err err;
		int status =
			plugin_parse(cases[i].text, strlen(cases[i].text), "p.yaml", &plugin, &err);
		assert_int_equal(status, -EINVAL);
		assert_null(plugin);
		if (!strstr(err.text, cases[i].line) || !strstr(err.text, cases[i].word))
			fail_msg("case %zu: %s", i, err.text);
	}
}

static double read_output(const struct plugin *plugin, const char *output)
{
	AUTO_RELEASE(capture) struct capture capture;
	assert_int_equal(capture_init(&capture, CAPTURE_WHOLE, CAPTURE_WHOLE, NULL), 0);
	ssize_t length = (ssize_t)strlen(output);
	assert_int_equal(write(capture.fds[CAPTURE_STDOUT], output, (size_t)length), length);
	double value = -1;
	struct err err;
	if (plugin_read(plugin, &capture, 4, (struct timespec){ 0 }, &value, &err) < 0)
		fail_msg("%s", err.text);
	return value;
}

static void matches_are_reduced(void **state)
{
	(void)state;
	static const struct {
		const char *reduction;
		double expected;
	} cases[] = { { "sum", 13 }, { "min", 2 }, { "max", 8 }, { "average", 13.0 / 3 } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		(void)snprintf(text, sizeof text,
			"category: a\nsource: stdout\nexpression: '^x=([0-9.]+)'\nreduction: %s\n"
			"unit: cycles\n",
			cases[i].reduction);
		AUTO(plugin) struct plugin *plugin = parse(text);
		double value = read_output(plugin, "x=3\nnoise x=99\nx=8\nx=2");
		assert_true(fabs(value - cases[i].expected) < 1e-12);
	}
}

static void no_match_is_not_a_zero(void **state)
{
	(void)state;
	AUTO(plugin) struct plugin *plugin = parse("category: a\nsource: stdout\n" REST);
	assert_true(isnan(read_output(plugin, "nothing here\n")));
	assert_true(isnan(read_output(plugin, "")));
	assert_true(read_output(plugin, "x=0\n") == 0);
}

static void binary_output_does_no_harm(void **state)
{
	(void)state;
	AUTO(plugin) struct plugin *plugin = parse("category: a\nsource: stdout\n" REST);
	AUTO_RELEASE(capture) struct capture capture;
	assert_int_equal(capture_init(&capture, CAPTURE_WHOLE, CAPTURE_WHOLE, NULL), 0);
	static const char bytes[] = "\0\xff\xfe junk\0\nab\0x=7\n";
	assert_true(write(capture.fds[CAPTURE_STDOUT], bytes, sizeof bytes - 1) > 0);
	char *long_line = calloc(1, 300000); /* longer than what is searched */
	assert_non_null(long_line);
	assert_true(write(capture.fds[CAPTURE_STDOUT], long_line, 300000) == 300000);
	free(long_line);
	double value = -1;
	assert_int_equal(plugin_read(plugin, &capture, 1, (struct timespec){ 0 }, &value, NULL), 0);
	assert_true(value == 7);
}

static void what_is_no_number_is_refused(void **state)
{
	(void)state;
	AUTO(plugin)
	struct plugin *plugin =
		parse("category: a\nsource: stdout\nexpression: 'x=(.*)'\nreduction: sum\n"
		      "unit: cycles\n");
	static const char *const outputs[] = { "x=abc\n", "x=1e999\n", "x=nan\n", "x=\n",
		"x=-3\n" };
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		AUTO_RELEASE(capture) struct capture capture;
		assert_int_equal(capture_init(&capture, CAPTURE_WHOLE, CAPTURE_WHOLE, NULL), 0);
		size_t length = strlen(outputs[i]);
		assert_true(write(capture.fds[CAPTURE_STDOUT], outputs[i], length) > 0);
		double value;
		struct err err;
		assert_int_equal(
			plugin_read(plugin, &capture, 1, (struct timespec){ 0 }, &value, &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "plugin 'a'"));
	}
}

static void a_file_of_an_earlier_run_is_refused(void **state)
{
	(void)state;
	char folder[] = "/tmp/corecast-plugin-XXXXXX";
	assert_non_null(mkdtemp(folder));
	char path[64], text[256];
	(void)snprintf(path, sizeof path, "%s/waits.4.txt", folder);
	(void)snprintf(text, sizeof text, "category: a\nsource: %s/waits.{n}.txt\n" REST, folder);
	AUTO(plugin) struct plugin *plugin = parse(text);
	struct timespec start;
	(void)clock_gettime(CLOCK_REALTIME, &start);
	double value;
	struct err err;
	assert_int_equal(plugin_read(plugin, NULL, 4, start, &value, &err), -ENOENT);
	assert_non_null(strstr(err.text, "waits.4.txt"));

	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(write(fd, "x=5\n", 4) == 4);
	assert_int_equal(plugin_read(plugin, NULL, 4, start, &value, &err), 0);
	assert_true(value == 5);
	start.tv_sec += 10;
	assert_int_equal(plugin_read(plugin, NULL, 4, start, &value, &err), -ESTALE);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_is_read),
		cmocka_unit_test(a_wrong_plugin_is_refused_with_line_and_field),
		cmocka_unit_test(matches_are_reduced),
		cmocka_unit_test(no_match_is_not_a_zero),
		cmocka_unit_test(binary_output_does_no_harm),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(a_file_of_an_earlier_run_is_refused),
	};
	return cmocka_run_group_tests_name("plugin", tests, NULL, NULL);
}
