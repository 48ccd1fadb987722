/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RUNS.csv as it is written, torn and resumed. */
#include "cmocka_all.h"

#include "collect/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "lock", "tx" };
static const struct journal_subject subject = { .command = "prog -t {n}",
	.settings = "pin auto",
	.machine = "a machine",
	.system = "a system",
	.stall_names = names,
	.stall_count = 2,
	.stall_unit = "cycles" };

static char folder[] = "/tmp/corecast-journal-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof path, "%s/runs.csv", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void expect_end(const char *expected)
{
	AUTO_FILE FILE *f = fopen(path, "r");
	assert_non_null(f);
	char text[4096];
	size_t length = fread(text, 1, sizeof text - 1, f);
	text[length] = '\0';
	size_t wanted = strlen(expected);
	assert_true(length >= wanted);
	assert_string_equal(text + length - wanted, expected);
}

static void append(struct journal *journal, uint32_t threads)
{
	double stalls[] = { 12.5, NAN };
	struct record record = { .threads = threads,
		.repeat = 1,
		.wall_s = 0.25,
		.user_s = 1,
		.system_s = 0.5,
		.rss_bytes = 4096,
		.voluntary_switches = 3,
		.involuntary_switches = 4,
		.wait_for_core_s = NAN,
		.stalls = stalls };
	assert_int_equal(journal_append(journal, &record, NULL), 0);
}

static void write_two_rows(void)
{
	AUTO_RELEASE(journal) struct journal journal;
	bool has_rows = true;
	assert_int_equal(
		journal_open(&journal, path, JOURNAL_REPLACE, &subject, &has_rows, NULL), 0);
	assert_false(has_rows);
	append(&journal, 4);
	assert_int_equal(journal_comment(&journal, NULL, "two\nlines"), 0);
	append(&journal, 8);
}

static void a_row_has_all_columns_and_empty_fields_for_the_unknown(void **state)
{
	(void)state;
	write_two_rows();
	expect_end("\nthreads,time,repeat,user_s,system_s,rss_bytes,voluntary_switches,"
		   "involuntary_switches,wait_for_core_s,stall:lock,stall:tx\n"
		   "# stalls: cycles, summed over threads\n4,0.25,1,1,0.5,4096,3,4,,12.5,\n# two "
		   "lines\n8,0.25,1,1,0.5,4096,3,4,,12.5,\n");
}

static void an_existing_file_is_not_touched(void **state)
{
	(void)state;
	write_two_rows();
	AUTO_RELEASE(journal) struct journal journal;
	bool has_rows;
	struct err err;
	assert_int_equal(
		journal_open(&journal, path, JOURNAL_NEW, &subject, &has_rows, &err), -EEXIST);
	assert_non_null(strstr(err.text, "--resume"));
	expect_end("8,0.25,1,1,0.5,4096,3,4,,12.5,\n");
}

static void a_measurement_without_a_row_is_replaced(void **state)
{
	(void)state;
	struct journal_subject other = subject;
	other.command = "other {n}";
	const struct journal_subject *both[] = { &other, &subject };
	(void)unlink(path);
	for (size_t i = 0; i < 2; i++) {
		AUTO_RELEASE(journal) struct journal journal;
		bool has_rows = true;
		assert_int_equal(
			journal_open(&journal, path, JOURNAL_NEW, both[i], &has_rows, NULL), 0);
		assert_false(has_rows);
		assert_int_equal(journal_comment(&journal, NULL, "failed"), 0);
	}
	AUTO_FILE FILE *f = fopen(path, "r");
	char text[4096];
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	assert_non_null(strstr(text, subject.command));
	assert_null(strstr(text, other.command));
}

static void a_torn_last_line_is_dropped_on_resume(void **state)
{
	(void)state;
	write_two_rows();
	AUTO_FILE FILE *f = fopen(path, "a");
	fputs("16,0.2", f);
	assert_int_equal(fflush(f), 0);
	AUTO_RELEASE(journal) struct journal journal;
	bool has_rows = false;
	assert_int_equal(
		journal_open(&journal, path, JOURNAL_RESUME, &subject, &has_rows, NULL), 0);
	assert_true(has_rows);
	expect_end("8,0.25,1,1,0.5,4096,3,4,,12.5,\n");
	append(&journal, 16);
	expect_end("8,0.25,1,1,0.5,4096,3,4,,12.5,\n16,0.25,1,1,0.5,4096,3,4,,12.5,\n");
}

static void resuming_what_is_not_there_begins_it(void **state)
{
	(void)state;
	(void)unlink(path);
	AUTO_RELEASE(journal) struct journal journal;
	bool has_rows = true;
	assert_int_equal(
		journal_open(&journal, path, JOURNAL_RESUME, &subject, &has_rows, NULL), 0);
	assert_false(has_rows);
	expect_end("stall:lock,stall:tx\n# stalls: cycles, summed over threads\n");
}

static void expect_refusal(const struct journal_subject *other, const char *word)
{
	struct stat before, after;
	assert_int_equal(stat(path, &before), 0);
	AUTO_RELEASE(journal) struct journal journal;
	bool has_rows;
	struct err err;
	assert_int_equal(
		journal_open(&journal, path, JOURNAL_RESUME, other, &has_rows, &err), -EINVAL);
	if (!strstr(err.text, word))
		fail_msg("%s", err.text);
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_size == after.st_size);
}

static void another_measurement_is_not_resumed(void **state)
{
	(void)state;
	write_two_rows();
	struct journal_subject other = subject;
	other.command = "prog -u {n}";
	expect_refusal(&other, "prog -u {n}");
	other = subject;
	other.settings = "pin none";
	expect_refusal(&other, "pin none");
	other = subject;
	other.machine = "another machine";
	expect_refusal(&other, "another machine");
	other = subject;
	other.stall_count = 1;
	expect_refusal(&other, "columns");
	other = subject;
	other.has_throughput = true;
	expect_refusal(&other, "throughput");
}

static void a_file_of_another_kind_is_left_alone(void **state)
{
	(void)state;
	static const char *const texts[] = { "no newline at all", "threads,time\n1,2\n", "# a\n" };
	for (size_t i = 0; i < 3; i++) {
		AUTO_FILE FILE *f = fopen(path, "w");
		fputs(texts[i], f);
		assert_int_equal(fflush(f), 0);
		expect_refusal(&subject, "cannot resume");
	}
}

static void a_full_disk_leaves_whole_rows(void **state)
{
	(void)state;
	AUTO_RELEASE(journal)
	struct journal journal = { .fd = open("/dev/full", O_WRONLY), .path = strdup("/dev/full") };
	if (journal.fd < 0) {
		print_message("no /dev/full\n");
		skip();
	}
	struct err err;
	assert_int_equal(journal_comment(&journal, &err, "x"), -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_all_columns_and_empty_fields_for_the_unknown),
		cmocka_unit_test(an_existing_file_is_not_touched),
		cmocka_unit_test(a_measurement_without_a_row_is_replaced),
		cmocka_unit_test(a_torn_last_line_is_dropped_on_resume),
		cmocka_unit_test(resuming_what_is_not_there_begins_it),
		cmocka_unit_test(another_measurement_is_not_resumed),
		cmocka_unit_test(a_file_of_another_kind_is_left_alone),
		cmocka_unit_test(a_full_disk_leaves_whole_rows),
	};
	return cmocka_run_group_tests_name("journal", tests, make_folder, remove_folder);
}
