/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base: lists of counts, strict numbers, errors, output files, the generator. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/err.h"
#include "base/intlist.h"
#include "base/number.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "base/strbuf.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect_list(const char *text, const uint32_t *expected, size_t expected_count)
{
	AUTO_FREE uint32_t *list = NULL;
	size_t count = 0;
	assert_int_equal(intlist_parse(text, 1, 1024, &list, &count, NULL), 0);
	assert_int_equal(count, expected_count);
	assert_memory_equal(list, expected, expected_count * sizeof *list);
}

static void lists_of_counts_are_read(void **state)
{
	(void)state;
	expect_list("8", (const uint32_t[]){ 8 }, 1);
	expect_list("1-4", (const uint32_t[]){ 1, 2, 3, 4 }, 4);
	expect_list("8,1,2,2,4", (const uint32_t[]){ 1, 2, 4, 8 }, 4);
	expect_list("1-10:4", (const uint32_t[]){ 1, 5, 9, 10 }, 4);
	expect_list("1-3,8-16:8", (const uint32_t[]){ 1, 2, 3, 8, 16 }, 5);
}

static void wrong_lists_are_refused_with_the_text(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "a", "1-", "-3", "4-2", "1,,2", "1-8:0",
		"1-8:", "1 2", "0", "5000", "99999999999999999999" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint32_t *list = NULL;
		size_t count = 0;
		struct err err;
		assert_true(intlist_parse(wrong[i], 1, 1024, &list, &count, &err) < 0);
		assert_null(list);
		assert_non_null(strstr(err.text, wrong[i]));
	}
}

static void a_count_beyond_32_bits_is_not_the_largest_of_them(void **state)
{
	(void)state;
	uint32_t *list = NULL;
	size_t count = 0;
	assert_int_equal(
		intlist_parse("4294967296", UINT32_MAX, UINT32_MAX, &list, &count, NULL), -ERANGE);
	assert_null(list);
}

static void numbers_are_whole_texts(void **state)
{
	(void)state;
	double d = 0;
	uint32_t u = 0;
	assert_int_equal(number_parse_double(" 1.5e3 ", &d), 0);
	assert_true(d == 1500);
	assert_int_equal(number_parse_double("12abc", &d), -EINVAL);
	assert_int_equal(number_parse_double("", &d), -EINVAL);
	assert_int_equal(number_parse_double("0x10", &d), -EINVAL);
	assert_int_equal(number_parse_double("1,5", &d), -EINVAL);
	assert_int_equal(number_parse_double("1e999", &d), -ERANGE);
	static const struct {
		const char *text;
		double value; /* NAN: none */
	} printed[] = { { "1.5", 1.5 }, { "1e3", 1e3 }, { "12,345", 12345 },
		{ " -1,234,567.5 ", -1234567.5 }, { "1.5k", 1500 }, { "12,345M", 12345e6 },
		{ "2T", 2e12 }, { "1,5", NAN }, { "1234,567", NAN }, { "1,234,56", NAN },
		{ "1.2,345", NAN }, { "k", NAN }, { "", NAN }, { "5kk", NAN }, { ",123", NAN } };
	for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
		bool is_number = number_parse_printed(printed[i].text, &d) == 0;
		assert_int_equal(is_number, !isnan(printed[i].value));
		if (is_number)
			assert_true(d == printed[i].value);
	}
	assert_int_equal(number_parse_u32("42", &u), 0);
	assert_int_equal(u, 42);
	assert_int_equal(number_parse_u32("-1", &u), -EINVAL);
	assert_int_equal(number_parse_u32("4294967296", &u), -ERANGE);
}

static void numbers_do_not_follow_the_locale(void **state)
{
	(void)state;
	static const char *const comma_locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };
	const char *set = NULL;
	for (size_t i = 0; !set && i < sizeof comma_locales / sizeof *comma_locales; i++)
		set = setlocale(LC_ALL, comma_locales[i]);
	if (!set) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	double d = 0;
	int code = number_parse_double("1.5", &d);
	(void)setlocale(LC_ALL, "C"); /* always there */
	assert_int_equal(code, 0);
	assert_true(d == 1.5);
}

static void an_uncommitted_file_leaves_nothing(void **state)
{
	(void)state;
	char path[] = "/tmp/corecast-test-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	{
		AUTO_RELEASE(outfile) struct outfile out = { 0 };
		assert_int_equal(outfile_open(&out, path, NULL), 0);
		fputs("new and half-written", out.file);
	}
	char text[32] = "";
	AUTO_FILE FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	assert_string_equal(text, "old");
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	assert_int_equal(outfile_open(&out, path, NULL), 0);
	fputs("new", out.file);
	assert_int_equal(outfile_commit(&out, NULL), 0);
	AUTO_FILE FILE *again = fopen(path, "r");
	assert_non_null(fgets(text, sizeof text, again));
	assert_string_equal(text, "new");
	unlink(path);
}

static void output_through_a_link_keeps_the_link(void **state)
{
	(void)state;
	char folder[] = "/tmp/corecast-test-XXXXXX";
	assert_non_null(mkdtemp(folder));
	AUTO_RELEASE(strbuf) struct strbuf real = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf link = { 0 };
	strbuf_addf(&real, "%s/real", folder);
	strbuf_addf(&link, "%s/link", folder);
	AUTO_FILE FILE *old = fopen(real.text, "w");
	assert_non_null(old);
	assert_int_equal(symlink("real", link.text), 0);
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	assert_int_equal(outfile_open(&out, link.text, NULL), 0);
	fputs("new", out.file);
	assert_int_equal(outfile_commit(&out, NULL), 0);
	char text[8] = "";
	assert_int_equal(readlink(link.text, text, sizeof text - 1), 4);
	AUTO_FILE FILE *again = fopen(real.text, "r");
	assert_non_null(fgets(text, sizeof text, again));
	assert_string_equal(text, "new");
	unlink(link.text);
	unlink(real.text);
	assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	struct err err = { "" };
	assert_int_equal(outfile_open(&out, "/dev/full", &err), 0);
	for (int i = 0; i < 100000; i++)
		fputs("more than a buffer ", out.file);
	assert_int_equal(outfile_commit(&out, &err), -EIO);
	assert_non_null(strstr(err.text, "cannot write '/dev/full'"));
	assert_null(strstr(err.text, "Success"));
}

static void only_a_file_is_replaced_and_only_if_that_is_wanted(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(outfile_check("/nonexistent/x", false, &err), 0);
	assert_int_equal(outfile_check("/proc/self/exe", true, &err), 0);
	assert_int_equal(outfile_check("/proc/self/exe", false, &err), -EEXIST);
	assert_int_equal(outfile_check("/dev/null", true, &err), -EINVAL);
	assert_int_equal(outfile_check("/", true, &err), -EINVAL);
}

static void output_into_a_missing_folder_is_an_error(void **state)
{
	(void)state;
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	struct err err;
	assert_int_equal(outfile_open(&out, "/nonexistent/x", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x"));
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
	(void)state;
	struct rng a, b;
	rng_init(&a, 7);
	rng_init(&b, 7);
	double sum = 0, squares = 0;
	for (int i = 0; i < 100000; i++) {
		double x = rng_normal(&a);
		assert_true(x == rng_normal(&b));
		sum += x;
		squares += x * x;
	}
	/* Five standard errors of a mean of 1e5 unit normals. */
	assert_true(fabs(sum / 1e5) < 5 / sqrt(1e5));
	assert_true(fabs(squares / 1e5 - 1) < 5 * sqrt(2 / 1e5));
}

static void a_string_grows(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf s = { 0 };
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&s, "%d,", i % 10);
	strbuf_add(&s, "end");
	assert_int_equal(strbuf_failed(&s), 0);
	assert_int_equal(s.length, 2003);
	assert_string_equal(s.text + 2000, "end");
}

static void errors_keep_the_place(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(err_set(&err, -EINVAL, "'%s' is odd", "x"), -EINVAL);
	assert_int_equal(err_prefix(&err, -EINVAL, "%s:%d", "file", 3), -EINVAL);
	assert_string_equal(err.text, "file:3: 'x' is odd");
	assert_int_equal(err_set(NULL, -EIO, "nobody listens"), -EIO);
}

static void shipped_files_are_found_from_the_build_tree(void **state)
{
	(void)state;
	AUTO_FREE char *path = NULL;
	/* This program is build/tests/unit/test_base. */
	assert_int_equal(datadir_find("tests/unit/test_base", &path, NULL), 0);
	assert_int_equal(path[0], '/');
	assert_int_equal(access(path, X_OK), 0);
}

static void a_persons_own_data_folder_wins(void **state)
{
	(void)state;
	char folder[] = "/tmp/corecast-test-XXXXXX";
	assert_non_null(mkdtemp(folder));
	char own[64];
	snprintf(own, sizeof own, "%s/build.ninja", folder);
	AUTO_FILE FILE *file = fopen(own, "w");
	assert_non_null(file);
	AUTO_FREE char *built = NULL, *path = NULL;
	assert_int_equal(datadir_find("build.ninja", &built, NULL), 0);
	assert_int_equal(setenv("CORECAST_DATADIR", folder, 1), 0);
	assert_int_equal(datadir_find("build.ninja", &path, NULL), 0);
	assert_int_equal(unsetenv("CORECAST_DATADIR"), 0);
	assert_string_equal(path, own);
	assert_string_not_equal(path, built);
	unlink(own);
	rmdir(folder);
}

static void a_missing_data_file_names_the_way_out(void **state)
{
	(void)state;
	char *path = NULL;
	struct err err;
	assert_int_equal(datadir_find("events/no-such.yaml", &path, &err), -ENOENT);
	assert_null(path);
	assert_non_null(strstr(err.text, "events/no-such.yaml"));
	assert_non_null(strstr(err.text, "CORECAST_DATADIR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_counts_are_read),
		cmocka_unit_test(wrong_lists_are_refused_with_the_text),
		cmocka_unit_test(a_count_beyond_32_bits_is_not_the_largest_of_them),
		cmocka_unit_test(numbers_are_whole_texts),
		cmocka_unit_test(numbers_do_not_follow_the_locale),
		cmocka_unit_test(an_uncommitted_file_leaves_nothing),
		cmocka_unit_test(output_through_a_link_keeps_the_link),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(only_a_file_is_replaced_and_only_if_that_is_wanted),
		cmocka_unit_test(output_into_a_missing_folder_is_an_error),
		cmocka_unit_test(the_same_seed_gives_the_same_numbers),
		cmocka_unit_test(a_string_grows),
		cmocka_unit_test(errors_keep_the_place),
		cmocka_unit_test(shipped_files_are_found_from_the_build_tree),
		cmocka_unit_test(a_persons_own_data_folder_wins),
		cmocka_unit_test(a_missing_data_file_names_the_way_out),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
