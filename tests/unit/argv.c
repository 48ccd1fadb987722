/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of a command line. */
#include "cmocka_all.h"

#include "collect/argv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_count_is_put_in_anywhere(void **state)
{
	(void)state;
	static const struct {
		const char *word, *expected;
	} cases[] = {
		{ "{n}", "12" },
		{ "-T{n}", "-T12" },
		{ "--threads={n},{n}", "--threads=12,12" },
		{ "{n}{n}", "1212" },
		{ "{N} {n {} n}", "{N} {n {} n}" },
		{ "", "" },
		{ "plain", "plain" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *word = argv_substitute(cases[i].word, 12);
		assert_string_equal(word, cases[i].expected);
		free(word);
	}
}

static void a_whole_line_is_expanded(void **state)
{
	(void)state;
	static const char *const words[] = { "prog", "-p", "{n}", "in {n}.txt", NULL };
	AUTO(argv) char **expanded = NULL;
	assert_int_equal(argv_expand((char *const *)words, 3, &expanded), 0);
	assert_string_equal(expanded[0], "prog");
	assert_string_equal(expanded[2], "3");
	assert_string_equal(expanded[3], "in 3.txt");
	assert_null(expanded[4]);
	assert_true(argv_has_count((char *const *)words));
	static const char *const none[] = { "prog", "n", NULL };
	assert_false(argv_has_count((char *const *)none));
}

static void a_program_is_found_in_path_or_refused_with_its_name(void **state)
{
	(void)state;
	char *path = NULL;
	struct err err;
	assert_int_equal(argv_find_program("sh", &path, &err), 0);
	assert_true(path[0] == '/' && strcmp(path + strlen(path) - 3, "/sh") == 0);
	free(path);
	path = NULL;
	assert_int_equal(argv_find_program("no-such-program-here", &path, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no-such-program-here"));
	assert_int_equal(argv_find_program("/nonexistent/x", &path, &err), -ENOENT);
	assert_int_equal(argv_find_program("/etc/passwd", &path, &err), -EACCES);
	assert_int_equal(argv_find_program("/etc", &path, &err), -EACCES);
	assert_int_equal(argv_find_program("", &path, &err), -ENOENT);
	assert_null(path);
}

/* What quoting writes, a shell must read back. */
static void a_shell_reads_back_what_was_quoted(void **state)
{
	(void)state;
	static const char *const words[] = { "printf", "%s|", "plain", "", "two words", "it's",
		"a$b`c\"d\\e", "*?[x]", "~", "#no", "new\nline", "{n}", NULL };
	AUTO_RELEASE(strbuf) struct strbuf quoted = { 0 };
	argv_quote(&quoted, (char *const *)words);
	assert_int_equal(strbuf_failed(&quoted), 0);
	assert_null(strchr(quoted.text, '\n'));
	AUTO_RELEASE(strbuf) struct strbuf command = { 0 };
	strbuf_add(&command, "exec bash -c '");
	for (const char *c = quoted.text; *c; c++)
		strbuf_add_bytes(&command, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
	strbuf_add(&command, "'");
	FILE *out = popen(command.text, "r");
	assert_non_null(out);
	char text[256];
	size_t length = fread(text, 1, sizeof text - 1, out);
	text[length] = '\0';
	if (pclose(out) != 0 || length == 0) {
		print_message("bash is missing\n");
		skip();
	}
	assert_string_equal(text, "plain||two words|it's|a$b`c\"d\\e|*?[x]|~|#no|new\nline|{n}|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_count_is_put_in_anywhere),
		cmocka_unit_test(a_whole_line_is_expanded),
		cmocka_unit_test(a_program_is_found_in_path_or_refused_with_its_name),
		cmocka_unit_test(a_shell_reads_back_what_was_quoted),
	};
	return cmocka_run_group_tests_name("argv", tests, NULL, NULL);
}
